// A server with json-rpc-2.0 over the HTTP of Node. Its first line says where.
//
//   node server-json-rpc-2.0.mjs

import http from "node:http";
import jsonrpc from "json-rpc-2.0";
import { methods, Refused } from "./methods.mjs";

const { JSONRPCErrorException, JSONRPCServer } = jsonrpc;

const rpc = new JSONRPCServer();
for (const [name, method] of Object.entries(methods)) {
  rpc.addMethod(name, (params) => {
    try {
      return method(params ?? []) ?? null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { code, message, data } = error.object;
      throw new JSONRPCErrorException(message, code, data);
    }
  });
}

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // The library reads the text, and tells what is no JSON.
    const answer = await rpc.receiveJSON(Buffer.concat(chunks).toString("utf8"));
    if (answer === null) return response.writeHead(204).end();
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
  } catch {
    // Not every message is taken without a throw.
    response.writeHead(500).end();
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
