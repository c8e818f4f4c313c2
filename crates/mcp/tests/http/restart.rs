//! A server that is stopped and started again.

use serde_json::json;
use switchboard_mcp::{HttpOptions, StateKeys};
use tokio::sync::watch;

use crate::client::{Client, post_alone, request, within};
use crate::fixtures::{add, server, text, text_tool};
use crate::serving::{serve, serve_with};

// MCP-HTTP-12
#[tokio::test]
async fn after_a_restart_sessions_are_gone_and_clients_start_anew() {
    let serving = serve(&server([add()])).await;
    let address = serving.address;
    let client = Client::session(address, "2025-11-25", json!({})).await;
    let mut stream = client.get(None).await;
    let stopping = tokio::spawn(serving.stop());
    assert!(stream.event().await.is_none(), "the stream ends");
    within(stopping).await.unwrap();
    let serving = serve_with(&server([add()]), HttpOptions::default(), &address.to_string()).await;
    assert_eq!(client.post(&request("ping", json!({}))).await.status, 404);
    assert_eq!(client.get(Some("1-1")).await.status, 404);
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_stopping_server_lets_calls_finish() {
    let (open, gate) = watch::channel(false);
    let gated = text_tool("gated", move |_, caller| {
        let mut gate = gate.clone();
        async move {
            caller.progress(1, 2).await;
            gate.wait_for(|is_open| *is_open).await.unwrap();
            Ok("done".to_owned())
        }
    });
    let serving = serve(&server([gated])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let params = json!({"name": "gated", "_meta": {"progressToken": 1}});
    let mut old = client.post(&request("tools/call", params.clone())).await;
    let mut new = post_alone(serving.address, &[], "tools/call", params, json!({})).await;
    for stream in [&mut old, &mut new] {
        assert_eq!(stream.message().await["method"], "notifications/progress");
    }
    let stopping = tokio::spawn(serving.stop());
    open.send(true).unwrap();
    for stream in [&mut old, &mut new] {
        assert_eq!(text(&stream.message().await["result"]), "done");
        assert!(stream.event().await.is_none());
    }
    within(stopping).await.unwrap();
}

// MCP-M-01, MCP-R-05
#[tokio::test]
async fn a_call_in_rounds_survives_a_restart_if_the_key_does() {
    let make = || {
        let ask = text_tool("ask", |_, caller| async move {
            Ok(format!("{:?}", caller.elicit::<bool>("Sure?").key("sure").await?))
        });
        server([ask]).state_keys(StateKeys::new([[7; 32]]).unwrap())
    };
    let capabilities = json!({"elicitation": {}});
    let serving = serve(&make()).await;
    let first =
        post_alone(serving.address, &[], "tools/call", json!({"name": "ask"}), capabilities.clone()).await;
    let state = first.json().await["result"]["requestState"].clone();
    serving.stop().await;
    let serving = serve(&make()).await;
    let answers = json!({"sure": {"action": "accept", "content": {"value": true}}});
    let params = json!({"name": "ask", "inputResponses": answers, "requestState": state});
    let answer = post_alone(serving.address, &[], "tools/call", params, capabilities).await.json().await;
    assert_eq!(text(&answer["result"]), "Accept(true)");
}
