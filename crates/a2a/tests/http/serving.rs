//! An agent on a free port, and requests to it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_a2a::model::{AgentCard, AgentSkill, Artifact, Message, Part};
use switchboard_a2a::{A2aRoute, Agent, CardRoute, Outcome, Server, TaskHandle};
use switchboard_core::{ErrorObject, Json, Router, TraceContext};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_transport::http::{Endpoint, EndpointOptions, Guarded, HttpServer, Route, RouteFuture};
use switchboard_transport::server::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::raw::{Received, send};

/// A server until this is dropped.
pub(crate) struct Stopping {
    pub(crate) address: SocketAddr,
    handle: Handle,
    task: JoinHandle<()>,
}

impl Stopping {
    /// Serves these routes on a free port.
    pub(crate) fn serve(options: EndpointOptions) -> Stopping {
        Stopping::serve_on(TcpListener::bind("127.0.0.1:0").unwrap(), options)
    }

    /// Serves these routes.
    pub(crate) fn serve_on(listener: TcpListener, options: EndpointOptions) -> Stopping {
        let endpoint = Endpoint::new(Router::builder().build().unwrap()).with_options(options);
        let listener = HttpServer::from_std(listener).unwrap();
        let (address, handle) = (listener.local_addr(), listener.handle());
        Stopping { address, handle, task: tokio::spawn(listener.serve_endpoint(endpoint)) }
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.handle.shutdown();
        self.task.abort();
    }
}

/// Takes the header `x-user` for the caller's name, as a proxy in front would set it.
struct Identified<R>(R);

impl<R: Route> Route for Identified<R> {
    fn answer(&self, mut request: Guarded) -> RouteFuture {
        if let Some(user) = request.head.headers.get("x-user") {
            request.cx.set_caller(Arc::new(Identity::new(user.to_str().unwrap(), Proof::Token)));
        }
        self.0.answer(request)
    }
}

/// An agent that is served until this is dropped.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    _server: Stopping,
}

pub(crate) async fn serve(server: &Server) -> Serving {
    serve_routes(A2aRoute::new(server), CardRoute::new(server, "/a2a")).await
}

/// Serves an agent that knows where.
pub(crate) fn serve_with_origin(agent: Agent) -> Serving {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = agent.with_origin(format!("http://{address}")).build();
    let (agent, card) = (A2aRoute::new(&server), CardRoute::new(&server, "/a2a"));
    let options = EndpointOptions::default().route("/a2a", Identified(agent)).route(CardRoute::PATH, card);
    Serving { address, _server: Stopping::serve_on(listener, options) }
}

pub(crate) async fn serve_routes(agent: A2aRoute, card: CardRoute) -> Serving {
    let options = EndpointOptions::default().route("/a2a", Identified(agent)).route(CardRoute::PATH, card);
    let server = Stopping::serve(options);
    Serving { address: server.address, _server: server }
}

impl Serving {
    /// Posts a request of 1.0.
    pub(crate) async fn post(&self, method: &str, params: Value) -> Received {
        self.post_with(&[("a2a-version", "1.0")], method, params).await
    }

