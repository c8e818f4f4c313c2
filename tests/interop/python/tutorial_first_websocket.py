"""The first tutorial with websockets: calls, streams, and what the server says by itself.

    python tutorial_first_websocket.py ws://…
"""

import asyncio
import json
from itertools import count

from checks import check, end, url
from websockets.asyncio.client import connect


class Client:
    """Sends calls, and keeps what comes between a call and its answer."""

    def __init__(self, socket):
        self.socket = socket
        self.ids = count(1)
        self.pushed = []

    async def receive(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), 20))

    async def send(self, method, params=(), **more):
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}))

    async def ask(self, method, params=(), **more):
        id = next(self.ids)
        await self.send(method, params, id=id, **more)
        while (message := await self.receive()).get("id") != id:
            self.pushed.append(message)
        return message

    async def push(self, method):
        """The params of the next notification of this name."""
        while True:
            message = self.pushed.pop(0) if self.pushed else await self.receive()
            if message.get("method") == method:
                return message["params"]

    async def stream(self, method, params, **more):
        """The items of a stream."""
        answer = await self.ask(method, params, **more)
        check(f"{method}: the answer says that it is a stream", answer["stream"], True)
        items = []
        while (message := await self.receive())["method"] == "rpc.item":
            check(f"{method}: an item says of which", message["params"]["subscription"], answer["result"])
            items.append(message["params"]["result"])
        check(f"{method}: the end", message, {"jsonrpc": "2.0", "method": "rpc.end", "params": {"subscription": answer["result"]}})
        return items


async def main():
    async with connect(f"{url('ws')}/rpc/ws", proxy=None) as socket:
        client = Client(socket)
        check("math/add", await client.ask("math/add", {"a": 2, "b": 3}), {"jsonrpc": "2.0", "result": 5, "id": 1})
        check("paritosh/echo", (await client.ask("paritosh/echo", ["hi"]))["result"], "[Paritosh] hi")
        check("an error", (await client.ask("math/sqrt", [-1]))["error"]["code"], -32001)

        check("paritosh/stream", await client.stream("paritosh/stream", {"message": "hi!"}), ["h", "i", "!"])
        check("math/add_stream", await client.stream("math/add_stream", [1, 1]), [0, 1, 2])
        check("ai/generate", (await client.ask("ai/generate", ["to be"]))["result"], "to be")
        tokens = await client.stream("ai/generate", ["to be"], stream=True)
        check("ai/generate for who reads a stream", tokens, ["to ", "be"])

        # A stream that nobody could read to its end.
        answer = await client.ask("math/add_stream", [10**18, 0])
        check("the first item", (await client.push("rpc.item"))["result"], 0)
        check("enough of it", (await client.ask("rpc.unsubscribe", [answer["result"]]))["result"], True)
        client.pushed.clear()

        status = (await client.ask("getStatus"))["result"]
        await client.send("update", [1, 2, 3, 4, 5])
        report = await client.push("onUpdate")
        while report["updates"] == status["updates"]:
            # Five seconds were over.
            report = await client.push("onUpdate")
        check("getStatus, then onUpdate", (report["status"], report["updates"]), ("ok", status["updates"] + 1))
        await client.send("logEvent", {"event": "login"})
        while report["notices"] == status["notices"]:
            report = await client.push("onUpdate")
        check("logEvent is noticed", report["notices"], status["notices"] + 1)

        check("watch", (await client.ask("watch", [0.01]))["result"], None)
        check("onTick", [await client.push("onTick") for _ in range(3)], [[0], [1], [2]])


asyncio.run(main())
end()
