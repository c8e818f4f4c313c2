// The third to fifth tutorials with fetch: the examples of the JSON-RPC specification, at /.
//
//   node tutorial-third.mjs http://…

import { check, url } from "./checks.mjs";

/** What comes back for a body: parsed, or the status where there is nothing. */
async function post(body) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url("http")}/`, { method: "POST", headers, body: text });
  const answer = await response.text();
  return answer === "" ? response.status : JSON.parse(answer);
}

/** An answer without what may be said in other words: the details of an error. */
function plain(answer) {
  if (Array.isArray(answer)) return answer.map(plain);
  const { data, ...error } = answer.error ?? {};
  return answer.error ? { ...answer, error } : answer;
}

const request = (method, params, id) => ({ jsonrpc: "2.0", method, params, id });
const result = (result, id) => ({ jsonrpc: "2.0", result, id });
const error = (code, message, id) => ({ jsonrpc: "2.0", error: { code, message }, id });
const invalid = error(-32600, "Invalid Request", null);

check("params by position", await post(request("subtract", [42, 23], 1)), result(19, 1));
check("params by position, the other way", await post(request("subtract", [23, 42], 2)), result(-19, 2));
check("params by name", await post(request("subtract", { subtrahend: 23, minuend: 42 }, 3)), result(19, 3));
check("params by name, in any order", await post(request("subtract", { minuend: 42, subtrahend: 23 }, 4)), result(19, 4));
check("a notification", await post(request("update", [1, 2, 3, 4, 5])), 204);
check("a notification of what is not there", await post(request("foobar")), 204);
check("what is not there", plain(await post(request("foobar", undefined, "1"))), error(-32601, "Method not found", "1"));
check("sum", await post(request("sum", [1, 2, 4], "1")), result(7, "1"));
check("get_data", await post(request("get_data", undefined, "9")), result(["hello", 5], "9"));
check("notify_hello", await post(request("notify_hello", [7])), 204);

check("no JSON", plain(await post('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]')), error(-32700, "Parse error", null));
check("no request", plain(await post({ jsonrpc: "2.0", method: 1, params: "bar" })), invalid);
const broken = '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]';
check("a batch that is no JSON", plain(await post(broken)), error(-32700, "Parse error", null));
check("an empty batch", plain(await post([])), invalid);
check("a batch that is not empty, and of nothing", plain(await post([1])), [invalid]);
check("a batch of nothing", plain(await post([1, 2, 3])), [invalid, invalid, invalid]);
const batch = [
  request("sum", [1, 2, 4], "1"),
  request("notify_hello", [7]),
  request("subtract", [42, 23], "2"),
  { foo: "boo" },
  request("foo.get", { name: "myself" }, "5"),
  request("get_data", undefined, "9"),
];
check("a batch", plain(await post(batch)), [
  result(7, "1"),
  result(19, "2"),
  invalid,
  error(-32601, "Method not found", "5"),
  result(["hello", 5], "9"),
]);
check("a batch of notifications", await post([request("notify_sum", [1, 2, 4]), request("notify_hello", [7])]), 204);
