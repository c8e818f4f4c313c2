// The transports. This part is the same for every API.

/** An error returned by the server. Unknown codes are passed on unchanged. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** No response arrived, or none that can be read. The underlying error, if there is one, is the `cause`. */
export class TransportError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TransportError";
  }
}

export interface CallOptions {
  /** Cancels the call when it aborts. The call then fails with the reason of the signal. */
  signal?: AbortSignal;
  /** How long to wait for the response; for a stream, until it begins. `Infinity` disables the timeout. */
  timeoutMs?: number;
}

/** The method names of a stream, if it does not use the default ones. */
export interface StreamNames {
  notification: string;
  unsubscribe: string;
}

export type Params = readonly unknown[] | { readonly [name: string]: unknown } | undefined;

/** One entry of a batch. */
export interface BatchEntry {
  method: string;
  params: Params;
  isNotification: boolean;
}

/** The outcome of each call of a batch. */
export type Outcomes<T extends readonly Promise<unknown>[]> = { -readonly [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> };

/** Sends calls to a server. A client works over any transport. */
export interface Transport {
  call(method: string, params: Params, options?: CallOptions): Promise<unknown>;
  notify(method: string, params: Params, options?: CallOptions): Promise<void>;
  stream(method: string, params: Params, options?: CallOptions, names?: StreamNames): AsyncIterable<unknown>;
  /** Sends all entries as one message. Resolves to the outcome of each, in order; rejects if the batch as a whole fails. */
  batch(entries: readonly BatchEntry[], options?: CallOptions): Promise<PromiseSettledResult<unknown>[]>;
}

/** The transport for a URL: HTTP, or WebSocket for ws and wss. */
export function connect(url: string): Transport {
  return /^wss?:/i.test(url) ? new WebSocketTransport(url) : new HttpTransport(url);
}

interface Message {
  id?: unknown;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
  stream?: unknown;
}

function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The result of a response; an error is thrown. */
function outcome(response: unknown): unknown {
  if (!isObject(response)) throw new TransportError("the message is not a JSON-RPC response");
  const { error, result } = response as Message;
  if (error != null) throw rejection(error);
  if (result === undefined) throw new TransportError("the response has neither a result nor an error");
  return result;
}

function rejection(error: unknown): Error {
  if (!isObject(error)) return new TransportError("the server's error is not a JSON-RPC error");
  const { code, message, data } = error;
  return new RpcError(typeof code === "number" ? code : 0, typeof message === "string" ? message : "", data);
}

/** The outcome of each call, matched by id. The first response to a call counts. */
function collate(entries: readonly BatchEntry[], ids: readonly number[], answer: unknown): PromiseSettledResult<unknown>[] {
  if (!Array.isArray(answer)) {
    outcome(answer);
    throw new TransportError("the response to the batch is not an array");
  }
  const responses = new Map<unknown, unknown>();
  for (const response of answer as unknown[]) {
    if (isObject(response) && !responses.has(response["id"])) responses.set(response["id"], response);
  }
  return entries.map(({ isNotification }, at) => {
    try {
      if (isNotification) return { status: "fulfilled", value: undefined };
      const response = responses.get(ids[at]);
      if (response === undefined) throw new TransportError("the batch response does not include this call");
      return { status: "fulfilled", value: outcome(response) };
    } catch (reason) {
      return { status: "rejected", reason };
    }
  });
}

/** The requests of a batch, with consecutive ids. */
function requests(entries: readonly BatchEntry[], ids: readonly number[]): Message[] {
  return entries.map(({ method, params, isNotification }, at) => {
    const request = { jsonrpc: "2.0", method, params };
    return isNotification ? request : { ...request, id: ids[at] };
  });
}

/** Collects the calls, sends them as one batch, and waits for the outcome of each. */
async function together<T extends readonly Promise<unknown>[]>(
  transport: Transport,
  make: (transport: Transport) => readonly [...T],
  options: CallOptions | undefined,
): Promise<Outcomes<T>> {
  const collected = new Collected();
  const made = make(collected);
  await collected.send(transport, options);
  return (await Promise.allSettled(made)) as Outcomes<T>;
}

/** Calls waiting to be sent as one batch. */
class Collected implements Transport {
  readonly #entries: BatchEntry[] = [];
  readonly #waiting: Pending[] = [];
  #isSent = false;

  call(method: string, params: Params): Promise<unknown> {
    return this.#add({ method, params, isNotification: false });
  }

  notify(method: string, params: Params): Promise<void> {
    return this.#add({ method, params, isNotification: true }) as Promise<void>;
  }

  stream(method: string): AsyncIterable<unknown> {
    throw new Error(`${method} returns a stream, which cannot be part of a batch`);
  }

  batch(): Promise<never> {
    throw new Error("a batch cannot contain another batch");
  }

  async send(transport: Transport, options: CallOptions | undefined): Promise<void> {
    this.#isSent = true;
    if (this.#entries.length === 0) throw new Error("the batch is empty; nothing was sent");
    try {
      const outcomes = await transport.batch(this.#entries, options);
      outcomes.forEach((one, at) => {
        if (one.status === "fulfilled") this.#waiting[at]?.resolve(one.value);
        else this.#waiting[at]?.reject(one.reason);
      });
    } catch (error) {
      for (const one of this.#waiting) one.reject(error);
      throw error;
    }
  }

  #add(entry: BatchEntry): Promise<unknown> {
    if (this.#isSent) throw new Error("the batch was already sent");
    this.#entries.push(entry);
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    // The caller may ignore the promise.
    answer.catch(() => undefined);
    return answer;
  }
}

/** A caller waiting for a response. */
interface Pending {
  resolve(answer: unknown): void;
  reject(reason: unknown): void;
}

/** Ends a request early: by its signal or its timeout. */
class Patience {
  readonly #where: string;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason);
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(where: string, options: CallOptions, otherwise: number | undefined) {
    this.#where = where;
    this.#caller = options.signal;
    if (this.#caller?.aborted === true) this.#abort();
    this.#caller?.addEventListener("abort", this.#abort);
    const limit = options.timeoutMs ?? otherwise ?? 30_000;
    const expire = (): void => this.#controller.abort(new TransportError(`${where} did not answer within ${limit} ms`));
    // Timers are limited to 31 bits.
    if (limit < 2 ** 31) this.#timer = setTimeout(expire, limit);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The response has started, so the timeout no longer applies. */
  relax(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.relax();
    this.#caller?.removeEventListener("abort", this.#abort);
  }

  /** Waits within the timeout. Anything that a transport throws becomes a `TransportError`. */
  async with<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    let abort: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort);
    });
    try {
      return await Promise.race([work(), aborted]);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw asTransportError(error, this.#where);
    } finally {
      if (abort !== undefined) signal.removeEventListener("abort", abort);
    }
  }
}

function asTransportError(error: unknown, where: string): Error {
  if (error instanceof RpcError || error instanceof TransportError) return error;
  // The outer error of `fetch` says nothing; the reason is in its cause.
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const said = inner instanceof Error ? inner.message || inner.name : String(inner);
  return new TransportError(`${where} cannot be called: ${said}`, { cause: error });
}

export interface HttpOptions {
  /** Headers to send with each request. */
  headers?: { [name: string]: string };
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
  /** The timeout of calls that do not set their own. Default: 30,000. */
  timeoutMs?: number;
}

/** Sends each call as one POST. Streams are read as server-sent events. */
export class HttpTransport implements Transport {
  readonly #url: string;
  readonly #options: HttpOptions;
  #id = 0;

  constructor(url: string, options: HttpOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  call(method: string, params: Params, options: CallOptions = {}): Promise<unknown> {
    const id = (this.#id += 1);
    return this.#ask({ jsonrpc: "2.0", method, params, id }, options, async (response) => {
      const answer = await body(response);
      const result = outcome(answer);
      if ((answer as Message).id !== id) throw new TransportError("the response has the id of another call");
      return result;
    });
  }

  notify(method: string, params: Params, options: CallOptions = {}): Promise<void> {
    return this.#ask({ jsonrpc: "2.0", method, params }, options, nothing);
  }

  batch(entries: readonly BatchEntry[], options: CallOptions = {}): Promise<PromiseSettledResult<unknown>[]> {
    const ids = entries.map(() => (this.#id += 1));
    return this.#ask(requests(entries, ids), options, async (response) => {
      if (entries.some(({ isNotification }) => !isNotification)) return collate(entries, ids, await body(response));
      await nothing(response);
      return collate(entries, ids, []);
    });
  }

  async *stream(method: string, params: Params, options: CallOptions = {}): AsyncIterable<unknown> {
    const id = (this.#id += 1);
    const patience = new Patience(this.#url, options, this.#options.timeoutMs);
    try {
      const response = await patience.with(() => this.#post({ jsonrpc: "2.0", method, params, id }, "text/event-stream", patience));
      const { body: events } = response;
      if (!response.headers.get("content-type")?.startsWith("text/event-stream") || events === null) {
        const result = outcome(await patience.with(() => body(response)));
        yield* Array.isArray(result) ? result : [result];
        return;
      }
      patience.relax();
      for await (const data of eventData(events, patience)) {
        if (data === "[DONE]") return;
        yield outcome(parse(data));
      }
    } finally {
      patience.end();
    }
    throw new TransportError("the stream ended early");
  }

  async #ask<T>(message: unknown, options: CallOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const patience = new Patience(this.#url, options, this.#options.timeoutMs);
    try {
      return await patience.with(async () => read(await this.#post(message, "application/json", patience)));
    } finally {
      patience.end();
    }
  }

  #post(message: unknown, accept: string, { signal }: Patience): Promise<Response> {
    const headers = { "content-type": "application/json", accept, ...this.#options.headers };
    const send = this.#options.fetch ?? fetch;
    // Requests and their headers are meant for one server only, so redirects are not followed.
    return send(this.#url, { method: "POST", headers, body: JSON.stringify(message), signal, redirect: "error" });
  }
}

async function body(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`the server responded with status ${response.status} and no JSON`, { cause });
  }
}

/** A notification has no response body, unless the server rejected it. */
async function nothing(response: Response): Promise<void> {
  if (!response.ok) outcome(await body(response));
  else await response.body?.cancel();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError("the server's message is not JSON", { cause });
  }
}

/** The data of each event. */
async function* eventData(body: ReadableStream<Uint8Array>, patience: Patience): AsyncIterable<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await patience.with(() => reader.read());
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The part of the WebSocket interface used here. */
export interface Socket {
  send(data: string): void;
  close(): void;
  addEventListener(type: "open" | "message" | "close" | "error", listener: (event: { data?: unknown }) => void): void;
}

export interface WebSocketOptions {
  /** Replaces the global `WebSocket`. */
  WebSocket?: new (url: string) => Socket;
  /** Called with the notifications that the server pushes. */
  onNotification?: (method: string, params: unknown) => void;
  /** How many items of a stream may wait to be read before it is closed. Default: 10,000. */
  waiting?: number;
  /** The timeout of calls that do not set their own. Default: 30,000. */
  timeoutMs?: number;
}

/** The calls of one message, with these ids. */
interface Asked extends Pending {
  ids: readonly number[];
  isBatch: boolean;
}

/** One connection for all calls. It opens with the first call and does not reconnect. */
export class WebSocketTransport implements Transport {
  readonly #url: string;
  readonly #options: WebSocketOptions;
  readonly #asked = new Map<unknown, Asked>();
  readonly #streams = new Map<string, Inbox>();
  #socket: Promise<Socket> | undefined;
  #lost: TransportError | undefined;
  #id = 0;

  constructor(url: string, options: WebSocketOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  async call(method: string, params: Params, options: CallOptions = {}): Promise<unknown> {
    return outcome(await this.#request({ method, params }, options));
  }

  notify(method: string, params: Params, options: CallOptions = {}): Promise<void> {
    return this.#send([], { jsonrpc: "2.0", method, params }, options).then(() => undefined);
  }

  async batch(entries: readonly BatchEntry[], options: CallOptions = {}): Promise<PromiseSettledResult<unknown>[]> {
    const ids = entries.map(() => (this.#id += 1));
    const asked = ids.filter((_, at) => entries[at]?.isNotification === false);
    return collate(entries, ids, (await this.#send(asked, requests(entries, ids), options)) ?? []);
  }

  async *stream(method: string, params: Params, options: CallOptions = {}, names?: StreamNames): AsyncIterable<unknown> {
    const inbox = new Inbox(this.#options.waiting ?? 10_000);
    // Items may follow the response at once, so the inbox must exist first.
    const open = (answer: Message): void => {
      if (answer.error == null && (answer.stream !== undefined || names !== undefined)) {
        this.#streams.set(JSON.stringify(answer.result), inbox);
      }
    };
    const answer = await this.#request({ method, params, stream: true }, options, open);
    const result = outcome(answer);
    const key = JSON.stringify(result);
    if (this.#streams.get(key) !== inbox) {
      yield* Array.isArray(result) ? result : [result];
      return;
    }
    const abort = (): void => inbox.end(options.signal?.reason ?? new TransportError("the stream was cancelled"));
    options.signal?.addEventListener("abort", abort);
    try {
      for (;;) {
        const item = await inbox.next();
        if (item.done === true) return;
        yield item.value;
      }
    } finally {
      options.signal?.removeEventListener("abort", abort);
      this.#streams.delete(key);
      if (!inbox.isOver && this.#lost === undefined) {
        const ending = this.#request({ method: names?.unsubscribe ?? "rpc.unsubscribe", params: [result] }, {});
        ending.catch(() => undefined);
      }
    }
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    const socket = await this.#socket?.catch(() => undefined);
    socket?.close();
  }

  async #request(request: Message, options: CallOptions, open?: (answer: Message) => void): Promise<unknown> {
    const id = (this.#id += 1);
    return this.#send([id], { jsonrpc: "2.0", ...request, id }, options, open);
  }

  /** Sends a message and waits for the responses with these ids, if there are any. */
  async #send(ids: readonly number[], message: unknown, options: CallOptions, open?: (answer: Message) => void): Promise<unknown> {
    const patience = new Patience(this.#url, options, this.#options.timeoutMs);
    try {
      return await patience.with(async () => {
        const text = JSON.stringify(message);
        const socket = await this.#open();
        patience.signal.throwIfAborted();
        const answer = new Promise<unknown>((resolve, reject) => {
          const settle = (answer: unknown): void => (open?.(answer as Message), resolve(answer));
          const asked = { ids, isBatch: Array.isArray(message), resolve: settle, reject };
          for (const id of ids) this.#asked.set(id, asked);
          if (ids.length === 0) resolve(undefined);
        });
        socket.send(text);
        return answer;
      });
    } finally {
      patience.end();
      // Calls still waiting for a response are cancelled.
      for (const id of ids) if (this.#asked.delete(id)) this.#cancel(id);
    }
  }

  #cancel(id: number): void {
    const text = JSON.stringify({ jsonrpc: "2.0", method: "rpc.cancel", params: { id } });
    this.#open()
      .then((socket) => socket.send(text))
      .catch(() => undefined);
  }

  #open(): Promise<Socket> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    this.#socket ??= new Promise((resolve, reject) => {
      const Implementation = this.#options.WebSocket ?? (globalThis as { WebSocket?: new (url: string) => Socket }).WebSocket;
      if (Implementation === undefined) {
        throw new TransportError("no global WebSocket; pass one, such as that of the package ws: new WebSocketTransport(url, { WebSocket })");
      }
      const socket = new Implementation(this.#url);
      const lost = (event: object): void => {
        const cause = "error" in event ? event.error : undefined;
        this.#lost ??= new TransportError(`the connection to ${this.#url} was lost or could not be opened`, { cause });
        reject(this.#lost);
        for (const asked of this.#asked.values()) asked.reject(this.#lost);
        for (const inbox of this.#streams.values()) inbox.end(this.#lost);
        this.#asked.clear();
        this.#streams.clear();
      };
      socket.addEventListener("open", () => resolve(socket));
      socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
      socket.addEventListener("close", lost);
      socket.addEventListener("error", lost);
    });
    return this.#socket;
  }

  #receive(text: string): void {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return;
    }
    if (Array.isArray(parsed)) {
      for (const one of parsed as unknown[]) if (isObject(one)) this.#answer(this.#asked.get(one["id"]), parsed);
    } else if (isObject(parsed) && typeof parsed["method"] === "string") {
      this.#notified(parsed["method"], parsed["params"]);
    } else if (isObject(parsed) && parsed["id"] == null) {
      // Without an id it can only be about a whole batch.
      for (const asked of this.#asked.values()) if (asked.isBatch) this.#answer(asked, parsed);
    } else if (isObject(parsed)) {
      this.#answer(this.#asked.get(parsed["id"]), parsed);
    }
  }

  #answer(asked: Asked | undefined, answer: unknown): void {
    asked?.ids.forEach((id) => this.#asked.delete(id));
    asked?.resolve(answer);
  }

  #notified(method: string, of: unknown): void {
    const params = isObject(of) ? of : {};
    const inbox = "subscription" in params ? this.#streams.get(JSON.stringify(params["subscription"])) : undefined;
    if (inbox === undefined) {
      this.#options.onNotification?.(method, of);
      return;
    }
    const { error } = params as Message;
    if (error != null) inbox.end(rejection(error), true);
    else if ("result" in params) inbox.push(params["result"]);
    if (method === "rpc.end") inbox.end(undefined, true);
  }
}

/** The unread items of a stream. */
class Inbox {
  readonly #most: number;
  readonly #items: unknown[] = [];
  #error: unknown;
  #wake: (() => void) | undefined;
  #isDone = false;
  /** Whether the server has ended it, so there is no need to unsubscribe. */
  isOver = false;

  constructor(most: number) {
    this.#most = most;
  }

  push(item: unknown): void {
    if (this.#isDone) return;
    if (this.#items.length >= this.#most) {
      this.end(new TransportError(`the stream was closed: ${this.#most} items were waiting to be read`));
      return;
    }
    this.#items.push(item);
    this.#wake?.();
  }

  end(error: unknown, isOver = false): void {
    if (!this.#isDone) this.#error = error;
    this.#isDone = true;
    this.isOver ||= isOver;
    this.#wake?.();
  }

  async next(): Promise<{ done: true } | { done?: false; value: unknown }> {
    while (this.#items.length === 0) {
      if (this.#isDone) {
        if (this.#error !== undefined) throw this.#error;
        return { done: true };
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return { value: this.#items.shift() };
  }
}
