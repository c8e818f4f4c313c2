// What somebody does with the client of the demo server. `generated.mjs` compiles it beside that client, and runs it.

import { Client, HttpTransport, RpcError, TransportError, WebSocketTransport, type Socket } from "./client.js";

type Check = (claim: string, found: unknown, expected: unknown) => void;

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => ({ answered: value }),
    (error: unknown) => error,
  );
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function over(client: Client, name: string, check: Check): Promise<void> {
  const sum: number = await client.math.add({ a: 2, b: 3 });
  check(`${name}: a call`, sum, 5);
  check(`${name}: an optional parameter left out`, await failure(client.triggerError()), new RpcError(-32000, "Server error"));
  const given = await failure(client.triggerError({ message: "boom" }));
  check(`${name}: and given`, given instanceof RpcError && given.message, "boom");
  check(`${name}: any number of values`, await client.sum({ numbers: [1, 2, 3] }), 6);
  const error = await failure(client.math.sqrt({ x: -1 }));
  check(`${name}: an error`, error instanceof RpcError && [error.code, error.data], [-32001, { details: "x must not be negative" }]);
  check(`${name}: a stream`, await all(client.math.addStream({ a: 1, b: 2 })), [0, 1, 2, 3]);
  const items: string[] = await all(client.paritosh.stream({ message: "hé" }));
  check(`${name}: a stream of strings`, items, ["h", "é"]);
  const refused = await failure(all(client.math.addStream({ a: 1, b: -2 })));
  check(`${name}: an error in the place of a stream`, refused instanceof RpcError && refused.code, -32001);
  for await (const item of client.math.addStream({ a: 1_000_000_000_000, b: 1 })) if (item === 3) break;
  check(`${name}: a stream that is left early`, await client.math.add({ a: 1, b: 1 }), 2);
  const before = (await client.getStatus()).notices;
  await client.logEvent({ event: "login", user: "ann" });
  check(`${name}: a notification`, (await client.getStatus()).notices - before, 1);
  const aborted = await failure(client.math.add({ a: 1, b: 1 }, { signal: AbortSignal.abort("enough") }));
  check(`${name}: a call that is given up`, aborted, "enough");
  const late = await failure(client.wait({ seconds: 600 }, { timeoutMs: 20 }));
  check(`${name}: a call that takes too long`, late instanceof TransportError && /did not answer within 20 ms/.test(late.message), true);
  check(`${name}: one value`, await client.ai.generate({ prompt: "to be" }), "to be");
  check(`${name}: or its parts`, await all(client.ai.generateStream({ prompt: "to be" })), ["to ", "be"]);
  await batches(client, name, check);
}

