//! Several servers with one store of sessions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_layers::store::{MemoryStore, Store, StoreError, StoreFuture};
use switchboard_mcp::{HttpOptions, Server, StateKeys};
use tokio::sync::watch;

use crate::client::{Client, Received, everything, initialize, post, post_alone, request, within};
use crate::fixtures::{add, offered, server, stuck, text, text_tool};
use crate::serving::{Serving, serve_with};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

async fn serve(server: &Server, store: &Arc<dyn Store>) -> Serving {
    let options =
        HttpOptions::default().with_keep_alive(Duration::from_secs(1)).with_store(Arc::clone(store));
    serve_with(server, options, "127.0.0.1:0").await
}

/// The same client, at another server.
fn at(serving: &Serving, client: &Client) -> Client {
    Client { address: serving.address, ..client.clone() }
}

fn call(tool: &str) -> Value {
    request("tools/call", json!({"name": tool, "_meta": {"progressToken": "t"}}))
}

/// Asks again and again until this holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let held = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), held).await.expect(what);
}

// MCP-HTTP-12, MCP-HTTP-13, MCP-SEC-02
#[tokio::test]
async fn any_server_serves_a_session_to_its_owner_only() {
    let (store, server) = (store(), server([add()]));
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let ann = Client::session_of(a.address, "2025-06-18", json!({}), Some("ann")).await;
    let bob = Client { user: Some("bob"), ..at(&b, &ann) };
    for received in [bob.post(&call("math_add")).await, bob.get(None).await, bob.delete().await] {
        assert_eq!(received.status, 404);
    }
    let sum = json!({"name": "math_add", "arguments": {"a": 2, "b": 3}});
    let answer = at(&b, &ann).ask("tools/call", sum.clone()).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"result": 5}));
    for thief in [Some("bob"), None] {
        let thief = Client { user: thief, ..at(&b, &ann) };
        assert_eq!(thief.post(&request("ping", json!({}))).await.status, 404, "it is in memory now");
    }
    let headers =
        [("mcp-session-id", ann.session.as_str()), ("x-user", "ann"), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(post(b.address, &headers, &call("math_add")).await.status, 400, "not its version");
    // The server where it began is gone.
    a.stop().await;
    assert_eq!(
        at(&b, &ann).ask("tools/call", sum).await["result"]["structuredContent"],
        json!({"result": 5})
    );
    for id in ["unknown", "0123456789abcdef0123456789abcdef", "x y"] {
        let headers = [("mcp-session-id", id), ("x-user", "ann")];
        assert_eq!(post(b.address, &headers, &call("math_add")).await.status, 404, "{id}");
    }
}

// MCP-HTTP-12
#[tokio::test]
async fn a_session_that_ends_at_one_server_ends_at_all() {
    let (stuck, mut events) = stuck();
    let (store, server) = (store(), server([add(), stuck]));
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let mut stream = client.get(None).await;
    let caller = client.clone();
    let called = tokio::spawn(async move { caller.post(&call("stuck")).await.text().await });
    assert_eq!(within(events.recv()).await, Some("started"));
    assert_eq!(at(&b, &client).delete().await.status, 200);
    assert_eq!(at(&b, &client).post(&call("math_add")).await.status, 404);
    assert!(stream.event().await.is_none(), "the stream ends at the other server");
    assert_eq!(within(events.recv()).await, Some("dropped"), "and its call");
    within(called).await.unwrap();
    assert_eq!(client.post(&call("math_add")).await.status, 404);
}

// MCP-HTTP-12
#[tokio::test]
async fn a_server_that_has_a_session_in_memory_notices_its_end() {
    let (store, server) = (store(), server([add()]));
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    assert_eq!(at(&b, &client).post(&request("ping", json!({}))).await.status, 200);
    assert_eq!(client.delete().await.status, 200);
    until("the other server refuses it", async || {
        at(&b, &client).post(&request("ping", json!({}))).await.status == 404
    })
    .await;
    assert_eq!(b.route.sessions(), 0);
}

