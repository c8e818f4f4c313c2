// The first tutorial with fetch and ws: calls, a stream as events, and what the server says by itself.
//
//   node tutorial-first.mjs http://… ws://…

import { once } from "node:events";
import WebSocket from "ws";
import { check, url } from "./checks.mjs";

async function post(message, headers = {}) {
  return fetch(`${url("http")}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(message),
  });
}

const call = (method, params, id = 1) => ({ jsonrpc: "2.0", method, params, id });
const ask = async (method, params, id) => (await post(call(method, params, id))).json();

/** What the events of an answer say, up to its end. */
async function items(response) {
  const text = await response.text();
  const data = text.split("\n\n").flatMap((event) => event.split("\n").filter((line) => line.startsWith("data: ")));
  check("a stream ends with [DONE]", data.pop(), "data: [DONE]");
  return data.map((line) => JSON.parse(line.slice("data: ".length)).result);
}

check("math/add", await ask("math/add", { a: 2, b: 3 }), { jsonrpc: "2.0", result: 5, id: 1 });
check("paritosh/echo", (await ask("paritosh/echo", ["hi"])).result, "[Paritosh] hi");
check("an error", (await ask("math/sqrt", [-1])).error.code, -32001);
const notified = await post({ jsonrpc: "2.0", method: "logEvent", params: ["login"] });
check("a notification", [notified.status, await notified.text()], [204, ""]);

const query = new URLSearchParams({ method: "paritosh/stream", message: "hi you", id: "1" });
check("paritosh/stream by GET", await items(await fetch(`${url("http")}/rpc/stream?${query}`)), ["", ..."hi you"]);
const events = { accept: "text/event-stream" };
check("math/add_stream by POST", await items(await post(call("math/add_stream", [1, 2]), events)), [0, 1, 2, 3]);
check("ai/generate as a stream", await items(await post(call("ai/generate", ["to be"]), events)), ["to ", "be"]);
check("ai/generate as one answer", (await ask("ai/generate", ["to be"])).result, "to be");

// Ten calls at once; whatever the order of the answers, each is known by its id.
const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => ask("math/multiply", [n, n], n)));
check("ten calls at once", new Map(answers.map(({ id, result }) => [id, result])), new Map(Array.from({ length: 10 }, (_, n) => [n, n * n])));

const socket = new WebSocket(`${url("ws")}/rpc/ws`);
await once(socket, "open");
const ticks = [];
const three = new Promise((resolve) => {
  socket.on("message", (data) => {
    const { method, params } = JSON.parse(data);
    if (method === "onTick") ticks.push(params[0]);
    if (ticks.length === 3) resolve();
  });
});
socket.send(JSON.stringify(call("watch", { seconds: 0.01 })));
await three;
check("onTick", ticks, [0, 1, 2]);

const updated = new Promise((resolve) => {
  socket.on("message", (data) => {
    const { method, params } = JSON.parse(data);
    if (method === "onUpdate" && params.updates > 0) resolve(params);
  });
});
socket.send(JSON.stringify(call("getStatus", [], 2)));
socket.send(JSON.stringify({ jsonrpc: "2.0", method: "update", params: [1, 2, 3, 4, 5] }));
check("onUpdate", (await updated).status, "ok");

const closed = once(socket, "close");
socket.close();
await closed;
