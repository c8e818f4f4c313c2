//! Event streams: of answers, of sessions, and resumed ones.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::Method;
use tokio::sync::{mpsc, oneshot, watch};

use crate::client::{Client, Received, request, within};
use crate::fixtures::{add, offered, server, stuck, text, text_tool};
use crate::serving::serve;

/// A tool that reports progress, waits until it is let go on, reports again and returns.
fn gated() -> (Method, watch::Sender<bool>) {
    let (open, gate) = watch::channel(false);
    let method = text_tool("gated", move |_, caller| {
        let mut gate = gate.clone();
        async move {
            caller.progress(1, 2).await;
            gate.wait_for(|is_open| *is_open).await.unwrap();
            caller.progress(2, 2).await;
            Ok("done".to_owned())
        }
    });
    (method, open)
}

fn call(tool: &str) -> Value {
    request("tools/call", json!({"name": tool, "_meta": {"progressToken": "t"}}))
}

/// Reads up to the first message, and gives its event id.
async fn first(received: &mut Received) -> String {
    loop {
        let event = received.event().await.unwrap();
        if event.data.as_deref() != Some("") {
            assert_eq!(event.json()["method"], "notifications/progress");
            return event.id.unwrap();
        }
    }
}

// MCP-HTTP-06, MCP-HTTP-16
#[tokio::test]
async fn an_answer_with_messages_before_it_is_an_event_stream_that_ends() {
    let (gated, open) = gated();
    let serving = serve(&server([gated])).await;
    for (revision, is_primed) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        open.send(true).unwrap();
        let client = Client::session(serving.address, revision, json!({})).await;
        let mut received = client.post(&call("gated")).await;
        assert!(received.is_events());
        assert_eq!(received.header("cache-control"), Some("no-cache, no-transform"));
        assert_eq!(received.header("x-accel-buffering"), Some("no"));
        if is_primed {
            // MCP-HTTP-11
            let event = received.event().await.unwrap();
            assert!(event.id.is_some() && event.data.as_deref() == Some(""), "{event:?}");
        }
        let mut ids = Vec::new();
        for progress in [1, 2] {
            let event = received.event().await.unwrap();
            assert_eq!(event.name.as_deref(), Some("message"));
            assert_eq!(event.json()["params"]["progress"], progress);
            ids.push(event.id.unwrap());
        }
        let event = received.event().await.unwrap();
        assert_eq!(text(&event.json()["result"]), "done");
        ids.push(event.id.unwrap());
        ids.dedup();
        assert_eq!(ids.len(), 3);
        assert!(received.event().await.is_none(), "the stream ends with the answer");
    }
}

