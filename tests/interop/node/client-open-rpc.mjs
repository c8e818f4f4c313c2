// The tools of the OpenRPC project read the document of `switchboard serve`, and test every method by it. Nothing is changed in the
// document before they see it.
//
//   node client-open-rpc.mjs http://127.0.0.1:PORT http://127.0.0.1:PORT http://127.0.0.1:PORT
//
// The servers describe themselves by 1.2, 1.3 and 1.4.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import schemaUtils from "@open-rpc/schema-utils-js";
import { check } from "./checks.mjs";

const { parseOpenRPCDocument, validateOpenRPCDocument } = schemaUtils;
const servers = Object.fromEntries(process.argv.slice(2).map((url, at) => [["1.2.6", "1.3.2", "1.4.1"][at], url]));

async function post(server, message) {
  const headers = { "content-type": "application/json" };
  return fetch(server, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
}

for (const [version, server] of Object.entries(servers)) {
  const { result: document } = await (await post(server, { id: 1, method: "rpc.discover", params: [] })).json();
  check("the document is of the version that was asked for", document.openrpc, version);
  check("its first server is this one", document.servers[0].url, server);
  check(`${version}: the document is valid`, validateOpenRPCDocument(document), true);
  const parsed = await parseOpenRPCDocument(`${server}/openrpc.json`);
  const names = ({ methods }) => methods.map((method) => method.name);
  check(`${version}: a GET gives the same methods, with all references resolved`, names(parsed), names(document));
}

const document = await parseOpenRPCDocument(`${servers["1.3.2"]}/openrpc.json`);
const notified = document.methods.filter((method) => method.result === undefined).map((method) => method.name);
check("what is there to be notified says so", notified.includes("notify_log"), true);
for (const method of notified) {
  const answer = await post(servers["1.3.2"], { method, params: method === "notify_log" ? ["hello"] : [] });
  check(`${method} is notified without an answer`, [answer.status, await answer.text()], [204, ""]);
}

// The program that tests methods reads documents of 1.2 only. It calls methods by their examples, or by their schemas, and wants
// results that fit. These give none to it:
const skipped = [
  "trigger_error", // is there to fail
  "demo/error", // is there to fail
  "executeTask", // needs a signature
  "transfer", // needs the time
  "watch", // needs a connection to push to
];
const program = fileURLToPath(import.meta.resolve("@open-rpc/test-coverage/bin/cli.js"));
const options = ["--transport", "http", "--reporters", "json", "--skip", skipped.join(",")];
const { stdout } = await promisify(execFile)(
  process.execPath,
  [program, "--schema", `${servers["1.2.6"]}/openrpc.json`, ...options],
  { maxBuffer: 2 ** 26 },
);
const calls = JSON.parse(stdout);
const called = new Set(calls.map((call) => call.methodName));
const left = document.methods.map((method) => method.name).filter((name) => !called.has(name));
check("every other method was called, those to be notified among them", left.sort(), skipped.sort());
for (const { methodName, params, valid, reason, error } of calls) {
  check(`${methodName} ${JSON.stringify(params)} is answered as promised`, [valid, reason, error], [true, undefined, undefined]);
}
