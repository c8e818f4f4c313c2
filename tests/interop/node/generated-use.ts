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
}

export default async function use(check: Check, http: string, ws: string, WebSocket: new (url: string) => Socket): Promise<void> {
  await over(new Client(http), "HTTP", check);
  const pushed: string[] = [];
  const transport = new WebSocketTransport(ws, { WebSocket, onNotification: (method) => pushed.push(method) });
  await over(new Client(transport), "WebSocket", check);
  check("what the server sends by itself", pushed.includes("onUpdate"), true);
  await transport.close();
  const closed = await failure(new Client(new HttpTransport(`${http}/nothing`)).math.add({ a: 1, b: 1 }));
  check("a place where nothing is", closed instanceof TransportError || closed instanceof RpcError, true);
}
