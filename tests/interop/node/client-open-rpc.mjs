// The tools of the OpenRPC project read the document of `switchboard serve`, and test every method by it.
//
//   node client-open-rpc.mjs http://127.0.0.1:PORT

import schemaUtils from "@open-rpc/schema-utils-js";
import testCoverage from "@open-rpc/test-coverage/build/coverage.js";
import { check, url } from "./checks.mjs";

const { parseOpenRPCDocument, validateOpenRPCDocument } = schemaUtils;
const server = url("http");

async function post(message) {
  const headers = { "content-type": "application/json" };
  return fetch(server, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
}

async function call(method, params) {
  const response = await post({ id: 1, method, params });
  return response.json();
}

const { result: document } = await call("rpc.discover", []);
const fetched = await fetch(`${server}/openrpc.json`).then((response) => response.json());
check("a GET gives the same document as the method", fetched, document);
check("the document is valid", validateOpenRPCDocument(document), true);
check("it is valid as one of 1.4 too", validateOpenRPCDocument({ ...document, openrpc: "1.4.1" }), true);

// What the tools do not know how to call, and why.
const failing = ["trigger_error", "demo/error"]; // are there to fail
const pushing = ["watch"]; // needs a connection to push to
const notified = document.methods.filter((method) => method.result === undefined).map((method) => method.name);
check("what is there to be notified says so", notified.includes("notify_log"), true);
for (const method of notified) {
  const answer = await post({ method, params: method === "notify_log" ? ["hello"] : [] });
  check(`${method} is notified without an answer`, [answer.status, await answer.text()], [204, ""]);
}

/** Schemas without the formats of numbers: the validator that the tools use fails on formats that it does not know. */
function withoutNumberFormats(value) {
  if (Array.isArray(value)) {
    return value.map(withoutNumberFormats);
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  const isNumber = ["integer", "number"].some((type) => [value.type].flat().includes(type));
  const members = Object.entries(value).filter(([name]) => name !== "format" || !isNumber);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNumberFormats(member)]));
}

// It names no server, because whoever asked knows where; these tools want to be told.
const told = { ...withoutNumberFormats(document), servers: [{ name: "here", url: server }] };
const openrpcDocument = await parseOpenRPCDocument(told, { validate: true, dereference: true });
const calls = await testCoverage.default({
  openrpcDocument,
  skip: [...failing, ...pushing, ...notified],
  only: [],
  reporters: [],
  transport: async (_, method, params) => call(method, params),
});
const names = new Set(calls.map((made) => made.methodName));
const left = document.methods.map((method) => method.name).filter((name) => !names.has(name));
check("every other method was called", left.sort(), [...failing, ...pushing, ...notified].sort());
for (const { methodName, params, valid, reason, error } of calls) {
  check(`${methodName} ${JSON.stringify(params)} is answered as promised`, [valid, reason, error], [true, undefined, undefined]);
}
