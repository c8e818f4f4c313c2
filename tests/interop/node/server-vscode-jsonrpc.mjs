// A server with vscode-jsonrpc, over its standard input and output, as editors start it.
//
//   node server-vscode-jsonrpc.mjs

import rpc from "vscode-jsonrpc/node";
import { methods, Refused } from "./methods.mjs";

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout),
);

for (const [name, method] of Object.entries(methods)) {
  // The library spreads what came by position over arguments, and gives what came by name as one.
  connection.onRequest(name, (...args) => {
    // The last argument says whether the call was cancelled.
    const params = args.slice(0, -1);
    const isNamed = params.length === 1 && params[0] !== null && typeof params[0] === "object" && !Array.isArray(params[0]);
    try {
      return method(isNamed && name !== "echo" ? params[0] : params) ?? null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { code, message, data } = error.object;
      throw new rpc.ResponseError(code, message, data);
    }
  });
}
connection.onNotification("update", () => methods.update());
connection.onRequest("introduce", async () => `Hello, ${await connection.sendRequest("name")}!`);

let cancelled = 0;
connection.onRequest("hang", (token) => {
  connection.sendNotification("hanging");
  return new Promise((resolve) => {
    token.onCancellationRequested(() => {
      cancelled += 1;
      resolve(null);
    });
  });
});
connection.onRequest("cancelled", () => cancelled);

connection.onClose(() => process.exit(0));
connection.listen();