// MCP-LOG-01, MCP-HTTP-09
#[tokio::test]
async fn what_a_client_asks_for_at_one_server_holds_at_the_others() {
    let shown = || {
        let log = text_tool("log", |_, caller| async move {
            caller.log(switchboard_mcp::model::LogLevel::Warning, "watch out").await;
            Ok("done".to_owned())
        });
        let resource = |uri: &str, name| offered(name, json!({"resource": uri}), "r");
        server([log, resource("test://r", "r"), resource("test://q", "q")])
    };
    let (store, shown) = (store(), [shown(), shown()]);
    let [a, b] = [serve(&shown[0], &store).await, serve(&shown[1], &store).await];
    let client = Client::session(a.address, "2025-06-18", json!({})).await;
    client.ask("resources/subscribe", json!({"uri": "test://r"})).await;
    client.ask("resources/subscribe", json!({"uri": "test://q"})).await;
    client.ask("logging/setLevel", json!({"level": "error"})).await;
    let there = at(&b, &client);
    assert!(!there.post(&call("log")).await.is_events(), "the message is below the level");
    there.ask("resources/unsubscribe", json!({"uri": "test://q"})).await;
    there.ask("logging/setLevel", json!({"level": "debug"})).await;
    until("the first server knows the level, too", async || client.post(&call("log")).await.is_events())
        .await;
    let mut stream = there.get(None).await;
    shown[1].updated("test://q");
    shown[1].updated("test://r");
    assert_eq!(stream.message().await["params"]["uri"], "test://r");
}

/// A tool that reports progress, waits until it is let go on, reports again and returns.
fn gated() -> (switchboard_core::Method, watch::Sender<bool>) {
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

/// Reads up to the first message, and gives its event id.
async fn first(received: &mut Received) -> String {
    loop {
        let event = received.event().await.unwrap();
        if event.data.as_deref() != Some("") {
            assert_eq!(event.json()["params"]["progress"], 1);
            return event.id.unwrap();
        }
    }
}

// MCP-HTTP-07, MCP-HTTP-10
#[tokio::test]
async fn a_client_that_was_cut_off_gets_the_rest_from_another_server() {
    let ((gated, open), store) = (gated(), store());
    let server = server([gated]);
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let mut cut = client.post(&call("gated")).await;
    let id = first(&mut cut).await;
    drop(cut);
    let there = at(&b, &client);
    let mut resumed = there.get(Some(&id)).await;
    assert!(resumed.is_events());
    open.send(true).unwrap();
    assert_eq!(resumed.message().await["params"]["progress"], 2);
    assert_eq!(text(&resumed.message().await["result"]), "done");
    assert!(resumed.event().await.is_none(), "it ends with the answer");
    // It is still there when the server that ran the call is not. From the beginning, as well.
    a.stop().await;
    let stream = id.split_once('-').unwrap().0;
    let mut again = there.get(Some(&format!("{stream}-0"))).await;
    assert_eq!(again.message().await["params"]["progress"], 1);
    assert_eq!(again.message().await["params"]["progress"], 2);
    assert_eq!(text(&again.message().await["result"]), "done");
    assert!(again.event().await.is_none());
}

// MCP-HTTP-10
#[tokio::test]
async fn the_client_of_a_call_whose_server_is_gone_is_told_so() {
    let ((gated, _open), store) = (gated(), store());
    let server = server([gated]);
    // Of one whose runtime ends, no task goes on, as if its process had been killed.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (shown, shared) = (server.clone(), Arc::clone(&store));
    let a = runtime.spawn(async move { serve(&shown, &shared).await }).await.unwrap();
    let b = serve(&server, &store).await;
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let mut cut = client.post(&call("gated")).await;
    let id = first(&mut cut).await;
    let mut resumed = at(&b, &client).get(Some(&id)).await;
    assert!(resumed.is_events());
    runtime.shutdown_background();
    let answer = resumed.message().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32004)), "{answer}");
    assert_eq!(answer["error"]["data"], json!({"executed": "unknown"}));
    assert!(resumed.event().await.is_none());
}

