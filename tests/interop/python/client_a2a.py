"""a2a-sdk: both versions of Agent2Agent, with and without streams, places for notifications, and the signature of the card.

python client_a2a.py http://…/
"""

import asyncio
import uuid

import httpx
import jwt
from a2a.client import A2ACardResolver, ClientConfig, create_client
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

from a2a.utils.signing import create_signature_verifier

from checks import check, end, url


def request(prefix, **more):
    message_id = f"{prefix}-{uuid.uuid4()}"
    return SendMessageRequest(
        message=Message(role=Role.ROLE_USER, parts=[Part(text="go")], message_id=message_id, **more)
    )


async def last(responses):
    """The last task that the client saw, or the message."""
    found = None
    async for response in responses:
        kind = response.WhichOneof("payload")
        if kind in ("task", "message"):
            found = getattr(response, kind)
        elif kind == "status_update":
            found.status.CopyFrom(response.status_update.status)
        else:
            found.artifacts.append(response.artifact_update.artifact)
    return found


async def speak(name, card, http, streaming, has_list):
    client = await create_client(card, ClientConfig(streaming=streaming, httpx_client=http))
    message = await last(client.send_message(request("tck-message-response")))
    check(f"{name}: a message", message.parts[0].text, "Direct message response")
    task = await last(client.send_message(request("tck-artifact-text")))
    check(f"{name}: a task", task.status.state, TaskState.TASK_STATE_COMPLETED)
    check(f"{name}: its artifact", task.artifacts[0].parts[0].text, "Generated text content")
    asked = await last(client.send_message(request("tck-input-required")))
    check(f"{name}: a question", asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED)
    done = await last(client.send_message(request("tck-complete-task", task_id=asked.id)))
    check(f"{name}: its answer", (done.id, done.status.state), (asked.id, TaskState.TASK_STATE_COMPLETED))
    read = await client.get_task(GetTaskRequest(id=asked.id))
    check(f"{name}: the history", len(read.history), 3)
    asked = await last(client.send_message(request("tck-input-required")))
    cancelled = await client.cancel_task(CancelTaskRequest(id=asked.id))
    check(f"{name}: cancelled", cancelled.status.state, TaskState.TASK_STATE_CANCELED)
    if has_list:
        page = await client.list_tasks(ListTasksRequest(page_size=1))
        check(f"{name}: a list", (len(page.tasks), page.tasks[0].id), (1, asked.id))
    try:
        await client.get_task(GetTaskRequest(id="none"))
        check(f"{name}: no task", "a task", "an error")
    except Exception as error:  # its type depends on the version
        check(f"{name}: no task", type(error).__name__, "TaskNotFoundError")
    await places(name, client, asked.id)
    if streaming:
        chunked = await last(client.send_message(request("tck-stream-artifact-chunked")))
        texts = [artifact.parts[0].text for artifact in chunked.artifacts]
        check(f"{name}: chunks", texts, ["chunk-1 ", "chunk-2"])
        working = client.send_message(request("test-resubscribe-message-id"))
        first = await anext(working)
        rest = await last(client.subscribe(SubscribeToTaskRequest(id=first.task.id)))
        check(f"{name}: subscribed", rest.status.state, TaskState.TASK_STATE_COMPLETED)
        await working.aclose()


async def places(name, client, task):
    """The places for notifications about a task."""
    place = TaskPushNotificationConfig(task_id=task, id="one", url="https://hooks.example.com/", token="t")
    made = await client.create_task_push_notification_config(place)
    check(f"{name}: a place", (made.id, made.url, made.token), (place.id, place.url, place.token))
    named = GetTaskPushNotificationConfigRequest(task_id=task, id="one")
    read = await client.get_task_push_notification_config(named)
    check(f"{name}: it is there", read.url, place.url)
    listing = ListTaskPushNotificationConfigsRequest(task_id=task)
    listed = await client.list_task_push_notification_configs(listing)
    check(f"{name}: places", [one.id for one in listed.configs], ["one"])
    named = DeleteTaskPushNotificationConfigRequest(task_id=task, id="one")
    await client.delete_task_push_notification_config(named)
    listed = await client.list_task_push_notification_configs(listing)
    check(f"{name}: no places", len(listed.configs), 0)


async def main():
    base = url("http")
    async with httpx.AsyncClient(timeout=30) as http:
        keys = (await http.get(f"{base}keys.json")).json()["keys"]
        verify = create_signature_verifier(lambda *_: jwt.PyJWK(keys[0]), ["ES256"])
        card = await A2ACardResolver(http, base.rstrip("/")).get_agent_card(signature_verifier=verify)
        for version in ["1.0", "0.3"]:
            chosen = type(card)()
            chosen.CopyFrom(card)
            interfaces = [place for place in card.supported_interfaces if place.protocol_version == version]
            del chosen.supported_interfaces[:]
            chosen.supported_interfaces.extend(interfaces)
            for streaming in [True, False]:
                name = f"{version}, {'streaming' if streaming else 'blocking'}"
                await speak(name, chosen, http, streaming, version == "1.0")


asyncio.run(main())
end()
