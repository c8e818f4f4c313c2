// A server of the Model Context Protocol with its own library, over HTTP. Its first line says where.
//
//   node server-mcp.mjs

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const sessions = new Map();

/** The transport of a request's session, or a new one: a session begins with its first message. */
const transport = async (id) => {
  const known = sessions.get(id);
  if (known) return known;
  const fresh = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (own) => sessions.set(own, fresh),
  });
  await new McpServer({ name: "interop", version: "1" }).connect(fresh);
  return fresh;
};

const server = createServer(async (request, response) => {
  const session = await transport(request.headers["mcp-session-id"]);
  await session.handleRequest(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
