"""The second tutorial with requests: one server for versions 1.0 and 2.0, at /jsonrpc.

    python tutorial_second.py http://…
"""

from datetime import datetime, timezone

import requests
from checks import check, end, url

JSONRPC = f"{url('http')}/jsonrpc"


def post(message):
    response = requests.post(JSONRPC, json=message)
    return response.json() if response.content else response.status_code


def ask(method, params=None, id=1):
    message = {"jsonrpc": "2.0", "method": method, "id": id}
    return post(message if params is None else {**message, "params": params})


def ask_1_0(method, params, id=1):
    return post({"method": method, "params": params, "id": id})


# 2.0
for message in ("text", 1.5, None, True, [1, [2]], {"a": {"b": "é"}}):
    check(f"echo of {message!r}", ask("echo", {"message": message}), {"jsonrpc": "2.0", "result": message, "id": 1})
    check(f"echo of {message!r} by position", ask("echo", [message])["result"], message)
check("add", ask("add", [5, 3])["result"], 8)
check("add by name", ask("add", {"a": 5, "b": 3}, "x"), {"jsonrpc": "2.0", "result": 8, "id": "x"})
check("subtract", ask("subtract", {"subtrahend": 23, "minuend": 42})["result"], 19)
time = datetime.fromisoformat(ask("get_server_time")["result"].replace("Z", "+00:00"))
check("get_server_time", abs((datetime.now(timezone.utc) - time).total_seconds()) < 3600, True)
check("get_server_time with no params", set(ask("get_server_time", [])), {"jsonrpc", "id", "result"})

error = {"code": -32000, "message": "the disk is full"}
check("trigger_error says what it was given, and nothing else", ask("trigger_error", {"message": "the disk is full"}), {"jsonrpc": "2.0", "error": error, "id": 1})
check("trigger_error without a message", ask("trigger_error")["error"], {"code": -32000, "message": "Server error"})
check("a method that is not there", ask("nothing")["error"]["code"], -32601)
check("a parameter too many", ask("add", [1, 2, 3])["error"]["code"], -32602)

log = {"jsonrpc": "2.0", "method": "notify_log", "params": {"message": "hello", "source": "tutorial"}}
check("a notification is answered with 204", post(log), 204)
check("without a source too", post({**log, "params": ["hello"]}), 204)
check("a batch of notifications is answered with 204", post([log, log]), 204)
check("a notification that fails is answered with 204", post({"jsonrpc": "2.0", "method": "trigger_error"}), 204)
batch = post([{"jsonrpc": "2.0", "method": "add", "params": [1, 2], "id": 1}, log, {"jsonrpc": "2.0", "method": "nothing", "id": 2}])
check("a batch", [(answer["id"], answer.get("result") or answer["error"]["code"]) for answer in batch], [(1, 3), (2, -32601)])

# 1.0
check("1.0: echo", ask_1_0("echo", ["hi"]), {"result": "hi", "error": None, "id": 1})
check("1.0: subtract", ask_1_0("subtract", [42, 23], "x"), {"result": 19, "error": None, "id": "x"})
check("1.0: an error", ask_1_0("trigger_error", ["no"]), {"result": None, "error": {"code": -32000, "message": "no"}, "id": 1})
check("1.0: a method that is not there", ask_1_0("nothing", [])["error"]["code"], -32601)
check("1.0: with the id null it is a notification", ask_1_0("notify_log", ["hello"], None), 204)
check("1.0: so is a call that would have an answer", ask_1_0("add", [1, 2], None), 204)

end()
