"""httpx: plain HTTP requests, in HTTP/1.1 and HTTP/2, one after the other and at once, and event streams.

    python client_httpx.py http://…
"""

import asyncio
import json

import httpx
from checks import check, end, url

RPC = f"{url('http')}/rpc"


def call(method, params=None, id=1):
    request = {"jsonrpc": "2.0", "method": method, "id": id}
    return request if params is None else {**request, "params": params}


def one_after_the_other(version, client):
    response = client.post(RPC, json=call("subtract", [42, 23]))
    check(f"{version}: the version", response.http_version, version)
    check(f"{version}: the status and the type", (response.status_code, response.headers["content-type"]), (200, "application/json"))
    check(f"{version}: a call by position", response.json(), {"jsonrpc": "2.0", "result": 19, "id": 1})

    response = client.post(RPC, json=call("subtract", {"minuend": 42, "subtrahend": 23}, "é"))
    check(f"{version}: a call by name, with a string as its identifier", response.json(), {"jsonrpc": "2.0", "result": 19, "id": "é"})

    big = {"text": "\N{GRINNING FACE}" * 50_000, "number": 12345678901234567890123}
    check(f"{version}: something big", client.post(RPC, json=call("echo", [big])).json()["result"], big)

    error = client.post(RPC, json=call("fail")).json()["error"]
    check(f"{version}: an error", error, {"code": 1234, "message": "boom", "data": {"x": 1}})

    notification = {"jsonrpc": "2.0", "method": "update", "params": [1]}
    before = client.post(RPC, json=call("updates")).json()["result"]
    response = client.post(RPC, json=notification)
    check(f"{version}: a notification has no answer", (response.status_code, response.content), (204, b""))
    after = client.post(RPC, json=call("updates")).json()["result"]
    check(f"{version}: a notification is done", after - before, 1)

    batch = client.post(RPC, json=[call("sum", [1, 2, 4], 1), notification, call("no_such_method", [], 2), 1])
    outcomes = [(answer["id"], answer.get("result") or answer["error"]["code"]) for answer in batch.json()]
    check(f"{version}: a batch", outcomes, [(1, 7), (2, -32601), (None, -32600)])

    response = client.post(RPC, content=b"{", headers={"content-type": "application/json"})
    check(f"{version}: what is no JSON", (response.status_code, response.json()["error"]["code"]), (200, -32700))
    response = client.post(RPC, content=b"{}", headers={"content-type": "text/plain"})
    check(f"{version}: what is not said to be JSON", response.status_code, 415)


def data(response):
    """The data of the events of a stream, up to its end."""
    for line in response.iter_lines():
        if line.startswith("data: "):
            if line == "data: [DONE]":
                return
            yield json.loads(line.removeprefix("data: "))


def event_streams(client):
    accept = {"accept": "text/event-stream"}
    with client.stream("POST", RPC, json=call("count", [3]), headers=accept) as response:
        check("events: the type", response.headers["content-type"], "text/event-stream; charset=utf-8")
        items = [event["result"] for event in data(response)]
    check("events: the items of a stream", items, [1, 2, 3])

    with client.stream("POST", RPC, json=call("get_data"), headers=accept) as response:
        events = list(data(response))
    check("events: a method with one answer", events, [{"jsonrpc": "2.0", "result": ["hello", 5], "id": 1}])

    with client.stream("GET", f"{RPC}/stream", params={"method": "count", "id": 7, "to": 2}) as response:
        start, *items = data(response)
    check("events: a start comes first over GET", start, {"jsonrpc": "2.0", "result": "", "id": 7, "event": "start"})
    check("events: then the items", [(item["id"], item["result"]) for item in items], [(7, 1), (7, 2)])

    response = client.post(RPC, json=call("count", [3]))
    check("without events a stream is a list", response.json()["result"], [1, 2, 3])


async def at_once(version, client):
    responses = await asyncio.gather(*(client.post(RPC, json=call("sum", [n, n], n)) for n in range(50)))
    answers = [(response.json()["id"], response.json()["result"]) for response in responses]
    check(f"{version}: fifty calls at once", answers, [(n, 2 * n) for n in range(50)])


async def asynchronous():
    async with httpx.AsyncClient(trust_env=False) as client:
        await at_once("HTTP/1.1", client)
    async with httpx.AsyncClient(http1=False, http2=True, trust_env=False) as client:
        await at_once("HTTP/2", client)


with httpx.Client(trust_env=False) as client:
    one_after_the_other("HTTP/1.1", client)
    event_streams(client)
with httpx.Client(http1=False, http2=True, trust_env=False) as client:
    one_after_the_other("HTTP/2", client)
asyncio.run(asynchronous())
end()
