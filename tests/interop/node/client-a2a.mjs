// @a2a-js/sdk: both versions of Agent2Agent, with and without streams, notifications, and the signature of the card.
//
// node client-a2a.mjs http://…/

import { createServer } from "node:http";

import {
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  verifyAgentCardSignature,
} from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import { importJWK } from "jose";

import { check, url } from "./checks.mjs";

const legacyCompat = { enabled: true };

/** A message that asks for what its identifier begins with. */
function request(prefix, more = {}) {
  const { taskId, ...configuration } = more;
  const messageId = `${prefix}-${crypto.randomUUID()}`;
  const message = { messageId, role: "ROLE_USER", parts: [{ text: "go" }], taskId };
  return SendMessageRequest.fromJSON({ message, configuration });
}

/** What a call is refused with. */
async function refusal(promise) {
  return promise.then(
    () => "an answer",
    (error) => error.constructor.name,
  );
}

async function speak(version, client) {
  const claim = (text) => `${version}: ${text}`;
  const send = async (prefix, more) => client.sendMessage(request(prefix, more));
  const message = await send("tck-message-response");
  check(claim("a message"), message.parts[0].content.value, "Direct message response");
  const task = Task.toJSON(await send("tck-artifact-text"));
  check(claim("a task"), task.status.state, "TASK_STATE_COMPLETED");
  check(claim("its artifact"), task.artifacts[0].parts[0].text, "Generated text content");
  const asked = await send("tck-input-required");
  const done = Task.toJSON(await send("tck-complete-task", { taskId: asked.id }));
  check(claim("an answer"), [done.id, done.status.state], [asked.id, "TASK_STATE_COMPLETED"]);
  check(claim("the history"), (await client.getTask({ tenant: "", id: asked.id })).history.length, 3);
  const other = await send("tck-input-required");
  const cancelled = Task.toJSON(await client.cancelTask({ tenant: "", id: other.id }));
  check(claim("cancelled"), cancelled.status.state, "TASK_STATE_CANCELED");
  if (version === "1.0") {
    const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 1 }));
    check(claim("a list"), [page.tasks.length, page.tasks[0].id], [1, other.id]);
  }
  check(claim("no task"), await refusal(client.getTask({ tenant: "", id: "none" })), "JsonRpcTaskNotFoundError");
  check(
    claim("cancelled too late"),
    await refusal(client.cancelTask({ tenant: "", id: done.id })),
    "JsonRpcTaskNotCancelableError",
  );
}

async function stream(version, client) {
  const claim = (text) => `${version}: ${text}`;
  const kinds = [];
  let last;
  for await (const event of client.sendMessageStream(request("tck-stream-artifact-chunked"))) {
    last = StreamResponse.toJSON(event);
    kinds.push(Object.keys(last)[0]);
  }
  const expected = ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"];
  check(claim("events"), kinds, expected);
  check(claim("the last one"), last.statusUpdate.status.state, "TASK_STATE_COMPLETED");
  const working = client.sendMessageStream(request("test-resubscribe-message-id"));
  const first = StreamResponse.toJSON((await working.next()).value);
  for await (const event of client.resubscribeTask({ tenant: "", id: first.task.id })) {
    last = StreamResponse.toJSON(event);
  }
  check(claim("subscribed"), last.statusUpdate.status.state, "TASK_STATE_COMPLETED");
  await working.return();
}

/** Receives notifications. */
async function hook() {
  const received = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: JSON.parse(text) });
      response.writeHead(204).end();
      server.emit("notified");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { received, server, url: `http://127.0.0.1:${server.address().port}/hook` };
}

async function push(version, client) {
  const claim = (text) => `${version}: ${text}`;
  const { received, server, url } = await hook();
  const asked = await client.sendMessage(request("tck-input-required"));
  const wanted = { taskId: asked.id, id: "one", url, token: "secret" };
  const authentication = { scheme: "Bearer", credentials: "abc" };
  const config = TaskPushNotificationConfig.fromJSON({ ...wanted, authentication });
  const made = await client.createTaskPushNotificationConfig(config);
  check(claim("a place"), [made.taskId, made.id, made.url, made.token], Object.values(wanted));
  const named = { tenant: "", taskId: asked.id, id: "one" };
  check(claim("it is there"), (await client.getTaskPushNotificationConfig(named)).url, url);
  const all = { tenant: "", taskId: asked.id, pageSize: 0, pageToken: "" };
  check(claim("places"), (await client.listTaskPushNotificationConfig(all)).configs.length, 1);
  const notified = new Promise((resolve) => server.once("notified", resolve));
  await client.cancelTask({ tenant: "", id: asked.id });
  await notified;
  const { headers, body } = received[0];
  const found = [headers["x-a2a-notification-token"], headers.authorization];
  check(claim("its credentials"), found, ["secret", "Bearer abc"]);
  const task = version === "1.0" ? body.task : body;
  check(claim("a notification"), task.id, asked.id);
  await client.deleteTaskPushNotificationConfig(named);
  check(claim("no places"), (await client.listTaskPushNotificationConfig(all)).configs.length, 0);
  server.close();
  server.closeAllConnections();
}

const base = url("http").replace(/\/$/, "");
const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json();
for (const version of ["1.0", "0.3"]) {
  const supportedInterfaces = card.supportedInterfaces.filter((place) => place.protocolVersion === version);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ legacyCompat })],
    cardResolver: new DefaultAgentCardResolver({ legacyCompat }),
  });
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces });
  check(`${version}: the version`, client.protocolVersion.startsWith(version), true);
  await speak(version, client);
  await stream(version, client);
  await push(version, client);
}
const { keys } = await (await fetch(`${base}/keys.json`)).json();
const verify = verifyAgentCardSignature(async () => importJWK(keys[0], "ES256"));
check("the signature of the card", await verify(card).then(() => "verified", String), "verified");
