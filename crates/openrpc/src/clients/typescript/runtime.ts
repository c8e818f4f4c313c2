// How calls get there and answers back. It does not depend on what is called.

/** An error that the server answered with. Codes that this client does not know come through as they are. */
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

/** There was no answer, or none that can be read. */
export class TransportError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TransportError";
  }
}

export interface CallOptions {
  /** Gives the call up when it aborts. */
  signal?: AbortSignal;
}

/** The names that a stream goes by, where it has names of its own. */
export interface StreamNames {
  notification: string;
  unsubscribe: string;
}

export type Params = readonly unknown[] | { readonly [name: string]: unknown } | undefined;

/** Carries calls to a server. A client works over any. */
export interface Transport {
  call(method: string, params: Params, options?: CallOptions): Promise<unknown>;
  notify(method: string, params: Params, options?: CallOptions): Promise<void>;
  stream(method: string, params: Params, options?: CallOptions, names?: StreamNames): AsyncIterable<unknown>;
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
  error?: { code: number; message: string; data?: unknown } | null;
  stream?: unknown;
}

function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The result of a response; an error is thrown. */
function outcome(response: unknown): unknown {
  if (!isObject(response)) throw new TransportError("the answer is no JSON-RPC response");
  const { error, result } = response as Message;
  if (error != null) throw new RpcError(error.code, error.message, error.data);
  return result;
}

export interface HttpOptions {
  /** Headers to send with each request. */
  headers?: { [name: string]: string };
  /** What to use in the place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** One POST a call. A stream is read as server-sent events. */
export class HttpTransport implements Transport {
  readonly #url: string;
  readonly #options: HttpOptions;
  #id = 0;

