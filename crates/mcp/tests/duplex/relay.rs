//! A server in front of another one, whose questions, progress and changes it passes on: both eras on both sides.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Connection, Engine, ErrorObject, Json, Method, MethodDescription, Origin,
    ParamDescription, Peer, ReplyFuture, Router, Service, Settings, service_fn,
};
use switchboard_mcp::adapt::Methods;
use switchboard_mcp::{Answer, Client as McpClient, Connector, Server};
use switchboard_transport::{memory, running};

use crate::client::{Client, alone, everything};
use crate::fixtures::{add, offered, server, stuck, text, text_tool};
use crate::questions::{answers, book, both_eras};

/// A client of a server in this process, of this era.
async fn connect(server: &Server, is_old: bool) -> McpClient {
    let server = server.clone();
    let connect = move |service: Arc<dyn Service>| {
        let (near, far) = memory::pair(64 << 10);
        let settings = || Settings::default().with_profile(Server::profile());
        let engine = Engine::new(server.service().unwrap(), settings());
        tokio::spawn(Connection::new(far.0, far.1, engine, Origin::new("memory")).1);
        let engine = Engine::new(service, settings());
        let peer = running::run(Connection::new(near.0, near.1, engine, Origin::new("memory")).1);
        let old = service_fn({
            let peer = peer.clone();
            move |call: &Call| match call.method.as_str() {
                "server/discover" => ReplyFuture::ready(ErrorObject::method_not_found("server/discover")),
                _ => Service::call(&peer, call),
            }
        });
        let peer = if is_old { Peer::local(old) } else { peer };
        async { Ok::<_, CallError>(peer) }
    };
    Connector::default().over(connect).await.unwrap()
}

/// A server in front of this one, which it knows in this era.
async fn front(behind: &Server, is_old: bool) -> Server {
    Server::new(Methods::of(&connect(behind, is_old).await).await.unwrap()).named("front", "1.0.0")
}

// MCP-X-07, MCP-R-01, MCP-R-03, MCP-B-06
#[tokio::test(start_paused = true)]
async fn questions_reach_the_client_of_the_call_in_every_pair_of_eras() {
    for is_old in [true, false] {
        let front = front(&server([book()]), is_old).await;
        let (text, mut asked) = both_eras(&front, "book", &everything(), answers).await;
        assert_eq!(text, "12 fine file:///home true", "the server behind is old: {is_old}");
        // The second and the third are asked at once.
        asked[1..3].sort();
        assert_eq!(
            asked,
            ["elicitation/create", "roots/list", "sampling/createMessage", "elicitation/create"]
        );
    }
}

// MCP-EL-02
#[tokio::test(start_paused = true)]
async fn a_user_behind_two_servers_may_decline() {
    let ask =
        text_tool(
            "ask",
            |_, caller| async move { Ok(format!("{:?}", caller.elicit::<bool>("Sure?").await?)) },
        );
    let behind = server([ask]);
    for is_old in [true, false] {
        let front = front(&behind, is_old).await;
        for (action, expected) in [("accept", "Accept(true)"), ("decline", "Decline"), ("cancel", "Cancel")] {
            let answer = |_: &str, _: &Value| json!({"action": action, "content": {"value": true}});
            assert_eq!(both_eras(&front, "ask", &everything(), answer).await.0, expected);
        }
    }
}

// MCP-M-04, MCP-L-08
#[tokio::test(start_paused = true)]
async fn a_client_is_not_asked_for_what_it_cannot_do() {
    for is_old in [true, false] {
        let front = front(&server([book()]), is_old).await;
        let mut client = Client::session(&front, "2025-11-25", json!({})).await;
        let answer = client.ask("tools/call", json!({"name": "book"})).await;
        assert!(answer["result"]["isError"] == true || answer.get("error").is_some(), "{answer}");
        let answer = client.ask_alone("tools/call", json!({"name": "book"})).await;
        assert!(answer["result"]["isError"] == true || answer.get("error").is_some(), "{answer}");
        let answer = client.ask("tools/call", alone(json!({"name": "book"}), json!({"sampling": {}}))).await;
        assert!(answer["result"]["isError"] == true || answer.get("error").is_some(), "{answer}");
    }
}

/// A tool that asks twice, and counts how often it is entered.
fn twice(entered: &Arc<Mutex<u32>>) -> Method {
    let entered = Arc::clone(entered);
    text_tool("twice", move |_, caller| {
        *entered.lock().unwrap() += 1;
        async move {
            let one = caller.elicit::<String>("First?").await?.accepted().unwrap_or_default();
            let two = caller.elicit::<String>(format!("After {one}?")).await?.accepted().unwrap_or_default();
            Ok(format!("{one} {two}"))
        }
    })
}

