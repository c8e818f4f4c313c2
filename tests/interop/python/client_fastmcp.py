"""fastmcp: both eras, over HTTP and over a child process.

python client_fastmcp.py http://…/mcp program
"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from checks import end
from mcp_checks import check_calls, check_contents, check_lists, check_prompt


async def sample(_messages, _params, _context):
    return "Paris"


async def elicit(_message, _response_type, _params, _context):
    return {"username": "ann", "email": "ann@example.com"}


async def main(url, program):
    for mode in ["legacy", "auto"]:
        for name, transport in [
            (f"HTTP, {mode}", StreamableHttpTransport(url)),
            (f"stdio, {mode}", StdioTransport(program, ["stdio"])),
        ]:
            handlers = {"sampling_handler": sample, "elicitation_handler": elicit, "roots": ["file:///home"]}
            async with Client(transport, mode=mode, **handlers) as client:
                tools, resources = await client.list_tools(), await client.list_resources()
                await check_lists(name, tools, resources, await client.list_prompts())
                fixed = await client.read_resource("test://static-text")
                filled = await client.read_resource("test://template/7/data")
                check_contents(name, fixed[0], filled[0])
                arguments = {"arg1": "a", "arg2": "b"}
                check_prompt(name, await client.get_prompt("test_prompt_with_arguments", arguments))

                async def call(tool, arguments, on_progress=None):
                    return await client.call_tool(tool, arguments, progress_handler=on_progress)

                await check_calls(name, call)


asyncio.run(main(*sys.argv[1:3]))
end()
