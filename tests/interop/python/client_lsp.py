"""Two language clients with websockets at once. Each has a document that only it has opened, and answers what its server asks.

    python client_lsp.py ws://127.0.0.1:8000
"""

import asyncio
import json

from checks import check, end, url
from websockets.asyncio.client import connect


class Client:
    """A client with a colour."""

    def __init__(self, socket, colour):
        self.socket, self.colour, self.uri = socket, colour, f"file:///{colour}.txt"
        self.answers, self.asked, self.diagnostics = {}, [], asyncio.Queue()
        self.reading = asyncio.create_task(self.read())

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            if "method" not in message:
                self.answers.pop(message["id"]).set_result(message)
            elif message["method"] == "workspace/configuration":
                self.asked.append(message["params"]["items"][0]["section"])
                await self.send({"id": message["id"], "result": [self.colour]})
            elif message["method"] == "textDocument/publishDiagnostics":
                self.diagnostics.put_nowait(message["params"])

    async def send(self, message):
        await self.socket.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def call(self, number, method, params):
        self.answers[number] = asyncio.get_running_loop().create_future()
        await self.send({"id": number, "method": method, "params": params})
        return (await self.answers[number])["result"]

    async def work(self):
        capabilities = {"workspace": {"configuration": True}}
        params = {"processId": None, "rootUri": None, "capabilities": capabilities}
        server = await self.call(1, "initialize", params)
        await self.send({"method": "initialized", "params": {}})
        document = {"uri": self.uri, "languageId": "text", "version": 1, "text": f"all is {self.colour}"}
        await self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        diagnostics = await self.diagnostics.get()
        place = {"textDocument": {"uri": self.uri}, "position": {"line": 0, "character": 0}}
        hover = await self.call(2, "textDocument/hover", place)
        return server["serverInfo"]["name"], diagnostics, hover["contents"]


async def main():
    colours = ["red", "green", "blue"]
    sockets = [await connect(url("ws")) for _ in colours]
    clients = [Client(socket, colour) for socket, colour in zip(sockets, colours)]
    found = await asyncio.wait_for(asyncio.gather(*(client.work() for client in clients)), 40)
    for client, (server, diagnostics, hover) in zip(clients, found):
        check(f"{client.colour}: the server says who it is", server, "colours")
        check(f"{client.colour}: only this client is asked, once", client.asked, ["colour"])
        check(f"{client.colour}: the diagnostics are of its document", diagnostics["uri"], client.uri)
        message = diagnostics["diagnostics"][0]["message"]
        check(f"{client.colour}: the server got its answer", message, f"the colour is {client.colour}")
        check(f"{client.colour}: nothing else is published", client.diagnostics.qsize(), 0)
        check(f"{client.colour}: its server knows its document", hover, f"all is {client.colour}")
    for socket in sockets:
        await socket.close()


asyncio.run(main())
end()
