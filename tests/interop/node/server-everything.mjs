// The server that the authors of the protocol offer to test clients with, over HTTP. Its first line says where.
//
//   node server-everything.mjs

import { createServer } from "node:net";

/** A free port: the server takes a number, and does not say which port it got. */
const free = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const port = await free();
process.env.PORT = `${port}`;
// It tells of every request.
console.log = () => {};
console.error = (told) => {
  if (`${told}`.includes("listening")) process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
};
await import("@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js");
