//! Requests that stand alone.

use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Method};
use switchboard_mcp::Server;
use switchboard_mcp::model::{Contents, Resource};

use crate::client::{Client, post, post_alone, send, within};
use crate::fixtures::{add, offered, returning, server, stuck, text, text_tool};
use crate::serving::serve;

/// What the vectors ask for.
fn fixtures() -> Server {
    let simple = Method::sync("test_simple_text", |_: Option<Json>, _| Ok::<_, ErrorObject>("text"));
    let missing =
        text_tool(
            "test_missing_capability",
            |_, caller| async move { Ok(caller.sample("Hello").await?.text()) },
        );
    server([
        returning(simple, json!({"type": "string"})),
        missing,
        offered("p", json!({"prompt": true}), "p"),
    ])
    .resource(Resource::new("test://static-text", "Text"), Contents::text("test://static-text", "text"))
}

// MCP-N-01, MCP-N-02, MCP-N-03, MCP-N-04, MCP-N-05, MCP-N-07, MCP-N-08, MCP-N-09, MCP-N-10, MCP-N-16, SEC-H-04
#[tokio::test]
async fn each_recorded_request_gets_the_recorded_answer() {
    let serving = serve(&fixtures()).await;
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../data/http_2026-07-28.json")).unwrap();
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        if name == "legacy initialize on a modern-only server" {
            // This one has sessions too.
            continue;
        }
        let headers = vector["headers"].as_object().unwrap();
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let body = vector["raw_body"].as_str().map(str::to_owned);
        let body = body.or_else(|| (!vector["body"].is_null()).then(|| vector["body"].to_string()));
        let line = format!("{} /mcp", vector["http"].as_str().unwrap());
        let received = send(serving.address, &line, &headers, body.as_deref()).await;
        let expected = &vector["expect"];
        assert_eq!(received.status, expected["status"].as_u64().unwrap() as u16, "{name}");
        for absent in expected["absent_response_headers"].as_array().into_iter().flatten() {
            assert_eq!(received.header(&absent.as_str().unwrap().to_lowercase()), None, "{name}");
        }
        let text = received.text().await;
        if expected["empty_body"] == true {
            assert_eq!(text, "", "{name}");
            continue;
        }
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        for member in ["code"] {
            if let Some(code) = expected.get(member) {
                assert_eq!(&answer["error"][member], code, "{name}: {text}");
            }
        }
        if let Some(id) = expected.get("id") {
            assert_eq!(&answer["id"], id, "{name}: {text}");
        }
        for member in expected["result_has"].as_array().into_iter().flatten() {
            assert!(answer["result"].get(member.as_str().unwrap()).is_some(), "{name}: {text}");
        }
        if let Some(path) = expected["data_path"].as_str() {
            let pointer = format!("/error/data/{}", path.replace('.', "/"));
            assert!(answer.pointer(&pointer).is_some(), "{name}: {text}");
        }
    }
}

// MCP-N-06
#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    let (stuck, mut events) = stuck();
    let serving = serve(&server([stuck])).await;
    let address = serving.address;
    let posted = tokio::spawn(async move {
        post_alone(address, &[], "tools/call", json!({"name": "stuck"}), json!({})).await.status
    });
    assert_eq!(within(events.recv()).await, Some("started"));
    posted.abort();
    assert_eq!(within(events.recv()).await, Some("dropped"));
}

