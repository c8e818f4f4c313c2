//! The two eras of the Model Context Protocol, and what a server offers in each.
//!
//! Up to 2025-11-25 a client opens a session with `initialize`. Since 2026-07-28 every request stands alone: it names its version
//! and its client in `_meta`, and over HTTP its headers repeat parts of the message.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::bench::Bench;
use super::message::{Message, Response};
use super::outcome::{Came, End};
use super::wire::{Carrier, Line, Noise, Received, Request};

/// An era.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Era {
    /// Sessions that begin with `initialize`, up to 2025-11-25.
    #[default]
    Sessions,
    /// Requests that stand alone, since 2026-07-28.
    Stateless,
}

/// The newest revision with sessions.
pub(crate) const NEWEST: &str = "2025-11-25";

/// Every revision with sessions.
pub(crate) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST];

/// The headers of a session.
pub(crate) const SESSION: &[&str] = &["mcp-session-id", "mcp-protocol-version"];

/// The member of a stateless request that names its version and its client.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"switchboard-check","version":"1"}}"#;

/// What a server offers in each era, if it speaks it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoken {
    pub(crate) sessions: Option<Side>,
    pub(crate) stateless: Option<Side>,
}

/// What can be tried without effects, by the names under which cases fill it in.
type Samples = BTreeMap<&'static str, String>;

/// What a server offers in one era.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// The revision that the server chose.
    pub(crate) version: String,
    pub(crate) capabilities: Value,
    /// Whether sessions have an identifier.
    pub(crate) has_session_id: bool,
    pub(crate) samples: Samples,
}

impl Side {
    /// Whether this capability is declared. `resources.subscribe` is a part of one.
    pub(crate) fn declares(&self, name: &str) -> bool {
        let found = self.capabilities.pointer(&format!("/{}", name.replace('.', "/")));
        found.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    }
}

impl Spoken {
    pub(crate) fn side(&self, era: Era) -> Option<&Side> {
        match era {
            Era::Sessions => self.sessions.as_ref(),
            Era::Stateless => self.stateless.as_ref(),
        }
    }

    /// The era of cases that can be sent in any.
    pub(crate) fn usual(&self) -> Era {
        match (&self.sessions, &self.stateless) {
            (None, Some(_)) => Era::Stateless,
            _ => Era::Sessions,
        }
    }

    /// Finds out what the server speaks. Whatever it answers in the other era only shows that it does not speak it.
    pub(crate) async fn look(bench: &mut Bench) {
        bench.endpoint.takes_events = true;
        bench.endpoint.noise = Some(Noise::default());
        bench.speak(Some(Era::Stateless));
        let came = bench.greet().await;
        let hello = only_result(&came).filter(|result| result.get("supportedVersions").is_some());
        if let Some(capabilities) = hello.map(|result| result["capabilities"].clone()) {
            let version = "2026-07-28".to_owned();
            bench.found.mcp.stateless = Some(Side { version, capabilities, ..Side::default() });
            let samples = samples(bench).await;
            if let Some(side) = &mut bench.found.mcp.stateless {
                side.samples = samples;
            }
        }
        bench.speak(Some(Era::Sessions));
        let shaken = Handshake::new(bench, NEWEST).await;
        if let Some(result) =
            only_result(&shaken.came).filter(|result| result.get("protocolVersion").is_some())
        {
            bench.found.mcp.sessions = Some(Side {
                version: result["protocolVersion"].as_str().unwrap_or(NEWEST).to_owned(),
                capabilities: result["capabilities"].clone(),
                has_session_id: shaken.session.is_some(),
                samples: Samples::new(),
            });
            bench.introduce().await;
            let samples = samples(bench).await;
            if let Some(side) = &mut bench.found.mcp.sessions {
                side.samples = samples;
            }
        }
        // A program may end because of a message of the other era.
        let _ = bench.death();
    }
}

/// The result, if the answer is one.
pub(crate) fn only_result(came: &Came) -> Option<&Value> {
    match came.messages.as_slice() {
        [Message::One(response)] if !response.is_error() => response.value.get("result"),
        _ => None,
    }
}

