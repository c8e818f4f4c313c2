// rpc-websockets. Its events have a form of their own, which is not JSON-RPC; its calls and notifications are.
//
//   node client-rpc-websockets.mjs ws://…

import { once } from "node:events";
import { Client } from "rpc-websockets";
import { check, checkRejected, url } from "./checks.mjs";

const client = new Client(url("ws"), { reconnect: false });
await once(client, "open");

check("a call by position", await client.call("subtract", [42, 23]), 19);
check("a call by name", await client.call("subtract", { minuend: 42, subtrahend: 23 }), 19);
check("a call without parameters", await client.call("get_data"), ["hello", 5]);
check("calls at once", await Promise.all([1, 2, 3].map((n) => client.call("sum", [n, n]))), [2, 4, 6]);
await checkRejected("an error", client.call("fail"), { code: 1234, message: "boom", data: { x: 1 } });
await checkRejected("a method that is not there", client.call("no_such_method"), { code: -32601 });

const before = await client.call("updates");
await client.notify("update", [1, 2, 3]);
check("a notification", (await client.call("updates")) - before, 1);

// A notification of the server becomes an event with its name.
const ticks = [];
const third = new Promise((resolve) => {
  client.on("ticks", (item) => {
    ticks.push(item);
    if (ticks.length === 3) resolve();
  });
});
const subscription = await client.call("subscribe_ticks");
await third;
check("the items of a subscription", ticks, [1, 2, 3].map((result) => ({ subscription, result })));
check("unsubscribing", await client.call("unsubscribe_ticks", [subscription]), true);
check("unsubscribing twice", await client.call("unsubscribe_ticks", [subscription]), false);

const closed = once(client, "close");
client.close();
check("a close is answered with its code", (await closed)[0], 1000);
