//! The life of sessions.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_mcp::HttpOptions;

use crate::client::{Client, initialize, post, request, send, within};
use crate::fixtures::{add, server};
use crate::serving::{serve, serve_with};

fn call() -> Value {
    request("tools/call", json!({"name": "math_add", "arguments": {"a": 2, "b": 3}}))
}

// MCP-HTTP-01, MCP-HTTP-04, MCP-HTTP-05, MCP-HTTP-12
#[tokio::test]
async fn a_session_lasts_from_initialize_to_delete() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    assert!(client.session.len() >= 16 && client.session.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    let received = client.post(&call()).await;
    assert_eq!((received.status, received.header("content-type")), (200, Some("application/json")));
    assert_eq!(received.json().await["result"]["structuredContent"], json!({"result": 5}));
    // Responses and notifications are accepted without a body.
    for message in [
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/unheard"}),
    ] {
        let received = client.post(&message).await;
        assert_eq!((received.status, received.text().await.as_str()), (202, ""), "{message}");
    }
    assert_eq!(serving.route.sessions(), 1);
    assert_eq!(client.delete().await.status, 200);
    assert_eq!(serving.route.sessions(), 0);
    for received in [client.post(&call()).await, client.get(None).await, client.delete().await] {
        assert_eq!(received.status, 404);
    }
}

// MCP-HTTP-12, MCP-HTTP-15
#[tokio::test]
async fn a_session_is_needed_and_has_to_be_known() {
    let serving = serve(&server([add()])).await;
    let address = serving.address;
    let answer = post(address, &[], &call()).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json().await["id"], 1);
    for id in ["unknown", "x y", "é", ""] {
        let received = post(address, &[("mcp-session-id", id)], &call()).await;
        assert!(matches!(received.status, 400 | 404), "{id}: {}", received.status);
    }
    let received = post(address, &[("mcp-session-id", "unknown")], &call()).await;
    assert_eq!((received.status, received.json().await["error"]["code"].clone()), (404, json!(-32001)));
    // Without a session, only POST is of use.
    for line in ["GET /mcp", "DELETE /mcp"] {
        let received = send(address, line, &[("accept", "text/event-stream")], None).await;
        assert_eq!((received.status, received.header("allow")), (405, Some("POST")), "{line}");
    }
    let received = send(address, "PUT /mcp", &[("content-type", "application/json")], Some("{}")).await;
    assert_eq!(received.status, 405);
    assert_eq!(received.header("allow"), Some("GET, POST, DELETE"));
}

// MCP-HTTP-12
#[tokio::test]
async fn a_failed_initialize_leaves_no_session() {
    let serving = serve(&server([add()])).await;
    for message in [
        request("initialize", json!({})),
        request("initialize", json!({"protocolVersion": 5})),
        json!({"jsonrpc": "2.0", "method": "initialize", "params": initialize("2025-06-18", json!({}))["params"]}),
        json!([initialize("2025-03-26", json!({}))]),
    ] {
        let received = post(serving.address, &[], &message).await;
        assert_eq!(received.header("mcp-session-id"), None, "{message}");
        assert!(matches!(received.status, 200 | 202 | 400), "{}", received.status);
    }
    assert_eq!(serving.route.sessions(), 0);
}

// MCP-HTTP-15
#[tokio::test]
async fn a_second_initialize_in_a_session_is_a_bad_request() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    let received = client.post(&initialize("2025-11-25", json!({}))).await;
    assert_eq!((received.status, received.json().await["error"]["code"].clone()), (400, json!(-32600)));
    assert_eq!(client.post(&call()).await.status, 200);
}

// MCP-SEC-02, MCP-HTTP-12
#[tokio::test]
async fn a_session_of_another_caller_does_not_exist() {
    let serving = serve(&server([add()])).await;
    let ann = Client::session_of(serving.address, "2025-06-18", json!({}), Some("ann")).await;
    for thief in [Some("bob"), None] {
        let thief = Client { user: thief, ..ann.clone() };
        for received in [thief.post(&call()).await, thief.get(None).await, thief.delete().await] {
            assert_eq!(received.status, 404);
        }
    }
    assert_eq!(ann.post(&call()).await.status, 200);
}

// MCP-HTTP-13
#[tokio::test]
async fn the_version_in_the_header_has_to_be_that_of_the_session() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    for (version, status) in [
        (Some("2025-06-18"), 200),
        (None, 200),
        (Some("2025-11-25"), 400),
        (Some("2026-07-28"), 400),
        (Some("1999-01-01"), 400),
        (Some("nonsense"), 400),
    ] {
        let mut headers = vec![("mcp-session-id", client.session.as_str())];
        headers.extend(version.map(|version| ("mcp-protocol-version", version)));
        assert_eq!(post(serving.address, &headers, &call()).await.status, status, "{version:?}");
    }
}

