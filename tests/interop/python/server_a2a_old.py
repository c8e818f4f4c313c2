"""An agent with a2a-sdk 0.3, which knows only version 0.3. Its first line says where its card is.

python server_a2a_old.py
"""

import asyncio
import logging
import socket

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TaskState, TextPart
from a2a.utils import new_agent_text_message, new_task


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        if text == "hello":
            await event_queue.enqueue_event(new_agent_text_message("hi"))
            return
        if not context.current_task:
            await event_queue.enqueue_event(new_task(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if text == "ask":
            question = new_agent_text_message("Which city?")
            await updater.update_status(TaskState.input_required, question, final=True)
            return
        await updater.start_work()
        for number in range(3):
            last = number == 2
            parts = [Part(root=TextPart(text=f"{number} "))]
            await updater.add_artifact(parts, artifact_id="a", append=number > 0, last_chunk=last)
            await asyncio.sleep(0.01)
        if text == "wait":
            await asyncio.sleep(60)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="interop",
        description="Counts.",
        version="1.0.0",
        url=f"{base}/",
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="count", name="Count", description="Counts.", tags=["test"])],
    )
    places = InMemoryPushNotificationConfigStore()
    sender = BasePushNotificationSender(httpx.AsyncClient(), places)
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), None, places, sender)
    app = A2AStarletteApplication(card, handler).build()
    print(base, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listener])


logging.disable()
asyncio.run(serve())
