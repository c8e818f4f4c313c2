// ws: messages as they are, in text and binary frames, in parts, in batches, and what is wrong.
//
//   node client-ws.mjs ws://…

import { once } from "node:events";
import WebSocket from "ws";
import { check, url } from "./checks.mjs";

const socket = new WebSocket(`${url("ws")}/rpc/ws`);
await once(socket, "open");

/** Sends a message and waits for the next one. */
async function ask(message, options = {}) {
  const answer = once(socket, "message");
  socket.send(typeof message === "string" ? message : JSON.stringify(message), options);
  const [data, isBinary] = await answer;
  return { isBinary, ...(Array.isArray(JSON.parse(data)) ? { batch: JSON.parse(data) } : JSON.parse(data)) };
}

const subtract = { jsonrpc: "2.0", method: "subtract", params: [42, 23], id: 1 };
const difference = { isBinary: false, jsonrpc: "2.0", result: 19, id: 1 };
check("a call in a text frame is answered in one", await ask(subtract), difference);
check("a call in a binary frame is answered", { ...(await ask(subtract, { binary: true })), isBinary: false }, difference);

const named = { ...subtract, params: { minuend: 42, subtrahend: 23 }, id: "é" };
check("a call by name, with a string as its identifier", await ask(named), { ...difference, id: "é" });

socket.send('{"jsonrpc":"2.0","method":"sub', { fin: false });
check("a message in two frames", await ask('tract","params":[42,23],"id":1}'), difference);

const { batch } = await ask([subtract, { jsonrpc: "2.0", method: "update", params: [1] }, 1, { ...subtract, id: 2 }]);
check("a batch with a notification and an invalid entry", batch.map(({ id, result, error }) => [id, result ?? error.code]), [
  [1, 19],
  [null, -32600],
  [2, 19],
]);

const before = await ask({ jsonrpc: "2.0", method: "updates", id: 3 });
socket.send(JSON.stringify({ jsonrpc: "2.0", method: "update", params: [1, 2, 3] }));
const after = await ask({ jsonrpc: "2.0", method: "updates", id: 4 });
check("a notification is not answered, and is done before what follows", after.result - before.result, 1);

check("an error", (await ask({ jsonrpc: "2.0", method: "fail", id: 5 })).error, { code: 1234, message: "boom", data: { x: 1 } });
check("what is no JSON is answered, and the connection goes on", (await ask("{")).error.code, -32700);

const pong = once(socket, "pong");
socket.ping("here?");
check("a ping is answered with what it held", (await pong)[0].toString(), "here?");

// Our own dialect: the answer names the stream, then come its items and its end.
const messages = [];
const ended = new Promise((resolve) => {
  socket.on("message", (data) => {
    messages.push(JSON.parse(data));
    if (messages.at(-1).method === "rpc.end") resolve();
  });
});
socket.send(JSON.stringify({ jsonrpc: "2.0", method: "count", params: [3], id: 6 }));
await ended;
const { result: subscription, stream } = messages[0];
check("the answer says that it is a stream", [messages[0].id, stream], [6, true]);
check("its items follow in order, then its end", messages.slice(1).map(({ method, params }) => [method, params]), [
  ["rpc.item", { subscription, result: 1 }],
  ["rpc.item", { subscription, result: 2 }],
  ["rpc.item", { subscription, result: 3 }],
  ["rpc.end", { subscription }],
]);

const closed = once(socket, "close");
socket.close(1000, "done");
check("a close is answered with its code", (await closed)[0], 1000);

const refused = new WebSocket(url("ws"), { origin: "https://elsewhere.example" });
refused.on("error", () => {});
const [, response] = await once(refused, "unexpected-response");
check("a page of another site is refused at the handshake", response.statusCode, 403);
refused.terminate();
