// A server with ws and json-rpc-2.0, which also calls whoever calls it, and has a subscription in Ethereum's manner. Its
// first line says where.
//
//   node server-ws.mjs

import jsonrpc from "json-rpc-2.0";
import { WebSocketServer } from "ws";
import { methods, Refused } from "./methods.mjs";

const { JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient } = jsonrpc;

const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
server.on("listening", () => console.log(`ws://127.0.0.1:${server.address().port}`));

server.on("connection", (socket) => {
  const send = (message) => socket.send(JSON.stringify(message));
  const both = new JSONRPCServerAndClient(new JSONRPCServer(), new JSONRPCClient(send));
  for (const [name, method] of Object.entries(methods)) {
    both.addMethod(name, (params) => {
      try {
        return method(params ?? []);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const { code, message, data } = error.object;
        throw new JSONRPCErrorException(message, code, data);
      }
    });
  }
  both.addMethod("introduce", async () => `Hello, ${await both.request("name", [])}!`);

  const subscriptions = new Set();
  both.addMethod("eth_subscribe", ([topic]) => {
    const subscription = `0x${(subscriptions.size + 1).toString(16)}`;
    subscriptions.add(subscription);
    setImmediate(() => {
      for (const number of ["0x1", "0x2", "0x3"]) {
        both.notify("eth_subscription", { subscription, result: { topic, number } });
      }
    });
    return subscription;
  });
  both.addMethod("eth_unsubscribe", ([subscription]) => subscriptions.delete(subscription));
  both.addMethod("subscriptions", () => subscriptions.size);

  socket.on("message", async (text) => {
    const message = JSON.parse(text);
    // A batch has one answer; the library takes single messages only when it is both server and client.
    if (!Array.isArray(message)) return both.receiveAndSend(message);
    const answers = await both.server.receive(message);
    if (answers !== null) send(answers);
  });
});
