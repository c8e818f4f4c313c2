"""The first tutorial with requests: calls, errors, streams over HTTP, and ten calls at once.

    python tutorial_first.py http://…
"""

import json
from concurrent.futures import ThreadPoolExecutor

import requests
from checks import check, end, url

BASE = url("http")


def call(method, params=None, id=1):
    return {"jsonrpc": "2.0", "method": method, "params": params or [], "id": id}


def ask(method, params=None, path="/rpc", id=1):
    return requests.post(BASE + path, json=call(method, params, id)).json()


def items(response):
    """What the events of a stream say, up to its end."""
    for line in response.iter_lines(decode_unicode=True):
        if line == "data: [DONE]":
            return
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
    raise EOFError("the stream was cut")


def stream(**params):
    with requests.get(f"{BASE}/rpc/stream", params={**params, "id": 1}, stream=True) as response:
        return list(items(response))


for path in ("/", "/rpc", "/jsonrpc"):
    answer = {"jsonrpc": "2.0", "result": 5, "id": 1}
    check(f"math/add by position at {path}", ask("math/add", [2, 3], path), answer)
    check(f"math/add by name at {path}", ask("math/add", {"a": 2, "b": 3}, path), answer)
check("math/subtract", ask("math/subtract", {"a": 10, "b": 4})["result"], 6)
check("math/multiply", ask("math/multiply", [6, 7])["result"], 42)
check("paritosh/echo", ask("paritosh/echo", {"message": "hello"})["result"], "[Paritosh] hello")
check("ai/generate", ask("ai/generate", {"prompt": "tell me a story"})["result"], "tell me a story")
check("getStatus", ask("getStatus")["result"]["status"], "ok")

# Errors.
error = ask("math/sqrt", {"x": -4})["error"]
check("a negative number has no root", (error["code"], error["data"]["details"]), (-32001, "x must not be negative"))
error = ask("ai/generate", {"prompt": "x" * 4001})["error"]
check("a prompt can be too long", (error["code"], error["data"]), (-32602, {"details": "Prompt too long"}))
check("a prompt can be as long as that", len(ask("ai/generate", {"prompt": "x" * 4000})["result"]), 4000)
check("no such method", ask("math/nothing")["error"]["code"], -32601)
check("a parameter is missing", ask("math/add", {"a": 2})["error"]["code"], -32602)
kinds = {"invalid_data": -32001, "unauthorized": -32002, "timeout": -32003, "upstream": -32004}
found = {kind: ask("demo/error", {"kind": kind})["error"]["code"] for kind in kinds}
check("each error of the table", found, kinds)

# Notifications.
before = ask("getStatus")["result"]["notices"]
event = {"jsonrpc": "2.0", "method": "logEvent", "params": {"event": "login", "user": "ann"}}
response = requests.post(f"{BASE}/rpc", json=event)
check("a notification has no answer", (response.status_code, response.content), (204, b""))
check("a notification arrives", ask("getStatus")["result"]["notices"] - before, 1)

# Streams.
start, *characters = stream(method="paritosh/stream", message="héllo")
check("a stream says that it starts", start, {"jsonrpc": "2.0", "result": "", "id": 1, "event": "start"})
check("paritosh/stream", [(item["id"], item["result"]) for item in characters], [(1, c) for c in "héllo"])
check("paritosh/stream of digits", [item["result"] for item in stream(method="paritosh/stream", message="42")[1:]], ["4", "2"])
check("math/add_stream", [item["result"] for item in stream(method="math/add_stream", a=2, b=1)[1:]], [0, 1, 2, 3])
tokens = [item["result"] for item in stream(method="ai/generate", prompt="tell me a story")[1:]]
check("ai/generate, token by token", tokens, ["tell ", "me ", "a ", "story"])
with requests.post(f"{BASE}/rpc", json=call("ai/generate", ["to be"]), headers={"accept": "text/event-stream"}, stream=True) as response:
    check("ai/generate by POST", [item["result"] for item in items(response)], ["to ", "be"])
check("a failure in the place of a stream", stream(method="ai/generate", prompt="x" * 4001)[-1]["error"]["code"], -32602)

# Ten calls at once, each with its own answer; then ten in one batch.
with ThreadPoolExecutor(10) as pool:
    answers = list(pool.map(lambda n: ask("math/multiply", [n, n], id=n), range(10)))
expected = {n: n * n for n in range(10)}
check("ten calls at once", {answer["id"]: answer["result"] for answer in answers}, expected)
answers = requests.post(f"{BASE}/rpc", json=[call("math/multiply", [n, n], n) for n in range(10)]).json()
check("ten calls in a batch", {answer["id"]: answer["result"] for answer in answers}, expected)

end()