/// What can be tried without effects: tools that declare to be read-only, resources, and prompts.
async fn samples(bench: &mut Bench) -> Samples {
    let mut samples = Samples::new();
    for (capability, method) in
        [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")]
    {
        if !bench.side().is_some_and(|side| side.declares(capability)) {
            continue;
        }
        let call = bench.fill(request(method, "").as_bytes());
        let came = bench.ask(&call, 1).await;
        let entries = only_result(&came).and_then(|result| result[capability].as_array());
        for entry in entries.into_iter().flatten() {
            note_samples(&mut samples, capability, entry);
        }
    }
    samples
}

fn note_samples(samples: &mut Samples, capability: &str, entry: &Value) {
    let is_required = |argument: &Value| argument["required"] == json!(true);
    match capability {
        "tools" if entry["annotations"]["readOnlyHint"] == json!(true) => {
            let required = entry["inputSchema"]["required"].as_array().is_some_and(|names| !names.is_empty());
            note(samples, if required { "tool-required" } else { "tool-plain" }, &entry["name"]);
        }
        "resources" => note(samples, "uri", &entry["uri"]),
        "prompts" => {
            let arguments = entry["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
            match arguments.iter().find(|argument| is_required(argument)) {
                // The first one that is noted, so that both belong together.
                Some(argument) if !samples.contains_key("prompt-required") => {
                    note(samples, "prompt-required", &entry["name"]);
                    note(samples, "argument", &argument["name"]);
                }
                Some(_) => {}
                None => note(samples, "prompt-plain", &entry["name"]),
            }
        }
        _ => {}
    }
}

fn note(samples: &mut Samples, key: &'static str, name: &Value) {
    // Other names have to be encoded in headers.
    let name = name.as_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic()));
    if let Some(name) = name {
        samples.entry(key).or_insert_with(|| name.to_owned());
    }
}

/// A request of either era with the identifier 1. Its `@meta` is filled in.
pub(crate) fn request(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{@meta{comma}{params}}}}}"#)
}

/// The request that opens a session in this revision.
pub(crate) fn initialize(version: &str) -> String {
    let client = json!({ "name": "switchboard-check", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
}

/// The notification that completes the handshake.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The headers that repeat parts of a stateless request, as lines.
pub(crate) fn routing(message: &[u8]) -> String {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let mut lines = format!("MCP-Protocol-Version: {}\r\n", version.unwrap_or("2026-07-28"));
    if !method.is_empty() {
        lines.push_str(&format!("Mcp-Method: {method}\r\n"));
    }
    if let Some(name) = name {
        lines.push_str(&format!("Mcp-Name: {name}\r\n"));
    }
    lines
}

/// A separate session, next to that of the bench.
pub(crate) struct Handshake {
    /// The answer to `initialize`.
    pub(crate) came: Came,
    /// The identifier of the session, over HTTP.
    pub(crate) session: Option<String>,
    line: Option<Line>,
}

impl Handshake {
    /// Sends `initialize` with this version.
    pub(crate) async fn new(bench: &mut Bench, version: &str) -> Handshake {
        Handshake::with(bench, &initialize(version)).await
    }

    /// Sends this as the first message.
    pub(crate) async fn with(bench: &mut Bench, message: &str) -> Handshake {
        if bench.carrier() == Carrier::Http {
            let came = bench.request(&Request::post(message).without(SESSION)).await;
            let session = came.head.as_ref().and_then(|head| head.header("mcp-session-id"));
            let session = session.map(str::to_owned);
            return Handshake { came, session, line: None };
        }
        let mut line = match bench.open_bare().await {
            Ok(line) => line,
            Err(why) => {
                let came = Came { end: End::Unsent(why), ..Came::default() };
                return Handshake { came, session: None, line: None };
            }
        };
        let _ = line.send(message.as_bytes()).await;
        let came = first_answer(&mut line, Instant::now() + bench.patience()).await;
        Handshake { came, session: None, line: Some(line) }
    }

    /// The result of `initialize`; otherwise the answer, as an error.
    pub(crate) fn result(&self) -> Result<&Value, String> {
        only_result(&self.came).ok_or_else(|| self.came.to_string())
    }

    /// Sends a request in the session.
    pub(crate) async fn ask(&mut self, bench: &mut Bench, message: &str) -> Came {
        let Some(line) = &mut self.line else {
            let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n"));
            let request = Request::post(message).without(SESSION).with_lines(session.unwrap_or_default());
            return bench.request(&request).await;
        };
        let _ = line.send(message.as_bytes()).await;
        first_answer(line, Instant::now() + bench.timeout).await
    }

    /// Sends a notification in the session.
    pub(crate) async fn notify(&mut self, bench: &mut Bench, message: &str) {
        match &mut self.line {
            Some(line) => {
                let _ = line.send(message.as_bytes()).await;
            }
            None => {
                self.ask(bench, message).await;
            }
        }
    }

    /// The connection that carries the session, if one does.
    pub(crate) fn line(&mut self) -> Option<&mut Line> {
        self.line.as_mut()
    }
}

/// The first message that is not a call of the server.
pub(crate) async fn first_answer(line: &mut Line, deadline: Instant) -> Came {
    let mut came = Came::default();
    while came.messages.is_empty() {
        match timeout_at(deadline, line.receive()).await {
            Ok(Received::Message(message)) => came.take(&message),
            Ok(Received::Pong) => {}
            Ok(Received::Closed(_)) => {
                came.end = End::Closed;
                return came;
            }
            Err(_) => {
                came.end = End::Silent;
                return came;
            }
        }
    }
    came
}

/// The one response that came.
pub(crate) fn only_response(came: &Came) -> Option<&Response> {
    match came.messages.as_slice() {
        [Message::One(response)] => Some(response),
        _ => None,
    }
}
