//! A server in front of another one over HTTP, which it knows with sessions or without.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use switchboard_core::{Call, ErrorObject, Method, Outcome, Service};
use switchboard_mcp::adapt::Methods;
use switchboard_mcp::model::Revision;
use switchboard_mcp::{Connector, Server};
use switchboard_transport::Dial;
use tokio::sync::Semaphore;

use crate::client::{Client, everything, post_alone, request, within};
use crate::fixtures::{server, text, text_tool};
use crate::serving::{Serving, serve};

/// The methods of this server, which is known in the older era, or in the newer one.
async fn methods(behind: &Serving, is_old: bool) -> Methods {
    let path = if is_old { "old" } else { "mcp" };
    let client = Connector::default().connect(&format!("http://{}/{path}", behind.address)).await.unwrap();
    let revision = if is_old { Revision::V2025_11_25 } else { Revision::V2026_07_28 };
    assert_eq!(client.revision(), revision);
    Methods::of(&client).await.unwrap()
}

async fn front(behind: &Serving, is_old: bool) -> Serving {
    serve(&Server::new(methods(behind, is_old).await).named("front", "1.0.0")).await
}

/// A tool that asks twice.
fn twice() -> Method {
    text_tool("twice", |_, caller| async move {
        let one = caller.elicit::<String>("First?").await?.accepted().unwrap_or_default();
        let two = caller.elicit::<String>(format!("After {one}?")).await?.accepted().unwrap_or_default();
        Ok(format!("{one} {two}"))
    })
}

async fn round(front: &Serving, params: Value) -> Value {
    post_alone(front.address, &[], "tools/call", params, everything()).await.answer().await
}

/// The next round of a call: the params with answers to what the last one asked.
fn next_round(answer: &Value, value: &str) -> Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let keys = result["inputRequests"].as_object().unwrap().keys();
    let filled = json!({"action": "accept", "content": {"value": value}});
    let answers: Value = keys.map(|key| (key.clone(), filled.clone())).collect();
    json!({"name": "twice", "inputResponses": answers, "requestState": result["requestState"]})
}

// MCP-X-02, MCP-X-07, MCP-HTTP-06
#[tokio::test]
async fn questions_reach_the_client_of_the_call_in_every_pair_of_eras() {
    let behind = serve(&server([twice()])).await;
    for is_old in [true, false] {
        let front = front(&behind, is_old).await;
        let first = round(&front, json!({"name": "twice"})).await;
        let second = round(&front, next_round(&first, "a")).await;
        let last = round(&front, next_round(&second, "b")).await;
        assert_eq!(text(&last["result"]), "a b", "{last}");

        let client = Client::session(front.address, "2025-11-25", everything()).await;
        let mut received = client.post(&request("tools/call", json!({"name": "twice"}))).await;
        for value in ["a", "b"] {
            let question = received.message().await;
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let result = json!({"action": "accept", "content": {"value": value}});
            let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
            assert_eq!(client.post(&answer).await.status, 202);
        }
        assert_eq!(text(&received.answer().await["result"]), "a b");
    }
}

// MCP-R-06, MCP-SEC-02
#[tokio::test]
async fn a_caller_parks_so_many_calls_and_then_the_oldest_ends() {
    let behind = serve(&server([twice()])).await;
    let front = front(&behind, true).await;
    let mut asked = Vec::new();
    for _ in 0..33 {
        asked.push(round(&front, json!({"name": "twice"})).await);
    }
    let oldest = round(&front, next_round(&asked[0], "a")).await;
    assert_eq!(oldest["error"]["code"], -32602, "{oldest}");
    for (number, other) in asked.iter().enumerate().skip(1) {
        let value = number.to_string();
        let second = round(&front, next_round(other, &value)).await;
        let last = round(&front, next_round(&second, "b")).await;
        assert_eq!(text(&last["result"]), format!("{value} b"), "each question belongs to its call");
    }
}

// MCP-P-01, MCP-N-05
#[tokio::test]
async fn progress_arrives_while_the_call_runs() {
    let gate = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&gate);
    let steps = text_tool("steps", move |_, caller| {
        let waits = Arc::clone(&waits);
        async move {
            caller.progress(1, 2).await;
            waits.acquire().await.unwrap().forget();
            Ok("done".to_owned())
        }
    });
    let behind = serve(&server([steps])).await;
    for is_old in [true, false] {
        let front = front(&behind, is_old).await;
        let params = json!({"name": "steps", "_meta": {"progressToken": 7}});
        let mut received = post_alone(front.address, &[], "tools/call", params, json!({})).await;
        let told = received.message().await;
        assert_eq!(told["params"], json!({"progressToken": 7, "progress": 1, "total": 2}));
        gate.add_permits(1);
        assert_eq!(text(&received.answer().await["result"]), "done");
    }
}

// MCP-T-08, MCP-HTTP-08, MCP-U-01
#[tokio::test]
async fn changed_tools_are_listed_again_in_both_eras() {
    for is_old in [true, false] {
        let server = server([twice()]);
        let behind = serve(&server).await;
        let methods = methods(&behind, is_old).await;
        let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
        methods.on_change(move || {
            let _ = sender.send(());
        });
        let call = async || Service::call(&methods, &Call::new("late", None)).await.outcome;
        assert!(matches!(call().await, Outcome::Error(_)));
        // It does not matter whether the stream of notifications is open already.
        server.add(Method::sync("late", |(): (), _| Ok::<_, ErrorObject>(1))).unwrap();
        while matches!(call().await, Outcome::Error(_)) {
            within(changes.recv()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_server_behind_gets_the_credentials_of_this_client_and_not_of_its_callers() {
    let who = text_tool("who", |_, _| async { Ok("allowed".to_owned()) });
    let who = who.described(|_| {
        switchboard_core::MethodDescription::documented("Needs a scope.")
            .result(switchboard_core::ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"scope": "read"}))
    });
    let behind = serve(&server([who])).await;
    for path in ["old", "mcp"] {
        let url = format!("http://{}/{path}", behind.address);
        let mut headers = HeaderMap::new();
        let front = async |headers: HeaderMap| {
            let dial = Dial::new(&url).unwrap().with_headers(headers);
            let methods = Methods::of(&Connector::default().dial(dial).await.unwrap()).await.unwrap();
            serve(&Server::new(methods)).await
        };
        let call = async |front: &Serving| {
            let theirs = [("x-user", "ann"), ("x-scopes", "read")];
            post_alone(front.address, &theirs, "tools/call", json!({"name": "who"}), json!({}))
                .await
                .answer()
                .await
        };
        let refused = call(&front(headers.clone()).await).await;
        assert!(refused.get("error").is_some() || refused["result"]["isError"] == true, "{refused}");
        headers.insert("x-user", HeaderValue::from_static("front"));
        headers.insert("x-scopes", HeaderValue::from_static("read"));
        assert_eq!(text(&call(&front(headers).await).await["result"]), "allowed");
    }
}
