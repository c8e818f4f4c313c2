// vscode-jsonrpc, as editors use it: with a server that it starts, and over a socket.
//
//   node client-vscode-jsonrpc.mjs tcp://…?framing=lsp unix:… PROGRAM ARGUMENTS…

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import rpc from "vscode-jsonrpc/node";
import { check, checkRejected, place, url } from "./checks.mjs";

const [, , , , ...command] = process.argv;
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = once(child, "exit");
const tcp = connect(place(url("tcp")));
const unix = connect({ path: url("unix").slice("unix:".length).replace(/\?.*/, "") });

const carriers = {
  "a child process": [new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin)],
  TCP: [new rpc.SocketMessageReader(tcp), new rpc.SocketMessageWriter(tcp)],
  "a Unix socket": [new rpc.SocketMessageReader(unix), new rpc.SocketMessageWriter(unix)],
};

for (const [carrier, [reader, writer]] of Object.entries(carriers)) {
  const connection = rpc.createMessageConnection(reader, writer);
  connection.onRequest("name", () => "Ada");
  connection.listen();

  check(`${carrier}: a call by position`, await connection.sendRequest("subtract", 42, 23), 19);
  const byName = new rpc.RequestType("subtract", rpc.ParameterStructures.byName);
  check(`${carrier}: a call by name`, await connection.sendRequest(byName, { minuend: 42, subtrahend: 23 }), 19);
  check(`${carrier}: a call without parameters`, await connection.sendRequest("get_data"), ["hello", 5]);
  const text = "\u{1F600} é";
  check(`${carrier}: lengths are counted in bytes`, await connection.sendRequest("echo", text), text);
  await checkRejected(`${carrier}: an error`, connection.sendRequest("fail"), { code: 1234, message: "boom", data: { x: 1 } });
  await checkRejected(`${carrier}: a method that is not there`, connection.sendRequest("no_such_method"), { code: -32601 });

  const before = await connection.sendRequest("updates");
  await connection.sendNotification("update", 1, 2, 3);
  check(`${carrier}: a notification`, (await connection.sendRequest("updates")) - before, 1);

  check(`${carrier}: a method that calls back`, await connection.sendRequest("introduce"), "Hello, Ada!");

  const source = new rpc.CancellationTokenSource();
  const cancelled = connection.sendRequest("hang", source.token);
  source.cancel();
  await checkRejected(`${carrier}: a call that is cancelled`, cancelled, { code: -32800 });

  // The items of a stream come as partial results, because the caller gives a token for them.
  const items = [];
  connection.onProgress(new rpc.ProgressType(), "partial", (values) => items.push(...values));
  const rest = await connection.sendRequest(new rpc.RequestType("count", rpc.ParameterStructures.byName), {
    to: 3,
    partialResultToken: "partial",
  });
  check(`${carrier}: a stream as partial results`, [items, rest], [[1, 2, 3], []]);

  connection.end();
  connection.dispose();
}

check("the child ends when its input does", (await exited)[0], 0);
