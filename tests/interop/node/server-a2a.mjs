// An agent with @a2a-js/sdk, in one version of Agent2Agent. Its first line says where its card is.
//
// node server-a2a.mjs 1.0
// node server-a2a.mjs 0.3

import {
  AgentCard,
  Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler } from "@a2a-js/sdk/server/express";
import express from "express";

const legacyCompat = { enabled: true };

/** A message of the agent. */
function says(text, context) {
  const messageId = crypto.randomUUID();
  return { messageId, role: "ROLE_AGENT", parts: [{ text }], ...context };
}

class Executor {
  /** How a task that waits is cancelled. */
  #waiting = new Map();

  async execute({ userMessage, taskId, contextId, task }, bus) {
    const ids = { taskId, contextId };
    const timestamp = () => new Date().toISOString();
    const status = (state, message) =>
      bus.publish(
        AgentEvent.statusUpdate(
          TaskStatusUpdateEvent.fromJSON({ ...ids, status: { state, message, timestamp: timestamp() } }),
        ),
      );
    const text = userMessage.parts[0].content.value;
    if (text === "hello") {
      bus.publish(AgentEvent.message(Message.fromJSON(says("hi", { contextId }))));
      bus.finished();
      return;
    }
    if (!task) {
      const begun = { state: "TASK_STATE_SUBMITTED", timestamp: timestamp() };
      const history = [Message.toJSON(userMessage)];
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: begun, history })));
    }
    if (text === "ask") {
      status("TASK_STATE_INPUT_REQUIRED", says("Which city?", ids));
      bus.finished();
      return;
    }
    status("TASK_STATE_WORKING");
    for (const number of [0, 1, 2]) {
      const artifact = { artifactId: "a", parts: [{ text: `${number} ` }] };
      const update = { ...ids, artifact, append: number > 0, lastChunk: number === 2 };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    }
    const isCancelled =
      text === "wait" && (await new Promise((cancel) => this.#waiting.set(taskId, () => cancel(true))));
    status(isCancelled ? "TASK_STATE_CANCELED" : "TASK_STATE_COMPLETED");
    bus.finished();
  }

  async cancelTask(taskId) {
    this.#waiting.get(taskId)?.();
  }
}

const version = process.argv[2];
const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const base = `http://127.0.0.1:${server.address().port}`;
  const place = { url: `${base}/a2a`, protocolBinding: "JSONRPC", protocolVersion: version };
  const card = AgentCard.fromJSON({
    name: "interop",
    description: "Counts.",
    version: "1.0.0",
    supportedInterfaces: [place],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "count", name: "Count", description: "Counts.", tags: ["test"] }],
  });
  const places = new InMemoryPushNotificationStore();
  const sender = new DefaultPushNotificationSender(places);
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor(), undefined, places, sender);
  const old = version === "0.3" ? { legacyCompat } : {};
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler, ...old }));
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/a2a", jsonRpcHandler({ requestHandler: handler, userBuilder, ...old }));
  console.log(base);
});
