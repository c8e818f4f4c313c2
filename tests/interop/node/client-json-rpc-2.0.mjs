// json-rpc-2.0, which leaves the carrier to its user: over HTTP with fetch, and over WebSocket, where both sides call.
//
//   node client-json-rpc-2.0.mjs http://… ws://…

import jsonrpc from "json-rpc-2.0";
import { once } from "node:events";
import WebSocket from "ws";
import { check, checkRejected, url } from "./checks.mjs";

const { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient, createJSONRPCRequest, createJSONRPCNotification } = jsonrpc;

// As the documentation of the library has it.
const overHttp = new JSONRPCClient(async (request) => {
  const response = await fetch(url("http"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  if (response.status === 200) {
    overHttp.receive(await response.json());
  } else if (request.id !== undefined) {
    throw new Error(response.statusText);
  }
});

const socket = new WebSocket(url("ws"));
await once(socket, "open");
const overWebSocket = new JSONRPCServerAndClient(
  new JSONRPCServer(),
  new JSONRPCClient((request) => socket.send(JSON.stringify(request))),
);
socket.on("message", (text) => overWebSocket.receiveAndSend(JSON.parse(text)));
overWebSocket.addMethod("name", () => "Ada");

for (const [carrier, client] of [
  ["HTTP", overHttp],
  ["WebSocket", overWebSocket],
]) {
  check(`${carrier}: a call by position`, await client.request("subtract", [42, 23]), 19);
  check(`${carrier}: a call by name`, await client.request("subtract", { minuend: 42, subtrahend: 23 }), 19);
  check(`${carrier}: a call without parameters`, await client.request("get_data"), ["hello", 5]);
  await checkRejected(`${carrier}: an error`, client.request("fail"), { code: 1234, message: "boom", data: { x: 1 } });
  await checkRejected(`${carrier}: a method that is not there`, client.request("no_such_method"), { code: -32601 });

  const before = await client.request("updates");
  await client.notify("update", [1, 2, 3]);
  // Over HTTP the library does not say when a notification has been sent, so it is asked for until it shows.
  let after = before;
  for (let tries = 0; after === before && tries < 1000; tries += 1) {
    after = await client.request("updates");
  }
  check(`${carrier}: a notification`, after - before, 1);
}

const batch = await overHttp.requestAdvanced([
  createJSONRPCRequest(1, "sum", [1, 2, 4]),
  createJSONRPCNotification("update", [1]),
  createJSONRPCRequest("two", "fail"),
]);
check("HTTP: a batch", batch.map(({ id, result, error }) => [id, result ?? error.code]), [
  [1, 7],
  ["two", 1234],
]);

check("WebSocket: a method that calls back", await overWebSocket.request("introduce"), "Hello, Ada!");

socket.close();