/// Calls a tool, is cut off after its first message, and gives the id of that.
async fn cut_off(client: &Client, tool: &str) -> String {
    first(&mut client.post(&call(tool)).await).await
}

// MCP-HTTP-10
#[tokio::test]
async fn a_stream_whose_events_were_too_many_to_keep_is_read_on_after_them() {
    let (open, gate) = watch::channel(0);
    let many = text_tool("many", move |_, caller| {
        let mut gate = gate.clone();
        async move {
            caller.progress(1, 1000).await;
            gate.wait_for(|opened| *opened > 0).await.unwrap();
            for number in 2..=600 {
                caller.progress(number, 1000).await;
            }
            gate.wait_for(|opened| *opened > 1).await.unwrap();
            Ok("done".to_owned())
        }
    });
    let (store, server) = (store(), server([many]));
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let id = cut_off(&client, "many").await;
    let (stream, number) = id.split_once('-').unwrap();
    let key = format!("events.{}.{stream}.{}", client.session, number.parse::<u64>().unwrap() >> 20);
    let kept = async || {
        let chunk = store.read(key.as_bytes()).await.unwrap()?;
        let chunk: Value = serde_json::from_slice(&chunk).unwrap();
        Some(chunk["events"].as_array().unwrap().len())
    };
    until("the first event is stored", async || kept().await == Some(1)).await;
    open.send(1).unwrap();
    until("it is not kept any more", async || kept().await == Some(0)).await;
    let mut resumed = at(&b, &client).get(Some(&id)).await;
    open.send(2).unwrap();
    let mut last = 1;
    let answer = loop {
        let message = resumed.message().await;
        let Some(progress) = message["params"]["progress"].as_u64() else { break message };
        assert!(progress > last, "{progress} after {last}");
        last = progress;
    };
    assert_eq!((last, text(&answer["result"])), (600, "done"));
    assert!(resumed.event().await.is_none());
}

// MCP-HTTP-10
#[tokio::test]
async fn a_stream_with_an_event_that_is_too_long_for_the_store_is_read_to_its_end() {
    let (open, gate) = watch::channel(false);
    let long = text_tool("long", move |_, caller| {
        let mut gate = gate.clone();
        async move {
            caller.progress(1, 2).await;
            gate.wait_for(|is_open| *is_open).await.unwrap();
            Ok("x".repeat(600 << 10))
        }
    });
    let (store, server) = (store(), server([long]));
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let id = cut_off(&client, "long").await;
    let mut resumed = at(&b, &client).get(Some(&id)).await;
    assert!(resumed.is_events());
    open.send(true).unwrap();
    while let Some(event) = resumed.event().await {
        assert_eq!(event.data.as_deref(), Some(""), "the store does not have the answer");
    }
    let mut own = client.get(Some(&id)).await;
    assert_eq!(text(&own.message().await["result"]).len(), 600 << 10, "its server has it");
}

// MCP-HTTP-10, MCP-HTTP-11
#[tokio::test]
async fn the_stream_of_a_session_goes_on_at_another_server() {
    let (store, shown) = (store(), server([add(), offered("r", json!({"resource": "test://r"}), "r")]));
    let a = serve(&shown, &store).await;
    let client = Client::session(a.address, "2025-11-25", json!({})).await;
    let mut one = client.get(None).await;
    shown.disable("math_add");
    let id = one.event().await.unwrap().id.unwrap();
    client.ask("resources/subscribe", json!({"uri": "test://r"})).await;
    shown.updated("test://r");
    let missed = one.event().await.unwrap();
    drop(one);
    let server = server([add()]);
    let b = serve(&server, &store).await;
    let there = at(&b, &client);
    let mut found = None;
    until("what was sent is stored", async || {
        let mut two = there.get(Some(&id)).await;
        server.disable("math_add");
        server.enable("math_add").unwrap();
        let event = two.event().await.unwrap();
        let is_stored = event.id == missed.id;
        found = is_stored.then_some((two, event));
        is_stored
    })
    .await;
    let (mut two, replayed) = found.unwrap();
    assert_eq!(replayed.data, missed.data);
    let next = two.event().await.unwrap();
    assert_eq!(next.data.as_deref(), Some(""), "from here on it is a stream of this server");
    assert_ne!(next.id.unwrap().split_once('-').unwrap().0, id.split_once('-').unwrap().0);
    assert_eq!(two.message().await["method"], "notifications/tools/list_changed");
}

