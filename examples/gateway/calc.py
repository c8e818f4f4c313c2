"""A JSON-RPC server over stdin and stdout, one message a line."""

import json
import sys

METHODS = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b}


def answer(request):
    method = METHODS.get(request["method"])
    if method is None:
        return {"error": {"code": -32601, "message": "Method not found"}}
    try:
        return {"result": method(*request.get("params", []))}
    except TypeError as error:
        return {"error": {"code": -32602, "message": "Invalid params", "data": str(error)}}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True)
