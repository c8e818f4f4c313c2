"""websockets: messages as they are, in text and binary, in parts and in batches, and subscriptions of every dialect.

    python client_websockets.py ws://…
"""

import asyncio
import json

from checks import check, end, url
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus


def call(method, params=(), id=1):
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": id}


async def messages(socket):
    async def ask(message):
        await socket.send(message)
        return json.loads(await socket.recv())

    difference = {"jsonrpc": "2.0", "result": 19, "id": 1}
    text = json.dumps(call("subtract", (42, 23)))
    check("a call by position, in text", await ask(text), difference)
    check("a call in binary", await ask(text.encode()), difference)
    check("a message in parts", await ask([text[:10], text[10:20], text[20:]]), difference)
    named = call("subtract", {"minuend": 42, "subtrahend": 23})
    check("a call by name", await ask(json.dumps(named)), difference)

    batch = [call("sum", (1, 2, 4), 1), {"jsonrpc": "2.0", "method": "update"}, call("fail", (), 2)]
    answers = await ask(json.dumps(batch))
    outcomes = [(answer["id"], answer.get("result") or answer["error"]["code"]) for answer in answers]
    check("a batch", outcomes, [(1, 7), (2, 1234)])

    before = await ask(json.dumps(call("updates")))
    await socket.send(json.dumps({"jsonrpc": "2.0", "method": "update", "params": [1]}))
    after = await ask(json.dumps(call("updates")))
    check("a notification", after["result"] - before["result"], 1)
    check("an error", (await ask(json.dumps(call("fail"))))["error"], {"code": 1234, "message": "boom", "data": {"x": 1}})

    await asyncio.gather(*(socket.send(json.dumps(call("sum", (n, n), n))) for n in range(50)))
    answers = [json.loads(await socket.recv()) for _ in range(50)]
    check("fifty calls in a row", {answer["id"]: answer["result"] for answer in answers}, {n: 2 * n for n in range(50)})


async def subscription(socket, subscribe, item, unsubscribe, values):
    """Subscribes, reads as many items as there are values, and unsubscribes twice."""

    async def ask(message):
        await socket.send(json.dumps(message))
        return json.loads(await socket.recv())

    id = (await ask(subscribe))["result"]
    items = [json.loads(await socket.recv()) for _ in values]
    expected = [{"jsonrpc": "2.0", "method": item, "params": {"subscription": id, "result": value}} for value in values]
    check(f"{item}: the items follow the answer, in order", items, expected)
    check(f"{item}: unsubscribing", (await ask(call(unsubscribe, [id])))["result"], True)
    return await ask(call(unsubscribe, [id]))


async def main():
    async with connect(url("ws"), proxy=None) as socket:
        await messages(socket)

        twice = await subscription(socket, call("subscribe_ticks"), "ticks", "unsubscribe_ticks", [1, 2, 3])
        check("ticks: unsubscribing twice", twice["result"], False)
        heads = [{"number": f"0x{n:x}", "hash": f"0x{n:064x}"} for n in (1, 2, 3)]
        subscribe = call("eth_subscribe", ["newHeads"])
        twice = await subscription(socket, subscribe, "eth_subscription", "eth_unsubscribe", heads)
        check("eth_subscription: unsubscribing twice", twice["error"]["message"], "subscription not found")

        latency = await asyncio.wait_for(await socket.ping(), 20)
        check("a ping is answered", latency >= 0, True)
    check("a close is answered with its code", (socket.close_code, socket.close_reason), (1000, ""))

    try:
        async with connect(url("ws"), proxy=None, origin="https://elsewhere.example"):
            check("a page of another site is refused at the handshake", "let in", 403)
    except InvalidStatus as refused:
        check("a page of another site is refused at the handshake", refused.response.status_code, 403)


asyncio.run(main())
end()