// MCP-HTTP-07, MCP-HTTP-10
#[tokio::test]
async fn a_client_that_was_cut_off_gets_the_rest_of_its_stream_and_of_no_other() {
    let (gated, open) = gated();
    let serving = serve(&server([gated, add(), offered("r", json!({"resource": "test://r"}), "r")])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let (mut one, mut two) = (client.post(&call("gated")).await, client.post(&call("gated")).await);
    let (id_one, id_two) = (first(&mut one).await, first(&mut two).await);
    assert_ne!(id_one, id_two);
    drop(one);
    let mut resumed = client.get(Some(&id_one)).await;
    assert!(resumed.is_events());
    open.send(true).unwrap();
    let progress = resumed.message().await;
    assert_eq!(progress["params"]["progress"], 2, "{progress}");
    let answer = resumed.message().await;
    assert_eq!(text(&answer["result"]), "done");
    assert!(resumed.event().await.is_none());
    // The other one was read all the time.
    assert_eq!(two.message().await["params"]["progress"], 2);
    assert_eq!(text(&two.message().await["result"]), "done");
    // The answer stays for a while, for a client that is cut off again.
    let mut again = client.get(Some(&id_one)).await;
    assert_eq!(again.message().await["params"]["progress"], 2);
    assert_eq!(text(&again.message().await["result"]), "done");
    assert!(again.event().await.is_none());
}

// MCP-HTTP-06
#[tokio::test]
async fn two_clients_in_one_session_with_equal_ids_get_their_own_answers() {
    let (gated, open) = gated();
    let serving = serve(&server([gated, add()])).await;
    let one = Client::session(serving.address, "2025-11-25", json!({})).await;
    let two = one.clone();
    let mut slow = one.post(&call("gated")).await;
    first(&mut slow).await;
    let sum = request("tools/call", json!({"name": "math_add", "arguments": {"a": 2, "b": 3}}));
    assert_eq!(sum["id"], call("gated")["id"]);
    let quick = two.post(&sum).await.answer().await;
    assert_eq!(text(&quick["result"]), "5");
    open.send(true).unwrap();
    assert_eq!(slow.message().await["params"]["progress"], 2);
    assert_eq!(text(&slow.message().await["result"]), "done");
}

// MCP-HTTP-10
#[tokio::test]
async fn an_event_of_another_session_resumes_nothing() {
    let (gated, open) = gated();
    let serving = serve(&server([gated])).await;
    let one = Client::session(serving.address, "2025-11-25", json!({})).await;
    let two = Client::session(serving.address, "2025-11-25", json!({})).await;
    let mut received = one.post(&call("gated")).await;
    let id = first(&mut received).await;
    drop(received);
    let mut other = two.get(Some(&id)).await;
    assert!(other.is_events(), "it is the stream of the session");
    open.send(true).unwrap();
    assert_eq!(text(&one.get(Some(&id)).await.answer().await["result"]), "done");
    assert_eq!(two.delete().await.status, 200);
    assert!(other.event().await.is_none(), "nothing came");
}

// MCP-HTTP-07
#[tokio::test]
async fn a_call_of_a_session_goes_on_when_its_client_leaves_and_is_cancelled_by_a_message() {
    let (stuck, mut events) = stuck();
    let (gated, _open) = gated();
    let serving = serve(&server([stuck, gated])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let poster = client.clone();
    let posted = tokio::spawn(async move { poster.post(&call("stuck")).await.status });
    assert_eq!(within(events.recv()).await, Some("started"));
    posted.abort();
    let _ = posted.await;
    // A request after it was seen, so the server has noticed that the connection closed.
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert!(events.try_recv().is_err(), "the call goes on");
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(client.post(&cancelled).await.status, 202);
    assert_eq!(within(events.recv()).await, Some("dropped"));
}

// MCP-C-01
#[tokio::test]
async fn the_answer_to_a_cancelled_call_ends_without_a_message() {
    let (stuck, mut events) = stuck();
    let serving = serve(&server([stuck])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    let poster = client.clone();
    let posted = tokio::spawn(async move {
        let received = poster.post(&call("stuck")).await;
        (received.status, received.text().await)
    });
    assert_eq!(within(events.recv()).await, Some("started"));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.post(&cancelled).await;
    let (status, text) = within(posted).await.unwrap();
    assert!(matches!(status, 200 | 202), "{status}");
    assert!(!text.contains("jsonrpc"), "{text}");
}

// MCP-HTTP-08, MCP-HTTP-09
#[tokio::test]
async fn what_belongs_to_no_request_goes_to_the_newest_stream_of_the_session() {
    let server = server([add(), offered("r", json!({"resource": "test://r"}), "r")]);
    let serving = serve(&server).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let other = Client::session(serving.address, "2025-11-25", json!({})).await;
    client.ask("resources/subscribe", json!({"uri": "test://r"})).await;
    let mut one = client.get(None).await;
    assert!(one.is_events());
    let mut others = other.get(None).await;
    server.updated("test://r");
    assert_eq!(one.message().await["params"]["uri"], "test://r");
    let mut two = client.get(None).await;
    assert!(one.event().await.is_none(), "the older one has ended");
    server.updated("test://r");
    assert_eq!(two.message().await["method"], "notifications/resources/updated");
    // The other session hears of lists only.
    server.disable("math_add");
    assert_eq!(others.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(two.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(client.delete().await.status, 200);
    assert!(two.event().await.is_none(), "it ends with its session");
}

// MCP-HTTP-10
#[tokio::test]
async fn the_stream_of_a_session_is_resumed_where_it_broke() {
    let server = server([add(), offered("r", json!({"resource": "test://r"}), "r")]);
    let serving = serve(&server).await;
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    let mut one = client.get(None).await;
    server.disable("math_add");
    let event = one.event().await.unwrap();
    let id = event.id.unwrap();
    server.enable("math_add").unwrap();
    let second = one.event().await.unwrap();
    drop(one);
    let mut two = client.get(Some(&id)).await;
    let replayed = two.event().await.unwrap();
    assert_eq!((replayed.id, replayed.data), (second.id, second.data));
    server.disable("math_add");
    let third = two.event().await.unwrap();
    assert_eq!(third.json()["method"], "notifications/tools/list_changed");
    assert_ne!(third.id.as_deref(), Some(id.as_str()));
    // Identifiers that name nothing open a new stream.
    for unknown in ["9999-1", "nonsense", "-", "1"] {
        assert!(client.get(Some(unknown)).await.is_events());
    }
}

// MCP-HTTP-11
#[tokio::test]
async fn a_tool_may_send_its_client_away_to_come_back_for_the_answer() {
    let (open, gate) = watch::channel(false);
    let patient = text_tool("patient", move |_, caller| {
        let mut gate = gate.clone();
        async move {
            caller.close_stream(Duration::from_millis(250));
            gate.wait_for(|is_open| *is_open).await.unwrap();
            Ok("at last".to_owned())
        }
    });
    let serving = serve(&server([patient])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let mut received = client.post(&call("patient")).await;
    let (mut id, mut retry) = (None, None);
    while let Some(event) = received.event().await {
        assert_eq!(event.data.as_deref(), Some(""));
        id = event.id.or(id);
        retry = event.retry.or(retry);
    }
    assert_eq!(retry.as_deref(), Some("250"));
    let mut resumed = client.get(id.as_deref()).await;
    open.send(true).unwrap();
    assert_eq!(text(&resumed.message().await["result"]), "at last");
    // Clients of older revisions cannot be sent away: the connection stays.
    let client = Client::session(serving.address, "2025-06-18", json!({})).await;
    assert_eq!(text(&client.ask("tools/call", json!({"name": "patient"})).await["result"]), "at last");
}

// MCP-HTTP-06, MCP-SA-01
#[tokio::test]
async fn a_question_goes_into_the_answer_of_its_call_and_the_response_is_posted() {
    let ask = text_tool("ask", |_, caller| async move { Ok(caller.sample("Hello?").await?.text()) });
    let serving = serve(&server([ask])).await;
    let client = Client::session(serving.address, "2025-06-18", json!({"sampling": {}})).await;
    let other = Client::session(serving.address, "2025-06-18", json!({"sampling": {}})).await;
    let mut general = client.get(None).await;
    let mut received = client.post(&request("tools/call", json!({"name": "ask"}))).await;
    let asked = received.message().await;
    assert_eq!(asked["method"], "sampling/createMessage");
    let sampled = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}});
    let response = json!({"jsonrpc": "2.0", "id": asked["id"], "result": sampled});
    // Another session cannot answer it.
    let mut forged = response.clone();
    forged["result"]["content"]["text"] = json!("forged");
    assert_eq!(other.post(&forged).await.status, 202);
    assert_eq!(client.post(&response).await.status, 202);
    assert_eq!(text(&received.message().await["result"]), "hi");
    assert_eq!(client.delete().await.status, 200);
    assert!(general.event().await.is_none(), "nothing went to the stream of the session");
}

// GHSA-345p-7cg4-v4c7: one server for many clients must not mix up their answers.
#[tokio::test]
async fn answers_never_reach_another_client() {
    let (sender, mut started) = mpsc::unbounded_channel::<(String, oneshot::Sender<()>)>();
    let slow = text_tool("slow", move |arguments, caller| {
        let sender = sender.clone();
        async move {
            let name = arguments["name"].as_str().unwrap().to_owned();
            caller.progress_with(1, None, &name).await;
            let (go, gone) = oneshot::channel();
            sender.send((name.clone(), go)).unwrap();
            gone.await.unwrap();
            Ok(name)
        }
    });
    let serving = serve(&server([slow])).await;
    let mut streams = Vec::new();
    for n in 0..8 {
        let client = Client::session(serving.address, "2025-06-18", json!({})).await;
        let params =
            json!({"name": "slow", "arguments": {"name": format!("n{n}")}, "_meta": {"progressToken": 1}});
        streams.push((n, client.post(&request("tools/call", params)).await));
    }
    let mut waiting = Vec::new();
    for _ in 0..8 {
        waiting.push(within(started.recv()).await.unwrap());
    }
    for (_, go) in waiting.into_iter().rev() {
        go.send(()).unwrap();
    }
    for (n, mut stream) in streams {
        assert_eq!(stream.message().await["params"]["message"], format!("n{n}"));
        assert_eq!(text(&stream.message().await["result"]), format!("n{n}"));
    }
}

#[tokio::test]
async fn deleting_a_session_ends_its_calls_and_streams() {
    let (stuck, mut events) = stuck();
    let (gated, _open) = gated();
    let serving = serve(&server([stuck, gated])).await;
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    let mut received = client.post(&call("gated")).await;
    let id = first(&mut received).await;
    drop(received);
    let mut resumed = client.get(Some(&id)).await;
    let poster = client.clone();
    let posted = tokio::spawn(async move { poster.post(&call("stuck")).await.text().await });
    assert_eq!(within(events.recv()).await, Some("started"));
    assert_eq!(client.delete().await.status, 200);
    assert_eq!(within(events.recv()).await, Some("dropped"));
    within(posted).await.unwrap();
    assert!(resumed.event().await.is_none());
}
