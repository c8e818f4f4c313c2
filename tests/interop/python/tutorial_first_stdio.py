"""The first tutorial over standard input and output: one message a line.

    python tutorial_first_stdio.py switchboard
"""

import json
import subprocess
import sys

from checks import check, end

server = subprocess.Popen(
    [sys.argv[1], "serve", "--stdio"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    encoding="utf-8",
)


def send(message):
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def ask(method, params, id=1):
    send({"jsonrpc": "2.0", "method": method, "params": params, "id": id})
    return json.loads(server.stdout.readline())


check("math/add", ask("math/add", {"a": 2, "b": 3}), {"jsonrpc": "2.0", "result": 5, "id": 1})
check("paritosh/echo", ask("paritosh/echo", {"message": "é"}, "x"), {"jsonrpc": "2.0", "result": "[Paritosh] é", "id": "x"})
check("an error", ask("math/sqrt", [-1])["error"]["code"], -32001)
send({"jsonrpc": "2.0", "method": "logEvent", "params": {"event": "login"}})
check("a notification has no answer", ask("getStatus", [])["result"]["notices"], 1)

stream = ask("paritosh/stream", {"message": "hi"})["result"]
messages = [json.loads(server.stdout.readline()) for _ in range(3)]
check("paritosh/stream", [(message["method"], message["params"]) for message in messages], [
    ("rpc.item", {"subscription": stream, "result": "h"}),
    ("rpc.item", {"subscription": stream, "result": "i"}),
    ("rpc.end", {"subscription": stream}),
])

server.stdin.write('{"jsonrpc": "2.0", "method": }\n')
server.stdin.flush()
check("a line that is no JSON", json.loads(server.stdout.readline())["error"]["code"], -32700)
check("and the next one", ask("math/multiply", [6, 7])["result"], 42)

server.stdin.close()
check("it ends with its input", server.wait(20), 0)
end()
