"""web3, as if Switchboard were a node of Ethereum: over HTTP, WebSocket in binary and in text, and IPC.

    python client_web3.py http://… ws://… unix:…
"""

import asyncio

from checks import check, end, url
from web3 import AsyncIPCProvider, AsyncWeb3, HTTPProvider, IPCProvider, Web3, WebSocketProvider
from web3.exceptions import MethodUnavailable, Web3RPCError

NOBODY = "0x0000000000000000000000000000000000000000"
IPC = url("unix").removeprefix("unix:")


def blocking(carrier, w3):
    check(f"{carrier}: it is connected", w3.is_connected(), True)
    check(f"{carrier}: a call without parameters", (w3.eth.chain_id, w3.eth.block_number), (1337, 16))
    check(f"{carrier}: a call by position", w3.eth.get_balance(NOBODY), 10**18)
    check(f"{carrier}: the version of the client", w3.client_version, "switchboard")
    try:
        w3.provider.make_request("fail", [])
        answer = w3.manager.request_blocking("fail", [])
        check(f"{carrier}: an error", answer, "none")
    except Web3RPCError as error:
        check(f"{carrier}: an error", error.rpc_response["error"], {"code": 1234, "message": "boom", "data": {"x": 1}})
    try:
        check(f"{carrier}: a method that is not there", w3.eth.gas_price, "none")
    except MethodUnavailable as error:
        check(f"{carrier}: a method that is not there", error.rpc_response["error"]["code"], -32601)


def batch(carrier, w3):
    with w3.batch_requests() as requests:
        requests.add(w3.eth.get_balance(NOBODY))
        requests.add(w3.eth.get_balance(NOBODY))
        check(f"{carrier}: a batch", requests.execute(), [10**18, 10**18])


async def persistent(carrier, provider):
    async with AsyncWeb3(provider) as w3:
        check(f"{carrier}: it is connected", await w3.is_connected(), True)
        check(f"{carrier}: calls", (await w3.eth.chain_id, await w3.eth.block_number), (1337, 16))
        async with w3.batch_requests() as requests:
            requests.add(w3.eth.get_balance(NOBODY))
            requests.add(w3.eth.get_balance(NOBODY))
            check(f"{carrier}: a batch", await requests.async_execute(), [10**18, 10**18])

        subscription = await w3.eth.subscribe("newHeads")
        numbers = []
        async for message in w3.socket.process_subscriptions():
            check(f"{carrier}: an item names its subscription", message["subscription"], subscription)
            numbers.append(message["result"]["number"])
            if len(numbers) == 3:
                break
        check(f"{carrier}: the items of a subscription", numbers, [1, 2, 3])
        check(f"{carrier}: calls go on meanwhile", await w3.eth.block_number, 16)
        check(f"{carrier}: unsubscribing", await w3.eth.unsubscribe(subscription), True)


async def main():
    await persistent("WebSocket, binary", WebSocketProvider(url("ws"), websocket_kwargs={"proxy": None}))
    text = WebSocketProvider(url("ws"), websocket_kwargs={"proxy": None}, use_text_frames=True)
    await persistent("WebSocket, text", text)
    await persistent("IPC, asynchronous", AsyncIPCProvider(IPC))


over_http = Web3(HTTPProvider(url("http")))
blocking("HTTP", over_http)
batch("HTTP", over_http)
over_ipc = Web3(IPCProvider(IPC))
blocking("IPC", over_ipc)
batch("IPC", over_ipc)
asyncio.run(main())
end()
