"""mcp: both eras, over HTTP and over a child process.

python client_mcp.py http://…/mcp program
"""

import asyncio
import sys

import mcp
from mcp import types

from checks import check, end
from mcp_checks import check_calls, check_contents, check_lists, check_prompt


async def sample(_context, _params):
    content = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", model="test", content=content)


async def elicit(_context, _params):
    return types.ElicitResult(action="accept", content={"username": "ann", "email": "ann@example.com"})


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///home", name="home")])


async def main(url, program):
    stdio = mcp.StdioServerParameters(command=program, args=["stdio"])
    for mode, expected in [("legacy", "2025-11-25"), ("auto", "2026-07-28")]:
        for name, server in [(f"HTTP, {mode}", url), (f"stdio, {mode}", stdio)]:
            callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
            async with mcp.Client(server, mode=mode, **callbacks) as client:
                check(f"{name}: the revision is the newest of its era", client.protocol_version, expected)
                tools, resources = await client.list_tools(), await client.list_resources()
                prompts = await client.list_prompts()
                await check_lists(name, tools.tools, resources.resources, prompts.prompts)
                fixed = await client.read_resource("test://static-text")
                filled = await client.read_resource("test://template/7/data")
                check_contents(name, fixed.contents[0], filled.contents[0])
                arguments = {"arg1": "a", "arg2": "b"}
                check_prompt(name, await client.get_prompt("test_prompt_with_arguments", arguments))

                async def call(tool, arguments, on_progress=None):
                    return await client.call_tool(tool, arguments, progress_callback=on_progress)

                await check_calls(name, call)


asyncio.run(main(*sys.argv[1:3]))
end()