// MCP-R-05, MCP-M-01
#[tokio::test]
async fn rounds_of_a_call_are_answered_by_any_server() {
    let ask = || {
        text_tool("ask", |_, caller| async move {
            Ok(format!("{:?}", caller.elicit::<bool>("Sure?").key("sure").await?))
        })
    };
    let store = store();
    let mut servers = Vec::new();
    for _ in 0..2 {
        let keys = StateKeys::shared(&store, YEAR).await.unwrap();
        servers.push(serve(&server([ask()]).state_keys(keys), &store).await);
    }
    let capabilities = json!({"elicitation": {}});
    let params = json!({"name": "ask"});
    let first =
        post_alone(servers[0].address, &[], "tools/call", params, capabilities.clone()).await.json().await;
    let answers = json!({"sure": {"action": "accept", "content": {"value": true}}});
    let state = &first["result"]["requestState"];
    let params = json!({"name": "ask", "inputResponses": answers, "requestState": state});
    let answer = post_alone(servers[1].address, &[], "tools/call", params, capabilities).await.json().await;
    assert_eq!(text(&answer["result"]), "Accept(true)");
}

/// A store that can be cut off.
struct Cut(MemoryStore, watch::Receiver<bool>);

impl Cut {
    fn check<T>(&self, operation: impl FnOnce(&MemoryStore) -> StoreFuture<T>) -> StoreFuture<T> {
        match *self.1.borrow() {
            true => StoreFuture::ready(Err(StoreError::Unavailable("cut off".to_owned()))),
            false => operation(&self.0),
        }
    }
}

impl Store for Cut {
    fn insert(&self, key: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        self.check(|store| store.insert(key, value, time))
    }

    fn read(&self, key: &[u8]) -> StoreFuture<Option<bytes::Bytes>> {
        self.check(|store| store.read(key))
    }

    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8], time: Duration) -> StoreFuture<bool> {
        self.check(|store| store.replace(key, expected, value, time))
    }

    fn add(&self, key: &[u8], amount: u64, time: Duration) -> StoreFuture<u64> {
        self.check(|store| store.add(key, amount, time))
    }

    fn remove(&self, key: &[u8]) -> StoreFuture<()> {
        self.check(|store| store.remove(key))
    }

    fn since(&self) -> u64 {
        self.0.since()
    }

    fn capacity(&self) -> Option<usize> {
        self.0.capacity()
    }
}

#[tokio::test]
async fn without_the_store_each_server_serves_the_sessions_that_it_knows() {
    let (cut, is_cut) = watch::channel(false);
    let store: Arc<dyn Store> = Arc::new(Cut(MemoryStore::default(), is_cut));
    let server = server([add()]);
    let [a, b] = [serve(&server, &store).await, serve(&server, &store).await];
    let ping = request("ping", json!({}));
    let before = Client::session(a.address, "2025-11-25", everything()).await;
    cut.send(true).unwrap();
    assert_eq!(before.post(&ping).await.status, 200);
    let received = at(&b, &before).post(&ping).await;
    assert_eq!((received.status, received.json().await["error"]["code"].clone()), (503, json!(-32000)));
    assert_eq!(before.delete().await.status, 503, "others would go on with it");
    let begun = Client::session(a.address, "2025-11-25", json!({})).await;
    assert_eq!(begun.post(&ping).await.status, 200);
    let anonymous = post(b.address, &[], &initialize("2025-11-25", json!({}))).await;
    assert_eq!(anonymous.status, 200);
    cut.send(false).unwrap();
    // One that began meanwhile is shared with its next request.
    assert_eq!(begun.post(&ping).await.status, 200);
    assert_eq!(at(&b, &begun).post(&ping).await.status, 200);
}
