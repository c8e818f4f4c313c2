// jayson over HTTP, TCP, a Unix socket and WebSocket.
//
//   node client-jayson.mjs http://… tcp://… unix:… ws://…

import jayson from "jayson/promise/index.js";
import { once } from "node:events";
import WebSocket from "ws";
import { check, place, url } from "./checks.mjs";

const socket = new WebSocket(url("ws"));
await once(socket, "open");

const clients = {
  HTTP: jayson.client.http(url("http")),
  TCP: jayson.client.tcp(place(url("tcp"))),
  "a Unix socket": jayson.client.tcp({ path: url("unix").slice("unix:".length) }),
  WebSocket: jayson.client.websocket({ ws: socket }),
};

for (const [carrier, client] of Object.entries(clients)) {
  const positional = await client.request("subtract", [42, 23], 1);
  check(`${carrier}: a call by position`, positional, { jsonrpc: "2.0", result: 19, id: 1 });

  const named = await client.request("subtract", { subtrahend: 23, minuend: 42 });
  check(`${carrier}: a call by name, with an identifier of jayson's own`, named.result, 19);

  const text = { "é": ["\u{1F600}", "\u2028", null, 1.5] };
  check(`${carrier}: what is sent comes back`, (await client.request("echo", [text])).result, text);

  const failed = await client.request("fail", [], 2);
  check(`${carrier}: an error`, failed, {
    jsonrpc: "2.0",
    id: 2,
    error: { code: 1234, message: "boom", data: { x: 1 } },
  });

  const unknown = await client.request("no_such_method", []);
  check(`${carrier}: a method that is not there`, unknown.error.code, -32601);

  const batch = await client.request([
    client.request("sum", [1, 2, 4], 3, false),
    client.request("update", [1], null, false),
    client.request("get_data", [], 4, false),
    client.request("fail", [], 5, false),
  ]);
  check(`${carrier}: a batch, its notification without an answer`, batch.map(({ id, result, error }) => [id, result ?? error.code]), [
    [3, 7],
    [4, ["hello", 5]],
    [5, 1234],
  ]);

  // Over TCP each request is a connection of its own, and what comes over two of them has no order.
  if (carrier !== "TCP" && carrier !== "a Unix socket") {
    const { result: before } = await client.request("updates", []);
    await client.request("update", [1, 2, 3], null);
    const { result: after } = await client.request("updates", []);
    check(`${carrier}: a notification`, after - before, 1);
  }
}

const first = jayson.client.http({ ...place(url("http")), version: 1 });
check("HTTP: a call in version 1.0", await first.request("subtract", [42, 23], 7), { id: 7, result: 19, error: null });

socket.close();