  constructor(url: string, options: HttpOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  async call(method: string, params: Params, options: CallOptions = {}): Promise<unknown> {
    this.#id += 1;
    const response = await this.#post({ method, params, id: this.#id }, "application/json", options);
    return outcome(await this.#body(response));
  }

  async notify(method: string, params: Params, options: CallOptions = {}): Promise<void> {
    const response = await this.#post({ method, params }, "application/json", options);
    // Without an answer there is nothing to read, except where the server did not take it.
    if (!response.ok) outcome(await this.#body(response));
    else await response.body?.cancel();
  }

  async *stream(method: string, params: Params, options: CallOptions = {}): AsyncIterable<unknown> {
    this.#id += 1;
    const response = await this.#post({ method, params, id: this.#id }, "text/event-stream", options);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || response.body === null) {
      const result = outcome(await this.#body(response));
      yield* Array.isArray(result) ? result : [result];
      return;
    }
    for await (const data of events(response.body)) {
      if (data === "[DONE]") return;
      yield outcome(parse(data));
    }
    throw new TransportError("the stream was cut off");
  }

  #post(request: Message, accept: string, options: CallOptions): Promise<Response> {
    const headers = { "content-type": "application/json", accept, ...this.#options.headers };
    const body = JSON.stringify({ jsonrpc: "2.0", ...request });
    const send = this.#options.fetch ?? fetch;
    return send(this.#url, { method: "POST", headers, body, signal: options.signal ?? null });
  }

  async #body(response: Response): Promise<unknown> {
    const text = await response.text();
    try {
      return JSON.parse(text);
    } catch {
      throw new TransportError(`the server answered with status ${response.status} and no JSON`);
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TransportError("what the server sent is no JSON");
  }
}

/** The data of each event. */
async function* events(body: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
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

/** As much of a WebSocket as is used here. */
export interface Socket {
  send(data: string): void;
  close(): void;
  addEventListener(type: "open" | "message" | "close" | "error", listener: (event: { data?: unknown }) => void): void;
}

export interface WebSocketOptions {
  /** What to use in the place of the global `WebSocket`. */
  WebSocket?: new (url: string) => Socket;
  /** Is told of the notifications that the server sends by itself. */
  onNotification?: (method: string, params: unknown) => void;
  /** How many items of a stream may wait to be read, before it is ended. 10,000 if nothing is said. */
  waiting?: number;
}

interface Pending {
  resolve(response: Message): void;
  reject(error: Error): void;
}

/** One connection for all calls. It is made with the first, and is not made again when it breaks. */
export class WebSocketTransport implements Transport {
  readonly #url: string;
  readonly #options: WebSocketOptions;
  readonly #pending = new Map<unknown, Pending>();
  readonly #streams = new Map<string, Inbox>();
  #socket: Promise<Socket> | undefined;
  #id = 0;

  constructor(url: string, options: WebSocketOptions = {}) {
    this.#url = url;
    this.#options = options;
  }

  async call(method: string, params: Params, options: CallOptions = {}): Promise<unknown> {
    return outcome(await this.#request({ method, params }, options));
  }

  async notify(method: string, params: Params): Promise<void> {
    (await this.#open()).send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  async *stream(method: string, params: Params, options: CallOptions = {}, names?: StreamNames): AsyncIterable<unknown> {
    const inbox = new Inbox(this.#options.waiting ?? 10_000);
    // Items may follow the answer at once, so the inbox is there before anything else happens.
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
    const abort = (): void => inbox.end(options.signal?.reason ?? new TransportError("the stream was given up"));
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
      if (!inbox.isOver) {
        const ending = this.#request({ method: names?.unsubscribe ?? "rpc.unsubscribe", params: [result] }, {});
        ending.catch(() => undefined);
      }
    }
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    (await this.#socket)?.close();
  }

  async #request(request: Message, options: CallOptions, open?: (answer: Message) => void): Promise<Message> {
    options.signal?.throwIfAborted();
    const socket = await this.#open();
    this.#id += 1;
    const id = this.#id;
    return new Promise<Message>((resolve, reject) => {
      const abort = (): void => {
        if (!this.#pending.delete(id)) return;
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "rpc.cancel", params: { id } }));
        reject(options.signal?.reason);
      };
      const done = (): void => options.signal?.removeEventListener("abort", abort);
      this.#pending.set(id, {
        resolve: (answer) => (done(), open?.(answer), resolve(answer)),
        reject: (error) => (done(), reject(error)),
      });
      options.signal?.addEventListener("abort", abort);
      socket.send(JSON.stringify({ jsonrpc: "2.0", ...request, id }));
    });
  }

  #open(): Promise<Socket> {
    this.#socket ??= new Promise((resolve, reject) => {
      const Implementation = this.#options.WebSocket ?? (WebSocket as unknown as new (url: string) => Socket);
      const socket = new Implementation(this.#url);
      const lost = (): void => {
        const error = new TransportError(`the connection to ${this.#url} broke, or could not be made`);
        reject(error);
        for (const pending of this.#pending.values()) pending.reject(error);
        for (const inbox of this.#streams.values()) inbox.end(error);
        this.#pending.clear();
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
    if (!isObject(parsed)) return;
    const message = parsed as Message;
    if (typeof message.method !== "string") {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      pending?.resolve(message);
      return;
    }
    const params = isObject(message.params) ? message.params : {};
    const inbox = "subscription" in params ? this.#streams.get(JSON.stringify(params["subscription"])) : undefined;
    if (inbox === undefined) {
      this.#options.onNotification?.(message.method, message.params);
      return;
    }
    const error = params["error"] as Message["error"];
    if (error != null) inbox.end(new RpcError(error.code, error.message, error.data), true);
    else if ("result" in params) inbox.push(params["result"]);
    if (message.method === "rpc.end") inbox.end(undefined, true);
  }
}

/** The items of a stream that were not read yet. */
class Inbox {
  readonly #most: number;
  readonly #items: unknown[] = [];
  #error: unknown;
  #wake: (() => void) | undefined;
  #isDone = false;
  /** Whether the server has ended it, so that nothing has to be told. */
  isOver = false;

  constructor(most: number) {
    this.#most = most;
  }

  push(item: unknown): void {
    if (this.#isDone) return;
    if (this.#items.length >= this.#most) {
      this.end(new TransportError(`the stream was ended: ${this.#most} items waited to be read`));
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