    pub(crate) async fn post_with(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Received {
        let message = json!({"jsonrpc": "2.0", "id": "r1", "method": method, "params": params});
        self.post_text(headers, &message.to_string()).await
    }

    pub(crate) async fn post_text(&self, headers: &[(&str, &str)], text: &str) -> Received {
        let json = [("content-type", "application/json")];
        let headers: Vec<_> = json.iter().chain(headers).copied().collect();
        send(self.address, "POST /a2a", &headers, Some(text)).await
    }

    /// The result of a request of 1.0.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params).await.json().await;
        assert_eq!(answer["id"], "r1", "{answer}");
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The result of a request of this user.
    pub(crate) async fn ask_as(&self, user: &str, method: &str, params: Value) -> Value {
        let headers = [("a2a-version", "1.0"), ("x-user", user)];
        self.post_with(&headers, method, params).await.json().await
    }

    /// The code of the error that a request of 1.0 is answered with.
    pub(crate) async fn error(&self, method: &str, params: Value) -> i64 {
        let answer = self.post(method, params).await.json().await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }
}

/// The params of a message with this text.
pub(crate) fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The params of a message to a task.
pub(crate) fn message_to(task: &Value, text: &str) -> Value {
    let mut params = message(text);
    params["message"]["taskId"] = task["id"].clone();
    params
}

/// The events of a stream until it ends, each checked to be a response to the request.
pub(crate) async fn events(mut received: Received) -> Vec<Value> {
    assert_eq!((received.status, received.is_events()), (200, true));
    let mut events = Vec::new();
    while let Some(event) = received.event().await {
        events.push(result(&event.json()));
    }
    events
}

/// The result of an event (A2A-S-01).
pub(crate) fn result(event: &Value) -> Value {
    assert_eq!((&event["jsonrpc"], &event["id"]), (&json!("2.0"), &json!("r1")), "{event}");
    event["result"].clone()
}

/// What lets the work `wait` go on.
#[derive(Clone, Default)]
pub(crate) struct Gate(pub(crate) Arc<Notify>);

/// An extension that the agent knows.
pub(crate) const EXTENSION: &str = "https://example.com/ext";

/// An agent that does what it is told.
pub(crate) fn agent(gate: &Gate) -> Agent {
    let gate = gate.clone();
    let card = AgentCard::new("Test", "Does what it is told.", "1.0.0")
        .with_modes(["text/plain", "application/json", "image/*"], ["text/plain"])
        .extension(EXTENSION, false)
        .skill(AgentSkill::new("obey", "Obey", "Does what it is told.").tagged(["test"]));
    Agent::new(card, move |message, task| obey(message, task, gate.clone()))
}

async fn obey(message: Message, task: TaskHandle, gate: Gate) -> Result<Outcome, ErrorObject> {
    match message.text().as_str() {
        "hello" => Ok("hi".into()),
        "slow hello" => {
            tokio::task::yield_now().await;
            Ok("hi".into())
        }
        "ask" => Ok(Outcome::input_required("Which city?")),
        "ask late" => {
            task.working("thinking").await?;
            Ok(Outcome::input_required("Which city?"))
        }
        "login" => Ok(Outcome::auth_required("Log in at https://example.com")),
        "refuse" => Ok(Outcome::rejected("no")),
        "fail" => Err(ErrorObject::new(7, "it broke")),
        "fail late" => {
            task.working("so far").await?;
            Err(ErrorObject::new(7, "it broke"))
        }
        "resumed" | "wait" => {
            task.working("waiting").await?;
            gate.0.notified().await;
            let text = if task.is_resumed() { "again" } else { "at once" };
            task.artifact(Artifact::text("a", text)).await?;
            Ok(Outcome::completed_with("done"))
        }
        "details" => {
            task.working("waiting").await?;
            gate.0.notified().await;
            task.artifact(Artifact::new("details", vec![Part::data(details(&task)?)])).await?;
            Ok(Outcome::completed())
        }
        "chunks" => {
            task.working("writing").await?;
            task.chunk(Artifact::text("a", "one "), false).await?;
            task.chunk(Artifact::text("a", "two"), true).await?;
            Ok(Outcome::completed())
        }
        "much" => {
            task.artifact(Artifact::text("a", "x".repeat(1 << 20))).await?;
            Ok(Outcome::completed())
        }
        "count" => Ok(Outcome::completed_with(format!(
            "{} messages",
            task.task().map_or(0, |task| task.history.len())
        ))),
        other => Ok(Outcome::completed_with(format!("did {other}"))),
    }
}

/// What the agent knows about its call.
fn details(task: &TaskHandle) -> Result<Json, ErrorObject> {
    let (cx, request) = (task.context(), task.request());
    let trace = cx.trace().or_else(|| TraceContext::of(cx.metadata()));
    let user = cx.caller::<Identity>().map(|identity| identity.subject.clone());
    let details = json!({
        "metadata": request.metadata, "modes": request.accepted_output_modes, "extensions": request.extensions,
        "tenant": request.tenant, "trace": trace.map(|trace| trace.to_string()), "user": user,
        "deadline": cx.deadline.is_some(),
    });
    Json::encode(&details).map_err(|error| ErrorObject::internal(&error))
}
