// A client that our program wrote is checked by the compiler of TypeScript, and then called with.
//
//   node generated.mjs http://… ws://… path/to/switchboard
//
// What is called stands in `generated-use.ts`; clients of other documents are only checked.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import WebSocket, { WebSocketServer } from "ws";
import { check, url } from "./checks.mjs";

/** A server that answers with what is no answer, each path in its own way. */
function answer(request, response) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const asked = JSON.parse(Buffer.concat(chunks));
    const send = (value) => response.setHeader("content-type", "application/json").end(JSON.stringify(value));
    const respond = ({ id, params }) => ({ jsonrpc: "2.0", result: params.a, id });
    switch (request.url) {
      case "/cut":
        response.writeHead(200, { "content-type": "application/json", "content-length": 1000 });
        return response.write("{", () => response.destroy());
      case "/moved":
        return response.writeHead(307, { location: "/text" }).end();
      case "/text":
        return response.end("hello");
      case "/empty":
        return send(Array.isArray(asked) ? {} : { jsonrpc: "2.0", id: asked.id });
      case "/mixed":
        return send([{ jsonrpc: "2.0", result: 0, id: "other" }, respond(asked[2]), respond(asked[0]), null]);
      case "/params":
        return send({ jsonrpc: "2.0", result: asked.params, id: asked.id });
      case "/refused":
        return send({ jsonrpc: "2.0", error: { code: -32600, message: "no batches" }, id: null });
    }
  });
}

// Parameters that are called like members of every object: each may be left out, and is sent if it is given.
const NAMES = `
import { Client } from "./names.js";

export default async function named(url: string): Promise<[unknown, unknown][]> {
  const client = new Client(url);
  return [
    [await client.optional(), {}],
    [await client.optional({}), {}],
    [await client.optional({ toString: "x", hasOwnProperty: "y", constructor: "z" }), { toString: "x", hasOwnProperty: "y", constructor: "z" }],
    [await client.required({ toString: {} }), { toString: {} }],
    [await client.required({ toString: { toString: "a" }, valueOf: { constructor: "b" } }), { toString: { toString: "a" }, valueOf: { constructor: "b" } }],
    // @ts-expect-error: it is no number
    [await client.optional({ valueOf: 5 }), { valueOf: 5 }],
    [await client.constructor_({ a: "x" }), { a: "x" }],
    [await client.toString({ a: "x" }), { a: "x" }],
  ];
}
`;

const program = process.argv.at(-1);
const here = realpathSync(import.meta.dirname);
const folder = mkdtempSync(join(tmpdir(), "switchboard-generated-"));
try {
  const write = (source, file) => execFileSync(program, ["generate", "typescript", source, "-o", join(folder, file)]);
  write(url("http"), "client.ts");
  write(join(here, "../../../crates/openrpc/tests/golden/zoo.json"), "zoo.ts");
  write(join(here, "../../../crates/openrpc/tests/golden/names.json"), "names.ts");
  writeFileSync(join(folder, "names-use.ts"), NAMES);
  copyFileSync(join(here, "generated-use.ts"), join(folder, "use.ts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));

  const compiled = ts.createProgram(["use.ts", "zoo.ts", "names-use.ts"].map((file) => join(folder, file)), {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noUnusedLocals: true,
    noImplicitReturns: true,
    isolatedModules: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  });
  const faults = [...ts.getPreEmitDiagnostics(compiled), ...compiled.emit().diagnostics];
  const shown = ts.formatDiagnostics(faults, { getCanonicalFileName: String, getCurrentDirectory: () => folder, getNewLine: () => "\n" });
  check("the compiler finds no fault", shown, "");

  const { default: use } = await import(pathToFileURL(join(folder, "use.js")));
  const server = createServer(answer);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, { url: path }) => {
    const refusal = JSON.stringify({ jsonrpc: "2.0", error: { code: -32600, message: "no batches" }, id: null });
    socket.on("message", () => (path === "/cut" ? socket.terminate() : path === "/refused" ? socket.send(refusal) : undefined));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const odd = `http://127.0.0.1:${server.address().port}`;
  await use(check, { http: url("http"), ws: url("ws"), odd, oddSocket: odd.replace("http", "ws") }, WebSocket);
  const { default: named } = await import(pathToFileURL(join(folder, "names-use.js")));
  for (const [given, expected] of await named(`${odd}/params`)) {
    check(`sent are ${JSON.stringify(expected)}`, given, expected);
  }
  sockets.clients.forEach((socket) => socket.terminate());
  server.close();
  server.closeAllConnections();
} finally {
  rmSync(folder, { recursive: true });
}
