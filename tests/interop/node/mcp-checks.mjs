// What a client of the Model Context Protocol does with the server of the conformance suite, whichever library and transport it uses.

import { check } from "./checks.mjs";

const SAMPLED = { role: "assistant", model: "test", content: { type: "text", text: "Paris" } };

/** Answers to the questions of a server. */
export const answers = {
  sampling: async () => SAMPLED,
  elicitation: async ({ params }) => {
    const properties = params.requestedSchema?.properties ?? {};
    const content = Object.fromEntries(Object.keys(properties).map((name) => [name, `my ${name}`]));
    return { action: "accept", content };
  },
  roots: async () => ({ roots: [{ uri: "file:///home", name: "home" }] }),
};

const text = (result) => result.content[0].text;

/**
 * Lists, calls, reads, asks, reports and cancels. `name` says how the client is connected, and `call` calls a tool with options: the
 * versions of the library have them in different places.
 */
export async function checkAll(name, client, call) {
  const { tools } = await client.listTools();
  check(`${name}: tools are listed`, tools.some((tool) => tool.name === "test_simple_text"), true);
  const called = await client.callTool({ name: "test_simple_text", arguments: {} });
  check(`${name}: a tool is called`, text(called), "This is a simple text response for testing.");
  const greeted = await client.callTool({ name: "greet", arguments: { name: "Ann" } });
  check(`${name}: a tool gets its arguments`, text(greeted), "Hello, Ann!");
  const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
  check(`${name}: a tool fails`, failed.isError, true);

  const { resources } = await client.listResources();
  check(`${name}: resources are listed`, resources.some(({ uri }) => uri === "test://static-text"), true);
  const read = await client.readResource({ uri: "test://static-text" });
  check(`${name}: a resource is read`, read.contents[0].text, "This is the content of the static text resource.");
  const filled = await client.readResource({ uri: "test://template/7/data" });
  check(`${name}: a template is read`, JSON.parse(filled.contents[0].text).id, "7");

  const { prompts } = await client.listPrompts();
  check(`${name}: prompts are listed`, prompts.some((prompt) => prompt.name === "test_simple_prompt"), true);
  const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
  check(`${name}: a prompt is filled in`, prompt.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  });
  check(`${name}: an argument is completed`, completed.completion.values, ["paris", "park", "party"]);

  const progress = [];
  const onprogress = ({ progress: done }) => progress.push(done);
  await call({ name: "test_tool_with_progress", arguments: {} }, { onprogress });
  check(`${name}: progress is reported`, progress, [0, 50, 100]);

  const sampled = await client.callTool({ name: "test_sampling", arguments: { prompt: "Capital of France?" } });
  check(`${name}: the client is asked for a completion`, text(sampled), "LLM response: Paris");
  const elicited = await client.callTool({ name: "test_elicitation", arguments: { message: "Who are you?" } });
  check(`${name}: the user is asked`, text(elicited), "User response: accept, my username, my email");

  const abort = new AbortController();
  const cancelled = call({ name: "slow_compute", arguments: { seconds: 50 } }, { signal: abort.signal });
  setTimeout(() => abort.abort("enough"), 100);
  check(`${name}: a call is cancelled`, await cancelled.then(() => "answered", () => "cancelled"), "cancelled");
  check(`${name}: and others go on`, text(await client.callTool({ name: "greet", arguments: {} })), "Hello, world!");
}
