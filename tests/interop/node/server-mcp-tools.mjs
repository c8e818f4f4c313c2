// A server of the Model Context Protocol with its own library, whose tools ask, report, log and add tools: over HTTP, with where it
// listens as its first line, or over standard input and output.
//
//   node server-mcp-tools.mjs
//   node server-mcp-tools.mjs stdio

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const text = (text) => ({ content: [{ type: "text", text }] });

/** The tools, for one session. Requests belong to the call during which they are sent. */
const tools = () => {
  const server = new McpServer({ name: "tools", version: "1.0.0" }, { capabilities: { logging: {} } });
  const during = (extra) => ({ relatedRequestId: extra.requestId });
  server.registerTool("ask", { description: "Asks the user." }, async (extra) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const answer = await server.server.elicitInput({ message: "Who are you?", requestedSchema }, during(extra));
    return text(`${answer.action} ${answer.content?.name}`);
  });
  server.registerTool("sample", { description: "Asks the model." }, async (extra) => {
    const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
    const answer = await server.server.createMessage({ messages, maxTokens: 20 }, during(extra));
    return text(answer.content.text);
  });
  server.registerTool("steps", { description: "Reports progress, and logs." }, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of [1, 2]) {
      const params = { progressToken, progress, total: 2 };
      if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params });
    }
    const params = { level: "warning", logger: "steps", data: "all steps are done" };
    await extra.sendNotification({ method: "notifications/message", params });
    return text("done");
  });
  server.registerTool("grow", { description: "Adds a tool." }, async () => {
    server.registerTool("late", { description: "Was added later." }, async () => text("late"));
    return text("grown");
  });
  return server;
};

if (process.argv[2] === "stdio") {
  await tools().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const server = createServer(async (request, response) => {
    let session = sessions.get(request.headers["mcp-session-id"]);
    if (!session) {
      session = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, session),
      });
      await tools().connect(session);
    }
    await session.handleRequest(request, response);
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
}