/// The next round of a call: the params with answers to what the last one asked.
fn next_round(name: &str, answer: &Value, value: &str) -> Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let keys = result["inputRequests"].as_object().unwrap().keys();
    let filled = json!({"action": "accept", "content": {"value": value}});
    let answers: Value = keys.map(|key| (key.clone(), filled.clone())).collect();
    json!({"name": name, "inputResponses": answers, "requestState": result["requestState"]})
}

// MCP-R-06
#[tokio::test(start_paused = true)]
async fn a_parked_call_goes_on_where_it_was_and_is_entered_once() {
    let entered = Arc::default();
    let front = front(&server([twice(&entered)]), true).await;
    let mut client = Client::connect(&front);
    let first = client.ask("tools/call", alone(json!({"name": "twice"}), everything())).await;
    let params = next_round("twice", &first, "a");
    let second = client.ask("tools/call", alone(params.clone(), everything())).await;
    let last = client.ask("tools/call", alone(next_round("twice", &second, "b"), everything())).await;
    assert_eq!(text(&last["result"]), "a b", "{last}");
    assert_eq!(*entered.lock().unwrap(), 1);
    // It has ended: what the client has of it is of no use any more, and it starts over.
    let late = client.ask("tools/call", alone(params, everything())).await;
    assert_eq!(late["error"]["code"], -32602, "{late}");
    let again = client.ask("tools/call", alone(json!({"name": "twice"}), everything())).await;
    assert_eq!(again["result"]["resultType"], "input_required");
}

