//! Clients of MCP that send exactly what they are told.

use std::net::SocketAddr;

use serde_json::{Value, json};

pub(crate) use crate::raw::{Received, send, within};

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A client with a session.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) session: String,
    pub(crate) user: Option<&'static str>,
}

impl Client {
    /// Begins a session of this revision.
    pub(crate) async fn session(address: SocketAddr, revision: &str, capabilities: Value) -> Client {
        Client::session_of(address, revision, capabilities, None).await
    }

    pub(crate) async fn session_of(
        address: SocketAddr,
        revision: &str,
        capabilities: Value,
        user: Option<&'static str>,
    ) -> Client {
        let received = post(
            address,
            &user.map(|user| ("x-user", user)).into_iter().collect::<Vec<_>>(),
            &initialize(revision, capabilities),
        )
        .await;
        assert_eq!(received.status, 200);
        let session = received.header("mcp-session-id").expect("a session").to_owned();
        let client = Client { address, session, user };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.post(&initialized).await.status, 202);
        client
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let user = self.user.map(|user| ("x-user", user));
        [("mcp-session-id", self.session.as_str())].into_iter().chain(user).collect()
    }

    pub(crate) async fn post(&self, message: &Value) -> Received {
        post(self.address, &self.headers(), message).await
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.post(&request(method, params)).await.answer().await
    }

    /// Opens the stream of the session, or resumes one after this event.
    pub(crate) async fn get(&self, after: Option<&str>) -> Received {
        let mut headers = self.headers();
        headers.push(("accept", "text/event-stream"));
        headers.extend(after.map(|after| ("last-event-id", after)));
        send(self.address, "GET /mcp", &headers, None).await
    }

    pub(crate) async fn delete(&self) -> Received {
        send(self.address, "DELETE /mcp", &self.headers(), None).await
    }
}

/// The capabilities of a client that can be asked.
pub(crate) fn everything() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}})
}

pub(crate) fn request(method: &str, params: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params.into()})
}

pub(crate) fn initialize(revision: &str, capabilities: impl Into<Value>) -> Value {
    let capabilities = capabilities.into();
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
    request("initialize", params)
}

/// Posts a message with these headers beside the usual ones.
pub(crate) async fn post(address: SocketAddr, headers: &[(&str, &str)], message: &Value) -> Received {
    let headers: Vec<_> = [JSON, BOTH].iter().chain(headers).copied().collect();
    send(address, "POST /mcp", &headers, Some(&message.to_string())).await
}

/// Posts a request that stands alone, with the headers that repeat its parts.
pub(crate) async fn post_alone(
    address: SocketAddr,
    more: &[(&str, &str)],
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> Received {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    headers.extend_from_slice(more);
    post(address, &headers, &request(method, params)).await
}
