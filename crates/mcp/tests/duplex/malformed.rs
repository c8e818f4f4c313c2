//! Messages that break the rules, and batches.

use serde_json::{Value, json};

use crate::client::{Client, alone};
use crate::fixtures::{add, server};

fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "math_add", "arguments": {"a": 1, "b": id}}})
}

// MCP-S-03, MCP-HTTP-17
#[tokio::test(start_paused = true)]
async fn only_2025_03_26_has_batches() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::session(&server([add()]), revision, json!({})).await;
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        client.send(&json!([call(7), notification, {"jsonrpc": "2.0", "id": "p", "method": "ping"}])).await;
        let answer = client.next().await;
        if revision == "2025-03-26" {
            assert_eq!(answer[0]["result"]["content"][0]["text"], "8");
            assert_eq!(answer[1], json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
            assert_eq!(answer.as_array().unwrap().len(), 2);
        } else {
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(-32600), &json!(null)),
                "{revision}"
            );
        }
        client.is_silent().await;
    }
}

// MCP-HTTP-17, MCP-L-01
#[tokio::test(start_paused = true)]
async fn batches_of_2025_03_26_may_be_empty_of_requests_but_not_empty() {
    let mut client = Client::session(&server([add()]), "2025-03-26", json!({})).await;
    client.send(&json!([])).await;
    assert_eq!(client.next().await["error"]["code"], -32600);
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}])).await;
    client.send(&json!([{"jsonrpc": "2.0", "id": 99, "result": {}}])).await;
    client.is_silent().await;
    client.send(&json!([call(1), 5])).await;
    let answers = client.next().await;
    assert_eq!(answers[1]["error"]["code"], -32600, "{answers}");
}

// MCP-L-01
#[tokio::test(start_paused = true)]
async fn a_session_does_not_begin_in_a_batch() {
    let mut client = Client::connect(&server([add()]));
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.send(&json!([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}])).await;
    assert_eq!(client.next().await["error"]["code"], -32600);
    assert_eq!(client.ask("tools/list", json!({})).await["error"]["code"], -32600);
}

// MCP-B-01, MCP-B-02, MCP-B-03, MCP-B-05
#[tokio::test(start_paused = true)]
async fn what_is_not_a_message_is_answered_and_the_connection_goes_on() {
    let mut client = Client::session(&server([add()]), "2025-11-25", json!({})).await;
    for (text, id, code) in [
        ("{", json!(null), -32700),
        ("\u{feff}nonsense", json!(null), -32700),
        ("5", json!(null), -32600),
        ("null", json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, json!(1), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["math_add"]}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, json!(1), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#, json!(1), -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math_add","arguments":[1,2]}}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math_add","arguments":"x"}}"#,
            json!(1),
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, json!(1), -32601),
    ] {
        client.send_text(text).await;
        let answer = client.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text}: {answer}");
        assert!(answer["error"]["message"].is_string());
    }
    client.is_silent().await;
}

// MCP-B-04
#[tokio::test(start_paused = true)]
async fn notifications_and_stray_responses_are_never_answered() {
    let mut client = Client::session(&server([add()]), "2025-11-25", json!({})).await;
    for message in [
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "math_add"}}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": []}),
        json!({"jsonrpc": "2.0", "method": "no/such"}),
        json!({"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "?"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": ["x"]}),
    ] {
        client.send(&message).await;
    }
    client.is_silent().await;
}

// MCP-B-02
#[tokio::test(start_paused = true)]
async fn identifiers_are_echoed_as_they_are() {
    let mut client = Client::session(&server([add()]), "2025-11-25", json!({})).await;
    for id in [json!(0), json!(-1), json!("1"), json!(""), json!("é\n"), json!(9_007_199_254_740_993_i64)] {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
        assert_eq!(client.next().await["id"], id);
        let params = alone(json!({}), json!({}));
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params})).await;
        assert_eq!(client.next().await["id"], id);
    }
}
