// @modelcontextprotocol/client, version 2: both eras, over HTTP and over a child process.
//
//   node client-mcp-2.mjs http://…/mcp program

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { check, url } from "./checks.mjs";
import { answers, checkAll } from "./mcp-checks.mjs";

const endpoint = new URL(url("http"));
const program = process.argv[3];

for (const [mode, expected] of [["legacy", "2025-11-25"], ["auto", "2026-07-28"]]) {
  for (const [name, transport] of [
    [`HTTP, ${mode}`, new StreamableHTTPClientTransport(endpoint)],
    [`stdio, ${mode}`, new StdioClientTransport({ command: program, args: ["stdio"] })],
  ]) {
    const client = new Client(
      { name: "interop", version: "1.0.0" },
      { capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} }, versionNegotiation: { mode } },
    );
    client.setRequestHandler("sampling/createMessage", answers.sampling);
    client.setRequestHandler("elicitation/create", answers.elicitation);
    client.setRequestHandler("roots/list", answers.roots);
    await client.connect(transport);
    check(`${name}: the revision is the newest of its era`, client.getNegotiatedProtocolVersion(), expected);
    await checkAll(name, client, (params, options) => client.callTool(params, options));
    const rounds = await client.callTool({ name: "test_input_required_result_multi_round", arguments: {} });
    check(`${name}: two questions one after the other`, rounds.content[0].text, "All steps are done.");
    await client.close();
  }
}
