// A server with jayson, over HTTP, HTTPS or TCP. Its first line says where.
//
//   node server-jayson.mjs http|https|tcp

import { readFileSync } from "node:fs";
import jayson from "jayson/promise/index.js";
import { methods, Refused } from "./methods.mjs";

const wrapped = Object.entries(methods).map(([name, method]) => {
  const handler = async (params) => {
    try {
      return (await method(params ?? [])) ?? null;
    } catch (error) {
      throw error instanceof Refused ? error.object : error;
    }
  };
  return [name, new jayson.Method({ handler })];
});

const kind = process.argv[2];
// A certificate that nobody trusts but who is told to, and its key, which is no secret.
const file = (name) => readFileSync(new URL(name, import.meta.url));
const options = kind === "https" ? { cert: file("localhost.pem"), key: file("localhost.key.pem") } : {};
const server = new jayson.Server(Object.fromEntries(wrapped))[kind](options);
server.listen(0, "127.0.0.1", () => console.log(`${kind}://127.0.0.1:${server.address().port}`));
