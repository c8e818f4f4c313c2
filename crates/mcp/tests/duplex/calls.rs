//! Calls that take time: cancelled, reported, limited, failing.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Method, MethodDescription, ResultDescription};
use tokio::time::Instant;

use crate::client::{Client, alone, everything};
use crate::fixtures::{add, server, stuck, text, text_tool, tool};

// MCP-C-01, MCP-S-06
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_dropped_and_not_answered_in_either_era() {
    for modern in [false, true] {
        let (stuck, mut events) = stuck();
        let mut client = Client::session(&server([stuck, add()]), "2025-11-25", json!({})).await;
        let mut params = json!({"name": "stuck"});
        if modern {
            params = alone(params, json!({}));
        }
        let id = client.request("tools/call", params).await;
        assert_eq!(events.recv().await, Some("started"));
        client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"})).await;
        assert_eq!(events.recv().await, Some("dropped"));
        client.is_silent().await;
    }
}

// MCP-C-01
#[tokio::test(start_paused = true)]
async fn cancellations_that_name_nothing_are_ignored() {
    let (stuck, mut events) = stuck();
    let mut client = Client::session(&server([stuck, add()]), "2025-11-25", json!({})).await;
    client.request("tools/call", json!({"name": "stuck"})).await;
    assert_eq!(events.recv().await, Some("started"));
    for params in [
        json!({"requestId": 99}),
        json!({"requestId": "2"}),
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": {}}),
    ] {
        client.notify("notifications/cancelled", params).await;
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"})).await;
    client.is_silent().await;
    assert!(events.try_recv().is_err(), "the call goes on");
}

// MCP-L-10
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_ends_its_calls() {
    let (stuck, mut events) = stuck();
    let mut client = Client::session(&server([stuck]), "2025-11-25", json!({})).await;
    client.request("tools/call", json!({"name": "stuck"})).await;
    assert_eq!(events.recv().await, Some("started"));
    drop(client);
    assert_eq!(events.recv().await, Some("dropped"));
}

fn reporting() -> Method {
    text_tool("report", |_, caller| async move {
        // Neither the third nor what is not a number increases.
        for done in [1.0, 2.5, 2.5, f64::NAN, 3.0] {
            caller.progress(done, 3).await;
        }
        Ok("done".to_owned())
    })
}

// MCP-P-01
#[tokio::test(start_paused = true)]
async fn progress_increases_and_ends_with_the_answer() {
    for token in [json!(7), json!("t"), json!("")] {
        for modern in [false, true] {
            let mut client = Client::session(&server([reporting()]), "2025-06-18", json!({})).await;
            let mut params = json!({"name": "report", "_meta": {"progressToken": token}});
            if modern {
                params = alone(params, json!({}));
            }
            let id = client.request("tools/call", params).await;
            for done in [json!(1), json!(2.5), json!(3)] {
                let progress = client.notification("notifications/progress").await;
                assert_eq!(progress, json!({"progressToken": token, "progress": done, "total": 3}));
            }
            assert_eq!(client.next().await["id"], id);
            client.is_silent().await;
        }
    }
}

// MCP-P-01
#[tokio::test(start_paused = true)]
async fn without_a_token_no_progress_is_sent() {
    let mut client = Client::session(&server([reporting()]), "2025-06-18", json!({})).await;
    assert_eq!(text(&client.call("report", json!({})).await), "done");
    // A token is a string or a number.
    for token in [json!(null), json!({}), json!([1]), json!(true)] {
        let params = json!({"name": "report", "_meta": {"progressToken": token}});
        let answer = client.ask("tools/call", params).await;
        assert_eq!(text(&answer["result"]), "done", "{token}");
    }
}

fn counting(item: Value) -> Method {
    #[derive(Deserialize)]
    struct To {
        to: u8,
    }
    let stream = Method::stream("count", move |To { to }, _| {
        futures_util::stream::iter((1..=to).map(|n| format!("{n} ")))
    });
    stream.described(move |_| {
        let to = switchboard_core::ParamDescription::required("to", json!({"type": "integer"}));
        MethodDescription::documented("Counts.").param(to).result(ResultDescription::Stream(item.clone()))
    })
}

// MCP-P-01
#[tokio::test(start_paused = true)]
async fn the_items_of_a_stream_are_progress_and_together_the_result() {
    let mut client =
        Client::session(&server([counting(json!({"type": "string"}))]), "2025-06-18", json!({})).await;
    let params = json!({"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "t"}});
    client.request("tools/call", params).await;
    for n in 1..=3 {
        let progress = client.notification("notifications/progress").await;
        assert_eq!(progress, json!({"progressToken": "t", "progress": n, "message": format!("{n} ")}));
    }
    assert_eq!(text(&client.next().await["result"]), "1 2 3 ");
    // The oldest revision has no messages with progress.
    let mut client = Client::session(&server([counting(json!({}))]), "2024-11-05", json!({})).await;
    let params = json!({"name": "count", "arguments": {"to": 1}, "_meta": {"progressToken": "t"}});
    client.request("tools/call", params).await;
    assert_eq!(
        client.notification("notifications/progress").await,
        json!({"progressToken": "t", "progress": 1})
    );
    assert_eq!(text(&client.next().await["result"]), r#"["1 "]"#);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_is_an_internal_error_and_the_connection_goes_on() {
    let panics = tool("panics", |arguments, _| async move {
        if arguments.is_null() { panic!("a secret") } else { Ok(()) }
    });
    let at_once = Method::sync("panics_at_once", |_: Option<Json>, _| -> Result<(), ErrorObject> {
        panic!("a secret")
    });
    let mut client = Client::session(&server([panics, at_once, add()]), "2025-11-25", json!({})).await;
    for tool in ["panics", "panics_at_once"] {
        for params in [json!({"name": tool}), alone(json!({"name": tool}), json!({}))] {
            let answer = client.ask("tools/call", params).await;
            assert_eq!(answer["error"]["code"], -32603, "{answer}");
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
    }
    assert_eq!(text(&client.call("math_add", json!({"a": 1, "b": 1})).await), "2");
}

// MCP-L-09
#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_fails_with_an_error_for_the_model() {
    let (stuck, mut events) = stuck();
    let server = server([stuck]).call_time(Duration::from_secs(3));
    let mut client = Client::session(&server, "2025-11-25", json!({})).await;
    let start = Instant::now();
    let result = client.call("stuck", json!({})).await;
    assert_eq!(start.elapsed().as_secs(), 3);
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!((events.recv().await, events.recv().await), (Some("started"), Some("dropped")));
}

// MCP-L-09
#[tokio::test(start_paused = true)]
async fn the_time_that_a_tool_waits_for_its_client_does_not_count() {
    let waits = text_tool("waits", |_, caller| async move {
        tokio::time::sleep_until(Instant::now() + Duration::from_secs(2)).await;
        let sampled = caller.sample("Go on?").await?;
        tokio::time::sleep_until(Instant::now() + Duration::from_secs(2)).await;
        Ok(sampled.text())
    });
    let server = server([waits]).call_time(Duration::from_secs(5));
    let mut client = Client::session(&server, "2025-11-25", everything()).await;
    let id = client.request("tools/call", json!({"name": "waits"})).await;
    let asked = client.next().await;
    tokio::time::sleep_until(Instant::now() + Duration::from_secs(300)).await;
    let sampled = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": sampled})).await;
    let answer = client.next().await;
    assert_eq!((&answer["id"], text(&answer["result"])), (&json!(id), "yes"));
}

#[tokio::test(start_paused = true)]
async fn many_calls_at_once_get_their_own_answers() {
    let sleepy = text_tool("sleepy", |arguments, _| async move {
        let n = arguments["n"].as_u64().unwrap();
        tokio::time::sleep_until(Instant::now() + Duration::from_millis(100 - n)).await;
        Ok(n.to_string())
    });
    let mut client = Client::session(&server([sleepy]), "2025-11-25", json!({})).await;
    let mut expected = std::collections::HashMap::new();
    for n in 0..64 {
        let id = client.request("tools/call", json!({"name": "sleepy", "arguments": {"n": n}})).await;
        expected.insert(id, n.to_string());
    }
    for _ in 0..64 {
        let answer = client.next().await;
        assert_eq!(expected.remove(&answer["id"].as_u64().unwrap()).unwrap(), text(&answer["result"]));
    }
}
