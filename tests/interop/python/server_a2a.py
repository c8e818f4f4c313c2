"""An agent with the library of Agent2Agent for Python, in both versions. Its first line says where its card is.

    python server_a2a.py 1.0
    python server_a2a.py 0.3
"""

import asyncio
import logging
import socket
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        if text == "hello":
            await event_queue.enqueue_event(new_text_message("hi"))
            return
        if not context.current_task:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if text == "ask":
            await updater.requires_input(new_text_message("Which city?"))
            return
        await updater.start_work()
        for number in range(3):
            last = number == 2
            parts = [Part(text=f"{number} ")]
            await updater.add_artifact(parts, artifact_id="a", append=number > 0, last_chunk=last)
            await asyncio.sleep(0.01)
        if text == "wait":
            await asyncio.sleep(60)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def serve(version):
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    card = AgentCard(
        name="interop",
        description="Counts.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{base}/a2a", protocol_binding="JSONRPC", protocol_version=version)
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="count", name="Count", description="Counts.", tags=["test"])],
    )
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), card)
    routes = create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True)
    app = Starlette(routes=[*create_agent_card_routes(card), *routes])
    print(base, flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listener])


logging.disable()
asyncio.run(serve(sys.argv[1]))
