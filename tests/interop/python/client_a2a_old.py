"""a2a-sdk 0.3: an agent seen by a client that knows only version 0.3.

python client_a2a_old.py http://…/
"""

import asyncio
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)

from a2a.utils import PREV_AGENT_CARD_WELL_KNOWN_PATH

from checks import check, end, url


def message(prefix, **more):
    parts = [Part(root=TextPart(text="go"))]
    return Message(role=Role.user, parts=parts, message_id=f"{prefix}-{uuid.uuid4()}", **more)


async def last(responses):
    """The message, or the task as it is after all events."""
    found = None
    async for response in responses:
        found = response[0] if isinstance(response, tuple) else response
    return found


async def speak(name, client):
    answer = await last(client.send_message(message("tck-message-response")))
    check(f"{name}: a message", answer.parts[0].root.text, "Direct message response")
    task = await last(client.send_message(message("tck-artifact-text")))
    check(f"{name}: a task", task.status.state, TaskState.completed)
    check(f"{name}: its artifact", task.artifacts[0].parts[0].root.text, "Generated text content")
    file = await last(client.send_message(message("tck-artifact-file")))
    check(f"{name}: a file", file.artifacts[0].parts[0].root.file.name, "output.txt")
    asked = await last(client.send_message(message("tck-input-required")))
    check(f"{name}: a question", asked.status.state, TaskState.input_required)
    done = await last(client.send_message(message("tck-complete-task", task_id=asked.id)))
    check(f"{name}: its answer", (done.id, done.status.state), (asked.id, TaskState.completed))
    read = await client.get_task(TaskQueryParams(id=asked.id))
    check(f"{name}: the history", len(read.history), 3)
    asked = await last(client.send_message(message("tck-input-required")))
    config = PushNotificationConfig(id="one", url="https://hooks.example.com/", token="t")
    place = TaskPushNotificationConfig(task_id=asked.id, push_notification_config=config)
    made = await client.set_task_callback(place)
    check(f"{name}: a place", made.push_notification_config.url, config.url)
    params = GetTaskPushNotificationConfigParams(id=asked.id, push_notification_config_id="one")
    check(f"{name}: it is there", (await client.get_task_callback(params)).task_id, asked.id)
    cancelled = await client.cancel_task(TaskIdParams(id=asked.id))
    check(f"{name}: cancelled", cancelled.status.state, TaskState.canceled)
    try:
        await client.get_task(TaskQueryParams(id="none"))
        check(f"{name}: no task", "a task", "an error")
    except Exception as error:  # its type depends on the transport
        check(f"{name}: no task", "Task not found" in str(error), True)


async def main():
    base = url("http").rstrip("/")
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, base, PREV_AGENT_CARD_WELL_KNOWN_PATH).get_agent_card()
        check("the version", card.protocol_version, "0.3.0")
        for streaming in [True, False]:
            client = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            await speak("streaming" if streaming else "blocking", client)
        working = client_of(http, card).send_message(message("test-resubscribe-message-id"))
        task, _ = await anext(working)
        rest = await last(client_of(http, card).resubscribe(TaskIdParams(id=task.id)))
        check("subscribed", rest.status.state, TaskState.completed)
        await working.aclose()


def client_of(http, card):
    return ClientFactory(ClientConfig(streaming=True, httpx_client=http)).create(card)


asyncio.run(main())
end()
