// @modelcontextprotocol/sdk, version 1: sessions over HTTP, over a child process, and over the event stream of 2024-11-05.
//
//   node client-mcp-1.mjs http://…/mcp program

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { check, url } from "./checks.mjs";
import { answers, checkAll } from "./mcp-checks.mjs";

const endpoint = new URL(url("http"));
const program = process.argv[3];

for (const [name, transport] of [
  ["HTTP", new StreamableHTTPClientTransport(endpoint)],
  ["stdio", new StdioClientTransport({ command: program, args: ["stdio"] })],
  ["event stream", new SSEClientTransport(new URL("/sse", endpoint))],
]) {
  const client = new Client(
    { name: "interop", version: "1.0.0" },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  client.setRequestHandler(CreateMessageRequestSchema, answers.sampling);
  client.setRequestHandler(ElicitRequestSchema, answers.elicitation);
  client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => {});
  await client.connect(transport);
  await checkAll(name, client, (params, options) => client.callTool(params, undefined, options));
  check(`${name}: a ping is answered`, await client.ping(), {});
  check(`${name}: a resource is subscribed to`, await client.subscribeResource({ uri: "test://watched-resource" }), {});
  const roots = await client.callTool({ name: "test_input_required_result_list_roots", arguments: {} });
  check(`${name}: roots are asked for`, roots.content[0].text, "file:///home");
  await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
  await changed;
  check(`${name}: a changed list is heard of`, true, true);
  if (name === "HTTP") {
    await transport.terminateSession();
    check("HTTP: the session is ended", transport.sessionId, undefined);
  }
  await client.close();
}
