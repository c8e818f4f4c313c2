"""A server with websockets, which reads and writes JSON-RPC by hand. Its first line says where.

    python server_websockets.py
"""

import asyncio
import json

from websockets.asyncio.server import serve

updates = 0


class Refused(Exception):
    """An error that the caller is to see: code, message and data."""


def subtract(params):
    return params["minuend"] - params["subtrahend"] if isinstance(params, dict) else params[0] - params[1]


def update(_):
    global updates
    updates += 1


def fail(_):
    raise Refused({"code": 1234, "message": "boom", "data": {"x": 1}})


METHODS = {
    "echo": lambda params: params[0],
    "subtract": subtract,
    "sum": sum,
    "get_data": lambda _: ["hello", 5],
    "update": update,
    "updates": lambda _: updates,
    "fail": fail,
}


def answer(call):
    """The response to one call, or nothing to a notification."""
    response = {"jsonrpc": "2.0", "id": call.get("id")}
    try:
        if call["method"] in METHODS:
            response["result"] = METHODS[call["method"]](call.get("params", []))
        else:
            response["error"] = {"code": -32601, "message": "Method not found"}
    except Refused as refused:
        response["error"] = refused.args[0]
    return response if "id" in call else None


async def handle(socket):
    async for text in socket:
        message = json.loads(text)
        if isinstance(message, list):
            answers = [response for response in map(answer, message) if response]
        else:
            answers = answer(message)
        if answers:
            await socket.send(json.dumps(answers))


async def main():
    async with serve(handle, "127.0.0.1", 0) as server:
        print(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


asyncio.run(main())
