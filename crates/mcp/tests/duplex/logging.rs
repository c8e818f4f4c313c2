//! Log messages.

use serde_json::json;
use switchboard_core::Method;
use switchboard_mcp::model::LogLevel;

use crate::client::{Client, alone};
use crate::fixtures::{server, tool};

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A tool that logs at every level.
fn logging() -> Method {
    tool("log", |_, caller| async move {
        for level in LEVELS {
            caller.log(level.parse::<LogLevel>().unwrap(), &json!({"at": level})).await;
        }
        Ok(())
    })
}

/// The messages of a call at these levels and no others, then the answer.
async fn expect(client: &mut Client, params: serde_json::Value, levels: &[&str]) {
    let id = client.request("tools/call", params).await;
    for level in levels {
        let message = client.notification("notifications/message").await;
        assert_eq!(message, json!({"level": level, "data": {"at": level}}));
    }
    assert_eq!(client.next().await["id"], id);
}

// MCP-LOG-01
#[tokio::test(start_paused = true)]
async fn a_session_gets_messages_from_its_level_on() {
    let server = server([logging()]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    let mut other = Client::session(&server, "2025-06-18", json!({})).await;
    expect(&mut client, json!({"name": "log"}), &LEVELS[1..]).await;
    for (from, level) in LEVELS.iter().enumerate() {
        assert_eq!(client.ask("logging/setLevel", json!({"level": level})).await["result"], json!({}));
        expect(&mut client, json!({"name": "log"}), &LEVELS[from..]).await;
    }
    expect(&mut other, json!({"name": "log"}), &LEVELS[1..]).await;
}

// MCP-LOG-01
#[tokio::test(start_paused = true)]
async fn an_unknown_level_is_invalid_and_changes_nothing() {
    let mut client = Client::session(&server([logging()]), "2025-06-18", json!({})).await;
    for params in [json!({"level": "loud"}), json!({"level": "ERROR"}), json!({"level": 3}), json!({})] {
        assert_eq!(client.ask("logging/setLevel", params).await["error"]["code"], -32602);
    }
    expect(&mut client, json!({"name": "log"}), &LEVELS[1..]).await;
}

// MCP-LOG-02
#[tokio::test(start_paused = true)]
async fn a_request_that_stands_alone_gets_messages_only_if_it_asks_for_them() {
    let mut client = Client::session(&server([logging()]), "2025-06-18", json!({})).await;
    client.ask("logging/setLevel", json!({"level": "debug"})).await;
    expect(&mut client, alone(json!({"name": "log"}), json!({})), &[]).await;
    let with = |level| {
        alone(json!({"name": "log", "_meta": {"io.modelcontextprotocol/logLevel": level}}), json!({}))
    };
    expect(&mut client, with("error"), &LEVELS[4..]).await;
    expect(&mut client, with("debug"), &LEVELS).await;
    assert_eq!(client.ask("tools/call", with("loud")).await["error"]["code"], -32602);
}
