"""A server of the Model Context Protocol with its library for Python, in both eras. Over HTTP its first line says where.

    python server_mcp.py http
    python server_mcp.py stdio
"""

import asyncio
import logging
import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("interop")
read_only = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=read_only)
def add(a: float, b: float) -> float:
    """Adds two numbers."""
    return a + b


@server.tool(annotations=read_only)
def hello() -> str:
    """Says hello."""
    return "hello"


@server.resource("test://greeting")
def greeting() -> str:
    """A greeting."""
    return "hello"


@server.prompt()
def plan(city: str) -> str:
    """Plans a day."""
    return f"Plan a day in {city}."


@server.prompt()
def greet() -> str:
    """Asks for a greeting."""
    return "Greet me."


async def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
    await uvicorn.Server(config).serve(sockets=[listener])


logging.disable()
if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    asyncio.run(serve())
