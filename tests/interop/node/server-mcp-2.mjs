// A server of the Model Context Protocol with version 2 of its library, in both eras. Over HTTP its first line says where.
//
//   node server-mcp-2.mjs http
//   node server-mcp-2.mjs stdio

import { createServer } from "node:http";
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const numbers = fromJsonSchema({
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
});
const city = fromJsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
const text = (value) => ({ content: [{ type: "text", text: value }] });

const build = () => {
  const server = new McpServer({ name: "interop", version: "1" });
  const annotations = { readOnlyHint: true };
  server.registerTool("add", { inputSchema: numbers, annotations }, ({ a, b }) => text(`${a + b}`));
  server.registerTool("hello", { annotations }, () => text("hello"));
  server.registerResource("greeting", "test://greeting", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "hello" }],
  }));
  const message = (value) => ({ messages: [{ role: "user", content: { type: "text", text: value } }] });
  server.registerPrompt("plan", { argsSchema: city }, ({ city }) => message(`Plan a day in ${city}.`));
  server.registerPrompt("greet", {}, () => message("Greet me."));
  return server;
};

if (process.argv[2] === "stdio") {
  serveStdio(build);
} else {
  const handle = toNodeHandler(createMcpHandler(build));
  // The library leaves these to the program, and has them at hand.
  const checks = [localhostHostValidation(), localhostOriginValidation()];
  const server = createServer((request, response) => {
    if (checks.every((check) => check(request, response))) handle(request, response);
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}
