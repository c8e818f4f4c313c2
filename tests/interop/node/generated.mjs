// A client that our program wrote is checked by the compiler of TypeScript, and then called with.
//
//   node generated.mjs http://… ws://… path/to/switchboard
//
// What is called stands in `generated-use.ts`; clients of other documents are only checked.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import WebSocket from "ws";
import { check, url } from "./checks.mjs";

const program = process.argv.at(-1);
const here = realpathSync(import.meta.dirname);
const folder = mkdtempSync(join(tmpdir(), "switchboard-generated-"));
try {
  const write = (source, file) => execFileSync(program, ["generate", "typescript", source, "-o", join(folder, file)]);
  write(url("http"), "client.ts");
  write(join(here, "../../../crates/openrpc/tests/golden/zoo.json"), "zoo.ts");
  copyFileSync(join(here, "generated-use.ts"), join(folder, "use.ts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));

  const compiled = ts.createProgram(["use.ts", "zoo.ts"].map((file) => join(folder, file)), {
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
  await use(check, url("http"), url("ws"), WebSocket);
} finally {
  rmSync(folder, { recursive: true });
}