// MCP-HTTP-03, MCP-HTTP-17
#[tokio::test]
async fn only_sessions_of_2025_03_26_post_batches() {
    let serving = serve(&server([add()])).await;
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = Client::session(serving.address, revision, json!({})).await;
        let received = client.post(&json!([call(), note, ping])).await;
        if revision == "2025-03-26" {
            assert_eq!(received.status, 200);
            let answers = received.json().await;
            assert_eq!(answers.as_array().unwrap().len(), 2, "{answers}");
            assert_eq!(client.post(&json!([note, note])).await.status, 202);
            assert_eq!(client.post(&json!([{"jsonrpc": "2.0", "id": 9, "result": {}}])).await.status, 202);
            let empty = client.post(&json!([])).await;
            assert_eq!(empty.json().await["error"]["code"], -32600);
        } else {
            assert_eq!(
                (received.status, received.json().await["error"]["code"].clone()),
                (400, json!(-32600))
            );
        }
    }
}

// MCP-HTTP-02, MCP-HTTP-15
#[tokio::test]
async fn bodies_that_are_not_messages_are_bad_requests() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let headers = |kind, accept| {
        [("content-type", kind), ("accept", accept), ("mcp-session-id", client.session.as_str())]
    };
    let both = "application/json, text/event-stream";
    for (kind, accept, body, status, code) in [
        ("application/json", both, "{", 400, -32700),
        ("application/json", both, "", 400, -32700),
        ("application/json", both, "5", 400, -32600),
        ("application/json", both, "{}", 400, -32600),
        ("application/json", both, r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600),
        ("application/json", both, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600),
        (
            "application/json",
            both,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
            400,
            -32600,
        ),
        ("text/plain", both, "{}", 415, -32000),
        ("application/json", "application/json", "{}", 406, -32000),
        ("application/json", "text/html", "{}", 406, -32000),
    ] {
        let received = send(serving.address, "POST /mcp", &headers(kind, accept), Some(body)).await;
        assert_eq!(received.status, status, "{body}");
        assert_eq!(received.json().await["error"]["code"], code, "{body}");
    }
}

// MCP-HTTP-14, MCP-SEC-01
#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let evil = ("origin", "http://evil.example");
    let session = ("mcp-session-id", client.session.as_str());
    assert_eq!(post(serving.address, &[evil, session], &call()).await.status, 403);
    for (line, accept) in
        [("GET /mcp", "text/event-stream"), ("DELETE /mcp", "*/*"), ("GET /sse", "text/event-stream")]
    {
        let received = send(serving.address, line, &[evil, session, ("accept", accept)], None).await;
        assert_eq!(received.status, 403, "{line}");
    }
    assert_eq!(serving.route.sessions(), 1);
}

#[tokio::test]
async fn sessions_are_bounded_and_the_one_idle_for_the_longest_time_goes_first() {
    let options = HttpOptions::default().with_sessions(3);
    let serving = serve_with(&server([add()]), options, "127.0.0.1:0").await;
    let used = Client::session(serving.address, "2025-06-18", json!({})).await;
    let open = used.get(None).await;
    let mut idle = Vec::new();
    for _ in 0..10 {
        idle.push(Client::session(serving.address, "2025-06-18", json!({})).await);
        assert!(serving.route.sessions() <= 3);
    }
    assert_eq!(used.post(&call()).await.status, 200, "it has an open stream");
    assert_eq!(idle[0].post(&call()).await.status, 404);
    assert_eq!(idle[9].post(&call()).await.status, 200);
    drop(open);
}

#[tokio::test]
async fn an_idle_session_ends_by_itself() {
    let options = HttpOptions::default().with_session_time(Duration::from_millis(300));
    let serving = serve_with(&server([add()]), options, "127.0.0.1:0").await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    let ended = async {
        while serving.route.sessions() > 0 {
            tokio::task::yield_now().await;
        }
    };
    within(ended).await;
    assert_eq!(client.post(&call()).await.status, 404);
}

#[tokio::test]
async fn a_session_in_use_is_not_replaced() {
    let options = HttpOptions::default().with_sessions(1);
    let serving = serve_with(&server([add()]), options, "127.0.0.1:0").await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let stream = client.get(None).await;
    assert_eq!(stream.status, 200);
    let refused = post(serving.address, &[], &initialize("2025-11-25", json!({}))).await;
    assert_eq!((refused.status, refused.header("mcp-session-id")), (503, None));
    assert_eq!(client.post(&call()).await.status, 200);
    drop(stream);
}

// MCP-HTTP-12: a client that gets 404 begins a new session.
#[tokio::test]
async fn an_unknown_method_does_not_look_like_the_end_of_a_session() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    for (method, code) in [("unheard/of", -32601), ("prompts/list", -32601), ("tools/call", -32602)] {
        let received = client.post(&request(method, json!({}))).await;
        assert_eq!(received.status, 200, "{method}");
        assert_eq!(received.json().await["error"]["code"], code, "{method}");
    }
}
