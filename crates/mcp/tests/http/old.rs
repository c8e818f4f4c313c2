//! The transport of 2024-11-05: an event stream and a path for messages.

use serde_json::{Value, json};

use crate::client::{Received, initialize, request, send, within};
use crate::fixtures::{add, offered, server, stuck, text, text_tool};
use crate::serving::{Serving, serve};

/// A client with its event stream.
struct Old<'a> {
    serving: &'a Serving,
    events: Received,
    path: String,
    user: Option<&'static str>,
}

impl<'a> Old<'a> {
    async fn open(serving: &'a Serving, user: Option<&'static str>) -> Old<'a> {
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(user.map(|user| ("x-user", user)));
        let mut events = send(serving.address, "GET /sse", &headers, None).await;
        assert!(events.is_events());
        let event = events.event().await.unwrap();
        assert_eq!(event.name.as_deref(), Some("endpoint"));
        let path = event.data.unwrap();
        assert!(path.starts_with("/messages?sessionId="), "{path}");
        Old { serving, events, path, user }
    }

    async fn post_as(&self, user: Option<&str>, message: &Value) -> (u16, String) {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(user.map(|user| ("x-user", user)));
        let line = format!("POST {}", self.path);
        let received = send(self.serving.address, &line, &headers, Some(&message.to_string())).await;
        (received.status, received.text().await)
    }

    async fn post(&self, message: &Value) {
        assert_eq!(self.post_as(self.user, message).await, (202, "Accepted".to_owned()));
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.post(&request(method, params)).await;
        self.events.message().await
    }

    async fn begin(&mut self) {
        self.post(&initialize("2024-11-05", json!({"sampling": {}}))).await;
        assert_eq!(self.events.message().await["result"]["protocolVersion"], "2024-11-05");
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }
}

// MCP-SSE-01, MCP-SSE-02, MCP-SSE-03, MCP-SSE-07
#[tokio::test]
async fn messages_are_posted_and_answers_come_as_events() {
    let server = server([add(), offered("r", json!({"resource": "test://r"}), "r")]);
    let serving = serve(&server).await;
    let mut client = Old::open(&serving, None).await;
    client.begin().await;
    let called = client.ask("tools/call", json!({"name": "math_add", "arguments": {"a": 2, "b": 3}})).await;
    assert_eq!(called["result"], json!({"content": [{"type": "text", "text": "5"}]}));
    server.disable("math_add");
    assert_eq!(client.events.message().await["method"], "notifications/tools/list_changed");
    client.post(&json!("not a message")).await;
    assert_eq!(client.events.message().await["error"]["code"], -32600);
}

// MCP-SSE-03
#[tokio::test]
async fn questions_and_cancellations_work_over_two_paths() {
    let ask = text_tool("ask", |_, caller| async move { Ok(caller.sample("Hello?").await?.text()) });
    let (stuck, mut events) = stuck();
    let serving = serve(&server([ask, stuck])).await;
    let mut client = Old::open(&serving, None).await;
    client.begin().await;
    let asked = client.ask("tools/call", json!({"name": "ask"})).await;
    assert_eq!(asked["method"], "sampling/createMessage");
    let sampled = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}});
    client.post(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": sampled})).await;
    assert_eq!(text(&client.events.message().await["result"]), "hi");
    client.post(&request("tools/call", json!({"name": "stuck"}))).await;
    assert_eq!(within(events.recv()).await, Some("started"));
    client
        .post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    assert_eq!(within(events.recv()).await, Some("dropped"));
}

#[tokio::test]
async fn a_client_whose_stream_ends_is_gone() {
    let (stuck, mut events) = stuck();
    let serving = serve(&server([stuck])).await;
    let mut client = Old::open(&serving, None).await;
    client.begin().await;
    client.post(&request("tools/call", json!({"name": "stuck"}))).await;
    assert_eq!(within(events.recv()).await, Some("started"));
    let path = client.path.clone();
    drop(client);
    assert_eq!(within(events.recv()).await, Some("dropped"));
    let line = format!("POST {path}");
    let received = send(serving.address, &line, &[("content-type", "application/json")], Some("{}")).await;
    assert_eq!(received.status, 404);
}

// MCP-SEC-02, MCP-SSE-05
#[tokio::test]
async fn only_who_opened_the_stream_can_post() {
    let serving = serve(&server([add()])).await;
    let mut client = Old::open(&serving, Some("ann")).await;
    client.begin().await;
    let ping = request("ping", json!({}));
    for thief in [Some("bob"), None] {
        assert_eq!(client.post_as(thief, &ping).await.0, 404);
    }
    assert_eq!(client.post_as(Some("ann"), &ping).await.0, 202);
    for path in ["/messages", "/messages?sessionId=", "/messages?sessionId=unknown", "/messages?other=1"] {
        let line = format!("POST {path}");
        let received =
            send(serving.address, &line, &[("content-type", "application/json")], Some("{}")).await;
        assert_eq!(received.status, 404, "{path}");
    }
    let line = format!("POST {}", client.path);
    let received =
        send(serving.address, &line, &[("content-type", "text/plain"), ("x-user", "ann")], Some("{}")).await;
    assert_eq!(received.status, 415);
    let evil = [("content-type", "application/json"), ("origin", "http://evil.example"), ("x-user", "ann")];
    assert_eq!(send(serving.address, &line, &evil, Some("{}")).await.status, 403);
}