// MCP-R-05, MCP-R-06
#[tokio::test(start_paused = true)]
async fn a_parked_call_ends_when_its_client_does_not_come_back() {
    struct Told(tokio::sync::mpsc::UnboundedSender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (sender, mut dropped) = tokio::sync::mpsc::unbounded_channel();
    let asks = text_tool("asks", move |_, caller| {
        let told = Told(sender.clone());
        async move {
            let answer: Answer<String> = caller.elicit("Who?").timeout(Duration::from_secs(86_400)).await?;
            drop(told);
            Ok(format!("{answer:?}"))
        }
    });
    let front = front(&server([asks]), true).await;
    let mut client = Client::connect(&front);
    let first = client.ask("tools/call", alone(json!({"name": "asks"}), everything())).await;
    let params = next_round("asks", &first, "Ann");
    assert!(dropped.try_recv().is_err());
    dropped.recv().await.expect("the call behind is cancelled");
    let late = client.ask("tools/call", alone(params, everything())).await;
    assert_eq!(late["error"]["code"], -32602, "{late}");
}

// MCP-SEC-02
#[tokio::test(start_paused = true)]
async fn a_question_is_refused_if_it_could_be_meant_for_another_caller() {
    let (stuck, mut events) = stuck();
    let front = front(&server([stuck, twice(&Arc::default())]), true).await;
    let mut other = Client::session(&front, "2025-11-25", everything()).await;
    other.request("tools/call", json!({"name": "stuck"})).await;
    assert_eq!(events.recv().await, Some("started"));
    let mut client = Client::session(&front, "2025-11-25", everything()).await;
    let answer = client.ask("tools/call", json!({"name": "twice"})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    other.is_silent().await;
    // A session may make several calls, and is asked for each.
    other.request("tools/call", json!({"name": "twice"})).await;
    assert_eq!(other.next().await["method"], "elicitation/create");
}

// MCP-P-01
#[tokio::test(start_paused = true)]
async fn progress_of_the_server_behind_is_progress_of_the_call() {
    let steps = text_tool("steps", |_, caller| async move {
        caller.progress(0.5, 2).await;
        caller.progress_with(2, Some(2.0), "all").await;
        Ok("done".to_owned())
    });
    let behind = server([steps]);
    for is_old in [true, false] {
        let front = front(&behind, is_old).await;
        let mut client = Client::session(&front, "2025-11-25", json!({})).await;
        for is_alone in [false, true] {
            let params = json!({"name": "steps", "_meta": {"progressToken": "p"}});
            let params = if is_alone { alone(params, json!({})) } else { params };
            let id = client.request("tools/call", params).await;
            let told = client.notification("notifications/progress").await;
            assert_eq!(told, json!({"progressToken": "p", "progress": 0.5, "total": 2}));
            let told = client.notification("notifications/progress").await;
            assert_eq!(told, json!({"progressToken": "p", "progress": 2, "total": 2, "message": "all"}));
            let answer = client.next().await;
            assert_eq!((&answer["id"], text(&answer["result"])), (&json!(id), "done"));
        }
        // Callers of JSON-RPC get it as the progress of their call.
        let methods = Methods::of(&connect(&behind, is_old).await).await.unwrap();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hearing = Arc::clone(&heard);
        let told: Result<Value, CallError> = Peer::local(methods)
            .call("steps", ())
            .on_progress(move |value: Value| hearing.lock().unwrap().push(value))
            .await;
        assert_eq!(told.unwrap(), "done");
        assert_eq!(
            *heard.lock().unwrap(),
            [json!({"progress": 0.5, "total": 2}), json!({"progress": 2, "total": 2, "message": "all"})]
        );
    }
}

// MCP-C-01
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_cancelled_behind_too() {
    for is_old in [true, false] {
        let (stuck, mut events) = stuck();
        let front = front(&server([stuck]), is_old).await;
        let mut client = Client::session(&front, "2025-11-25", everything()).await;
        for is_alone in [false, true] {
            let params = json!({"name": "stuck"});
            let params = if is_alone { alone(params, everything()) } else { params };
            let id = client.request("tools/call", params).await;
            assert_eq!(events.recv().await, Some("started"));
            client.notify("notifications/cancelled", json!({"requestId": id})).await;
            assert_eq!(events.recv().await, Some("dropped"), "old: {is_old}, alone: {is_alone}");
        }
    }
}

// MCP-T-08
#[tokio::test(start_paused = true)]
async fn changed_tools_of_the_server_behind_change_those_in_front() {
    for is_old in [true, false] {
        let behind = server([add()]);
        let methods = Methods::of(&connect(&behind, is_old).await).await.unwrap();
        let front = Server::new(methods.clone()).named("front", "1.0.0");
        let changing = front.clone();
        methods.on_change(move || changing.refresh().unwrap());
        let mut client = Client::session(&front, "2025-11-25", json!({})).await;
        // A stateless server may not have seen the subscription yet.
        let mut count = 0;
        while front.tools().len() == 1 {
            let late = Method::sync(format!("late{count}"), |(): (), _| Ok::<_, ErrorObject>(1));
            behind.add(late).unwrap();
            count += 1;
            tokio::task::yield_now().await;
            assert!(count < 10_000);
        }
        client.notification("notifications/tools/list_changed").await;
    }
}

/// Completes with the arguments that it got.
fn cities() -> Method {
    let method = Method::sync("cities", |asked: Option<Json>, _| {
        Ok::<_, ErrorObject>(vec![asked.map(|asked| asked.to_string()).unwrap_or_default()])
    });
    method.described(|_| {
        let text = || json!({"type": "string"});
        MethodDescription::documented("Completes.")
            .param(ParamDescription::required("city", text()))
            .param(ParamDescription::optional("country", text()))
            .extension("x-mcp", json!({"completes": [["plan", "city"], ["weather", "city"]]}))
    })
}

// MCP-O-01
#[tokio::test(start_paused = true)]
async fn arguments_are_completed_by_the_server_behind() {
    let behind = server([
        offered("plan", json!({"prompt": true}), "p"),
        offered("weather", json!({"resource": "test://weather/{city}"}), "w"),
        offered("fixed", json!({"resource": "test://fixed"}), "f"),
        cities(),
    ]);
    for is_old in [true, false] {
        let methods = Methods::of(&connect(&behind, is_old).await).await.unwrap();
        let router = Router::builder().mount_described("up/", methods).build().unwrap();
        let front = Server::new(router).named("front", "1.0.0");
        let mut client = Client::connect(&front);
        let begun = client.initialize("2025-11-25", json!({})).await;
        assert_eq!(begun["result"]["capabilities"]["completions"], json!({}), "old: {is_old}");
        let known = json!({"arguments": {"country": "UK"}});
        for (reference, value) in [
            (json!({"type": "ref/prompt", "name": "up_plan"}), "Lon"),
            (json!({"type": "ref/resource", "uri": "test://weather/{city}"}), "Par"),
        ] {
            let argument = json!({"name": "city", "value": value});
            let params = json!({"ref": reference, "argument": argument, "context": known});
            let expected = json!([json!({"city": value, "country": "UK"}).to_string()]);
            for params in [params.clone(), alone(params, json!({}))] {
                let answer = client.ask("completion/complete", params).await;
                assert_eq!(answer["result"]["completion"]["values"], expected, "old: {is_old}: {answer}");
            }
        }
        // What the server behind does not complete, and what is not there.
        let argument = json!({"name": "day", "value": "M"});
        let reference = json!({"type": "ref/prompt", "name": "up_plan"});
        let answer = client.ask("completion/complete", json!({"ref": reference, "argument": argument})).await;
        assert_eq!(answer["result"]["completion"]["values"], json!([]), "{answer}");
        let reference = json!({"type": "ref/prompt", "name": "plan"});
        let answer = client.ask("completion/complete", json!({"ref": reference, "argument": argument})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}