// MCP-N-05, MCP-P-01, MCP-LOG-02
#[tokio::test]
async fn progress_and_logs_of_a_call_come_before_its_answer() {
    let busy = text_tool("busy", |_, caller| async move {
        caller.progress(1, 2).await;
        caller.log(switchboard_mcp::model::LogLevel::Warning, "watch out").await;
        Ok("done".to_owned())
    });
    let serving = serve(&server([busy])).await;
    let params =
        json!({"name": "busy", "_meta": {"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"}});
    let mut received = post_alone(serving.address, &[], "tools/call", params, json!({})).await;
    assert!(received.is_events());
    let event = received.event().await.unwrap();
    assert_eq!(
        (event.id.as_deref(), event.json()["method"].as_str()),
        (None, Some("notifications/progress"))
    );
    assert_eq!(received.message().await["params"]["data"], "watch out");
    assert_eq!(text(&received.message().await["result"]), "done");
    assert!(received.event().await.is_none());
    // A client that wants neither gets a plain answer.
    let received = post_alone(serving.address, &[], "tools/call", json!({"name": "busy"}), json!({})).await;
    assert!(!received.is_events());
}

// MCP-U-02, MCP-U-03, MCP-U-05
#[tokio::test]
async fn a_subscription_is_a_stream_until_the_client_leaves_or_the_server_stops() {
    let server = server([add()]);
    let serving = serve(&server).await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut one = post_alone(serving.address, &[], "subscriptions/listen", params.clone(), json!({})).await;
    let mut two = post_alone(serving.address, &[], "subscriptions/listen", params, json!({})).await;
    for stream in [&mut one, &mut two] {
        assert_eq!(stream.message().await["method"], "notifications/subscriptions/acknowledged");
    }
    server.disable("math_add");
    for stream in [&mut one, &mut two] {
        let changed = stream.message().await;
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    }
    drop(one);
    let stopping = tokio::spawn(serving.stop());
    let ended = two.message().await;
    assert_eq!(ended["result"]["resultType"], "complete", "{ended}");
    assert_eq!(ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    assert!(two.event().await.is_none());
    within(stopping).await.unwrap();
}

// MCP-R-05
#[tokio::test]
async fn a_state_of_another_caller_is_invalid() {
    let ask = text_tool("ask", |_, caller| async move {
        Ok(format!("{:?}", caller.elicit::<bool>("Sure?").key("sure").await?))
    });
    let serving = serve(&server([ask])).await;
    let capabilities = json!({"elicitation": {}});
    let user = |name| [("x-user", name)];
    let post = async |user: &[(&str, &str)], params| {
        post_alone(serving.address, user, "tools/call", params, capabilities.clone()).await.json().await
    };
    let first = post(&user("ann"), json!({"name": "ask"})).await;
    let answers = json!({"sure": {"action": "accept", "content": {"value": true}}});
    let again =
        json!({"name": "ask", "inputResponses": answers, "requestState": first["result"]["requestState"]});
    assert_eq!(post(&user("bob"), again.clone()).await["error"]["code"], -32602);
    assert_eq!(post(&[], again.clone()).await["error"]["code"], -32602);
    assert_eq!(text(&post(&user("ann"), again).await["result"]), "Accept(true)");
}

// MCP-X-06, MCP-N-01
#[tokio::test]
async fn requests_that_stand_alone_and_sessions_share_the_path() {
    let serving = serve(&server([add()])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    let call = json!({"name": "math_add", "arguments": {"a": 2, "b": 3}});
    // The session that a request names does not matter, even if it exists.
    let header = [("mcp-session-id", client.session.as_str())];
    let received = post_alone(serving.address, &header, "tools/call", call.clone(), json!({})).await;
    assert_eq!(received.header("mcp-session-id"), None);
    assert_eq!(received.json().await["result"]["structuredContent"], 5);
    assert_eq!(client.ask("tools/call", call).await["result"]["structuredContent"], json!({"result": 5}));
    assert_eq!(serving.route.sessions(), 1);
}

// MCP-N-09
#[tokio::test]
async fn responses_cannot_be_posted_without_a_session() {
    let serving = serve(&server([add()])).await;
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]),
        json!([]),
        json!(5),
    ] {
        for headers in [&[("mcp-protocol-version", "2026-07-28")][..], &[]] {
            let received = post(serving.address, headers, &message).await;
            assert_eq!(received.status, 400, "{message}");
            assert_eq!(received.json().await["error"]["code"], -32600, "{message}");
        }
    }
}
