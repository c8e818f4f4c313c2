"""jsonrpcclient, which makes and reads messages: over HTTP with httpx, over WebSocket with websockets.

    python client_jsonrpcclient.py http://… ws://…
"""

import asyncio

import httpx
from checks import check, end, url
from jsonrpcclient import Error, Ok, notification, notification_json, parse, parse_json, request, request_json, request_uuid
from websockets.asyncio.client import connect


def over_http():
    def ask(message):
        return parse(httpx.post(url("http"), json=message, trust_env=False).json())

    check("HTTP: a call by position", ask(request("subtract", (42, 23), id=1)), Ok(19, 1))
    check("HTTP: a call by name", ask(request("subtract", {"minuend": 42, "subtrahend": 23}, id=2)), Ok(19, 2))
    uuid = request_uuid("get_data")
    check("HTTP: a call with a UUID", ask(uuid), Ok(["hello", 5], uuid["id"]))
    check("HTTP: an error", ask(request("fail", id=3)), Error(1234, "boom", {"x": 1}, 3))
    batch = [request("sum", (1, 2, 4), id=4), notification("update", (1,)), request("no_such_method", id=5)]
    [total, unknown] = ask(batch)
    check("HTTP: a batch", (total, unknown.code, unknown.id), (Ok(7, 4), -32601, 5))
    response = httpx.post(url("http"), json=notification("update", (1,)), trust_env=False)
    check("HTTP: a notification", (response.status_code, response.text), (204, ""))


async def over_websocket():
    async with connect(url("ws"), proxy=None) as socket:

        async def ask(message):
            await socket.send(message)
            return parse_json(await socket.recv())

        check("WebSocket: a call by position", await ask(request_json("subtract", (42, 23), id=1)), Ok(19, 1))
        named = request_json("subtract", {"minuend": 42, "subtrahend": 23}, id="two")
        check("WebSocket: a call by name", await ask(named), Ok(19, "two"))
        check("WebSocket: an error", await ask(request_json("fail", id=3)), Error(1234, "boom", {"x": 1}, 3))
        before = await ask(request_json("updates"))
        await socket.send(notification_json("update", (1, 2, 3)))
        after = await ask(request_json("updates"))
        check("WebSocket: a notification", after.result - before.result, 1)


over_http()
asyncio.run(over_websocket())
end()
