"""What a client of the Model Context Protocol does with the server of the conformance suite."""

import asyncio
import json

from checks import check


def text(result):
    return result.content[0].text


async def check_lists(name, tools, resources, prompts):
    check(f"{name}: tools are listed", any(tool.name == "test_simple_text" for tool in tools), True)
    check(f"{name}: resources are listed", any(str(one.uri) == "test://static-text" for one in resources), True)
    check(f"{name}: prompts are listed", any(one.name == "test_simple_prompt" for one in prompts), True)


async def check_calls(name, call):
    """`call(name, arguments, on_progress)` calls a tool and gives its result."""
    check(f"{name}: a tool is called", text(await call("greet", {"name": "Ann"})), "Hello, Ann!")
    progress = []

    async def on_progress(done, total=None, message=None):
        progress.append(done)

    await call("test_tool_with_progress", {}, on_progress)
    check(f"{name}: progress is reported", progress, [0, 50, 100])
    sampled = await call("test_sampling", {"prompt": "Capital of France?"})
    check(f"{name}: the client is asked for a completion", text(sampled), "LLM response: Paris")
    elicited = await call("test_elicitation", {"message": "Who are you?"})
    check(f"{name}: the user is asked", text(elicited), "User response: accept, ann, ann@example.com")
    slow = asyncio.ensure_future(call("slow_compute", {"seconds": 50}))
    await asyncio.sleep(0.1)
    slow.cancel()
    outcome = await asyncio.gather(slow, return_exceptions=True)
    check(f"{name}: a call is cancelled", isinstance(outcome[0], asyncio.CancelledError), True)
    check(f"{name}: and others go on", text(await call("greet", {})), "Hello, world!")


def check_contents(name, fixed, filled):
    check(f"{name}: a resource is read", fixed.text, "This is the content of the static text resource.")
    check(f"{name}: a template is read", json.loads(filled.text)["id"], "7")


def check_prompt(name, prompt):
    expected = "Prompt with arguments: arg1='a', arg2='b'"
    check(f"{name}: a prompt is filled in", prompt.messages[0].content.text, expected)