async function batches(client: Client, name: string, check: Check): Promise<void> {
  const before = (await client.getStatus()).notices;
  const [sum, root, text, notice] = await client.batch((calls) => [
    calls.math.add({ a: 2, b: 3 }),
    calls.math.sqrt({ x: -1 }),
    calls.paritosh.echo({ message: "hi" }),
    calls.logEvent({ event: "login" }),
  ]);
  const value: number | undefined = sum.status === "fulfilled" ? sum.value : undefined;
  check(`${name}: a call in a batch`, value, 5);
  check(`${name}: an error in a batch`, root.status === "rejected" && (root.reason as RpcError).code, -32001);
  check(`${name}: a call after it`, text, { status: "fulfilled", value: "[Paritosh] hi" });
  check(`${name}: a notification in a batch`, notice.status, "fulfilled");
  check(`${name}: it came`, (await client.getStatus()).notices - before, 1);
  const ten = await client.batch((calls) => Array.from({ length: 10 }, (_, at) => calls.math.add({ a: at, b: 1 })));
  check(`${name}: ten calls`, ten.map((one) => one.status === "fulfilled" && one.value), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await client.batch((calls) => [calls.logEvent({ event: "alone" })]);
  const empty = await failure(client.batch(() => []));
  check(`${name}: an empty batch`, String(empty), "Error: the batch is empty; nothing was sent");
  const aborted = await failure(client.batch((calls) => [calls.math.add({ a: 1, b: 1 })], { signal: AbortSignal.abort("enough") }));
  check(`${name}: a batch that is given up`, aborted, "enough");
  const slow = (calls: Client): [Promise<number>] => [calls.wait({ seconds: 600 })];
  const late = await failure(client.batch(slow, { timeoutMs: 20 }));
  check(`${name}: a batch that takes too long`, late instanceof TransportError, true);
}

/** What is no answer is a `TransportError`, whatever there is instead. */
async function odd(check: Check, odd: string, oddSocket: string, WebSocket: new (url: string) => Socket): Promise<void> {
  const told = async (path: string, expected: RegExp): Promise<void> => {
    const client = new Client(new HttpTransport(`${odd}/${path}`, { timeoutMs: 200 }));
    for (const made of [client.math.add({ a: 1, b: 1 }), client.batch((calls) => [calls.math.add({ a: 1, b: 1 })])]) {
      const error = await failure(made);
      check(`${path}: ${String(error)}`, error instanceof TransportError && expected.test(error.message), true);
    }
    const error = await failure(all(client.math.addStream({ a: 1, b: 1 })));
    check(`${path}, for a stream: ${String(error)}`, error instanceof TransportError && expected.test(error.message), true);
  };
  await told("cut", /cannot be called|status 200 and no JSON/);
  await told("silent", /did not answer within 200 ms/);
  await told("moved", /cannot be called/);
  await told("text", /status 200 and no JSON/);
  await told("empty", /neither a result nor an error/);
  const nobody = await failure(new Client("http://127.0.0.1:1").math.add({ a: 1, b: 1 }));
  check("what went wrong below is told", nobody instanceof TransportError && nobody.cause instanceof TypeError, true);
  check("in words", /ECONNREFUSED|bad port/.test((nobody as TransportError).message), true);

  const add = (a: number) => (calls: Client): Promise<number> => calls.math.add({ a, b: 0 });
  const made = new Client(`${odd}/mixed`).batch((calls) => [add(1)(calls), add(2)(calls), add(3)(calls)]);
  const [one, two, three] = await made;
  check("answers in another order", [one, three].map((one) => one.status === "fulfilled" && one.value), [1, 3]);
  check("a call that is left out", two.status === "rejected" && String(two.reason), "TransportError: the batch response does not include this call");
  const refused = await failure(new Client(`${odd}/refused`).batch((calls) => [add(1)(calls)]));
  check("a batch that is refused as a whole", refused, new RpcError(-32600, "no batches"));

  const socket = (path: string): Client => new Client(new WebSocketTransport(`${oddSocket}/${path}`, { WebSocket, timeoutMs: 200 }));
  const overSocket = await failure(socket("refused").batch((calls) => [add(1)(calls)]));
  check("over WebSocket too", overSocket, new RpcError(-32600, "no batches"));
  const broken = socket("cut");
  for (const attempt of ["a connection that breaks", "and is not there any more"]) {
    const error = await failure(broken.math.add({ a: 1, b: 1 }));
    check(attempt, error instanceof TransportError && /was lost/.test(error.message), true);
  }
  const silent = await failure(socket("silent").math.add({ a: 1, b: 1 }));
  check("a socket that is silent", silent instanceof TransportError && /within 200 ms/.test(silent.message), true);
}

/** What the compiler has to refuse. It is not run. */
export function refused(client: Client): void {
  // @ts-expect-error: a parameter is missing
  void client.math.add({ a: 1 });
  // @ts-expect-error: it is no number
  void client.math.add({ a: 1, b: "2" });
  // @ts-expect-error: there is no such kind
  void client.demo.error({ kind: "other" });
  // @ts-expect-error: there is no such method
  void client.math.nothing();
  // @ts-expect-error: a stream cannot be part of a batch
  void client.batch((calls) => [calls.math.addStream({ a: 1, b: 1 })]);
  // @ts-expect-error: what a batch gives has the types of its calls
  void client.batch((calls) => [calls.getServerTime()]).then(([time]): number => (time.status === "fulfilled" ? time.value : 0));
}

export interface Places {
  http: string;
  ws: string;
  odd: string;
  oddSocket: string;
}

export default async function use(check: Check, places: Places, WebSocket: new (url: string) => Socket): Promise<void> {
  const { http, ws } = places;
  await over(new Client(http), "HTTP", check);
  const pushed: string[] = [];
  const transport = new WebSocketTransport(ws, { WebSocket, onNotification: (method) => pushed.push(method) });
  await over(new Client(transport), "WebSocket", check);
  check("what the server sends by itself", pushed.includes("onUpdate"), true);
  await transport.close();
  const has = Object.getOwnPropertyDescriptor(globalThis, "WebSocket");
  delete (globalThis as { WebSocket?: unknown }).WebSocket;
  const without = await failure(new Client(ws).math.add({ a: 1, b: 1 }));
  check("a place without WebSocket", without instanceof TransportError && /package ws/.test(without.message), true);
  if (has !== undefined) Object.defineProperty(globalThis, "WebSocket", has);
  const closed = await failure(new Client(new HttpTransport(`${http}/nothing`)).math.add({ a: 1, b: 1 }));
  check("a place where nothing is", closed instanceof TransportError || closed instanceof RpcError, true);
  await odd(check, places.odd, places.oddSocket, WebSocket);
}
