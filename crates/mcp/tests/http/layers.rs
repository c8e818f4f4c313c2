//! Layers around the methods of a server, as clients of MCP meet them: they see the method, and not `tools/call`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use opentelemetry_sdk::trace::InMemorySpanExporter;
use serde_json::{Value, json};
use switchboard_core::observer::{Observer, Refused};
use switchboard_core::{Call, Context, ErrorObject, Layer, Router, Settings, service_fn};
use switchboard_layers::idempotency::Idempotency;
use switchboard_layers::log::{BodyRules, CallLog};
use switchboard_layers::metrics::Metrics;
use switchboard_layers::rate::{RateLimits, RateRule};
use switchboard_layers::shed::{ShedOptions, Shedding};
use switchboard_layers::signing::{SigningKeys, Verify};
use switchboard_layers::store::MemoryStore;
use switchboard_layers::trace::Tracing;
use switchboard_mcp::Server;

use crate::client::{Client, Received, post_alone};
use crate::fixtures::{add, stuck, text, text_tool};
use crate::serving::{Serving, serve, serve_settings};

/// A server whose methods are behind a layer.
fn behind(layer: impl Layer, methods: impl IntoIterator<Item = switchboard_core::Method>) -> Server {
    let methods: Vec<_> = methods.into_iter().collect();
    let router = Router::builder().add(methods).build().unwrap();
    Server::new(router.layered(layer)).named("test", "1.0.0")
}

fn sum() -> Value {
    json!({"name": "math_add", "arguments": {"a": 2, "b": 3}})
}

async fn call_alone(serving: &Serving, more: &[(&str, &str)], params: Value) -> Received {
    post_alone(serving.address, more, "tools/call", params, crate::client::everything()).await
}

/// Calls a tool in a session and without one.
async fn call_both(serving: &Serving, params: &Value) -> [Value; 2] {
    let client = Client::session(serving.address, "2025-11-25", json!({})).await;
    [
        client.ask("tools/call", params.clone()).await,
        call_alone(serving, &[], params.clone()).await.answer().await,
    ]
}

// MCP-T-10
#[tokio::test]
async fn a_rate_limit_counts_calls_of_the_method() {
    let rule = RateRule::new("2/h".parse().unwrap()).for_methods(["math/add".parse().unwrap()]);
    let echo = text_tool("echo", |_, _| async { Ok("echo".to_owned()) });
    let serving = serve(&behind(RateLimits::new([rule]), [add(), echo])).await;
    for answer in call_both(&serving, &sum()).await {
        assert_eq!(text(&answer["result"]), "5");
    }
    for answer in call_both(&serving, &sum()).await {
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    // Others have their own limits, and lists are not calls.
    for answer in call_both(&serving, &json!({"name": "echo"})).await {
        assert_eq!(text(&answer["result"]), "echo");
    }
}

// MCP-T-10
#[tokio::test]
async fn calls_beyond_the_limit_of_a_method_are_shed() {
    let (stuck, mut events) = stuck();
    let options = ShedOptions::default().with_methods(["stuck".parse().unwrap()], 1).with_queue(0);
    let serving = serve(&behind(Shedding::new(options), [stuck, add()])).await;
    let running = tokio::spawn({
        let client = Client::session(serving.address, "2025-11-25", json!({})).await;
        async move { client.ask("tools/call", json!({"name": "stuck"})).await }
    });
    assert_eq!(events.recv().await, Some("started"));
    for answer in call_both(&serving, &json!({"name": "stuck"})).await {
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    for answer in call_both(&serving, &sum()).await {
        assert_eq!(text(&answer["result"]), "5");
    }
    running.abort();
}

fn counting(runs: &Arc<AtomicUsize>, asks: bool) -> switchboard_core::Method {
    let runs = Arc::clone(runs);
    text_tool("pay", move |_, caller| {
        let runs = Arc::clone(&runs);
        async move {
            if asks {
                caller.elicit::<bool>("Pay?").key("pay").await?;
            }
            Ok(format!("paid {}", runs.fetch_add(1, Ordering::Relaxed) + 1))
        }
    })
}

#[tokio::test]
async fn calls_with_the_same_idempotency_key_run_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let layer = Idempotency::new(Arc::new(MemoryStore::default()));
    let serving = serve(&behind(layer, [counting(&runs, false)])).await;
    for (key, expected) in [("a", "paid 1"), ("a", "paid 1"), ("b", "paid 2")] {
        let answer = call_alone(&serving, &[("idempotency-key", key)], json!({"name": "pay"})).await;
        assert_eq!(text(&answer.answer().await["result"]), expected);
    }
    let other = json!({"name": "pay", "arguments": {"amount": 5}});
    let refused = call_alone(&serving, &[("idempotency-key", "a")], other).await.answer().await;
    assert!(refused.get("error").is_some(), "the key was used for another call: {refused}");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

// MCP-R-03
#[tokio::test]
async fn a_call_in_rounds_keeps_its_idempotency_key() {
    let runs = Arc::new(AtomicUsize::new(0));
    let layer = Idempotency::new(Arc::new(MemoryStore::default()));
    let serving = serve(&behind(layer, [counting(&runs, true)])).await;
    let key = [("idempotency-key", "a")];
    let first = call_alone(&serving, &key, json!({"name": "pay"})).await.answer().await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let answers = json!({"pay": {"action": "accept", "content": {"value": true}}});
    let params =
        json!({"name": "pay", "inputResponses": answers, "requestState": first["result"]["requestState"]});
    for _ in 0..2 {
        let paid = call_alone(&serving, &key, params.clone()).await.answer().await;
        assert_eq!(text(&paid["result"]), "paid 1", "{paid}");
    }
}

const BOB: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob";

/// A signature covers the method and the params of its own message. That of `tools/call` is not one of `math/add`.
#[tokio::test]
async fn a_method_that_must_be_signed_is_not_called_without() {
    let keys = SigningKeys::parse(BOB).unwrap();
    let verify = Verify::new(keys, ["http://localhost/mcp"], Arc::new(MemoryStore::default()));
    let serving = serve(&behind(verify, [add()])).await;
    for answer in call_both(&serving, &sum()).await {
        assert_eq!(answer["error"]["message"], "not authorized", "{answer}");
    }
    let headers = [("signature-input", "sb=();created=1;keyid=\"bob-1\""), ("signature", "sb=:AAAA:")];
    let answer = call_alone(&serving, &headers, sum()).await.answer().await;
    assert_eq!(answer["error"]["message"], "not authorized", "{answer}");
}

/// The lines of a log, as they are written.
fn logged() -> (CallLog, mpsc::Receiver<String>) {
    let (sender, lines) = mpsc::channel();
    let log = CallLog::builder().into_fn(move |line| drop(sender.send(line.to_owned()))).unwrap();
    (log, lines)
}

fn read(log: &CallLog, lines: &mpsc::Receiver<String>) -> Vec<Value> {
    log.flush(Duration::from_secs(20));
    lines.try_iter().map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[tokio::test]
async fn the_bodies_of_a_tool_are_logged_as_those_of_its_method() {
    let (log, lines) = logged();
    let serving = serve(&behind(log.bodies(BodyRules::default()), [add()])).await;
    call_both(&serving, &sum()).await;
    let lines = read(&log, &lines);
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!((&line["method"], &line["result"]), (&json!("math/add"), &json!("5")), "{line}");
        assert_eq!(line["params"], r#"{"a":2,"b":3}"#);
    }
}

#[tokio::test]
async fn calls_of_tools_are_counted_as_those_of_their_methods() {
    let metrics = Metrics::new(["math/add", "tools/call", "initialize", "notifications/initialized"]);
    let settings = Settings::default().with_observer(Some(metrics.clone().into()));
    let server = behind(service_layer(), [add()]);
    let serving = serve_settings(&server, settings).await;
    call_both(&serving, &sum()).await;
    let text = metrics.render();
    let count =
        r#"rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="math/add"} 2"#;
    assert!(text.contains(count), "{text}");
}

/// A layer that does nothing.
fn service_layer() -> impl Layer {
    |inner: Arc<dyn switchboard_core::Service>| -> Arc<dyn switchboard_core::Service> {
        Arc::new(service_fn(move |call: &Call| inner.call(call)))
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

// MCP-B-07
#[tokio::test]
async fn a_call_belongs_to_the_trace_that_its_metadata_names() {
    let exporter = InMemorySpanExporter::default();
    let tracing = Tracing::builder().with_methods(["math/add"]).start(exporter.clone());
    let settings = Settings::default().with_observer(Some(tracing.clone().into()));
    let serving = serve_settings(&behind(service_layer(), [add()]), settings).await;
    let session = Client::session(serving.address, "2025-11-25", json!({})).await;
    let mut params = sum();
    params["_meta"] = json!({"traceparent": format!("00-{TRACE}-{PARENT}-01")});
    // The message is more precise than the request that it came with.
    let header = [("traceparent", "00-ffffffffffffffffffffffffffffffff-aaaaaaaaaaaaaaaa-01")];
    assert_eq!(text(&call_alone(&serving, &header, params.clone()).await.answer().await["result"]), "5");
    assert_eq!(text(&session.ask("tools/call", params).await["result"]), "5");
    tracing.flush();
    let mut spans = exporter.get_finished_spans().unwrap();
    spans.retain(|span| span.name == "math/add");
    assert_eq!(spans.len(), 2);
    for span in spans {
        assert_eq!(span.span_context.trace_id().to_string(), TRACE);
        assert_eq!(span.parent_span_id.to_string(), PARENT);
    }
    let wrong =
        json!({"name": "math_add", "arguments": {"a": 1, "b": 1}, "_meta": {"traceparent": "nonsense"}});
    assert_eq!(text(&call_alone(&serving, &[], wrong).await.answer().await["result"]), "2");
}

// MCP-A-03
#[tokio::test]
async fn a_tool_that_needs_a_scope_refuses_callers_without_it() {
    let refund = text_tool("refund", |_, _| async { Ok::<_, ErrorObject>("refunded".to_owned()) });
    let refund = refund.described(|_| {
        switchboard_core::MethodDescription::documented("Refunds.")
            .result(switchboard_core::ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"scope": "orders:write"}))
    });
    let serving = serve(&crate::fixtures::server([refund])).await;
    let call =
        async |headers: &[(&str, &str)]| call_alone(&serving, headers, json!({"name": "refund"})).await;
    let anonymous = call(&[]).await;
    assert_eq!(
        (anonymous.status, anonymous.header("www-authenticate")),
        (401, Some("Bearer scope=\"orders:write\""))
    );
    assert!(anonymous.json().await.get("error").is_some());
    let refused = call(&[("x-user", "ann"), ("x-scopes", "orders:read")]).await;
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"orders:write\"";
    assert_eq!((refused.status, refused.header("www-authenticate")), (403, Some(challenge)));
    let allowed = call(&[("x-user", "ann"), ("x-scopes", "orders:read orders:write")]).await;
    assert_eq!(text(&allowed.json().await["result"]), "refunded");
    let session = Client::session_of(serving.address, "2025-11-25", json!({}), Some("ann")).await;
    let refused = session.post(&crate::client::request("tools/call", json!({"name": "refund"}))).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (403, Some(challenge)));
}

/// Counts what was refused, by HTTP status.
#[derive(Clone, Default)]
struct Refusals(Arc<std::sync::Mutex<Vec<u16>>>);

impl Observer for Refusals {
    fn refused(&self, _: &Context, refused: &Refused<'_>) {
        self.0.lock().unwrap().extend(refused.status);
    }
}

// MCP-HTTP-12, MCP-N-08
#[tokio::test]
async fn refused_requests_are_reported() {
    let refusals = Refusals::default();
    let settings = Settings::default().with_observer(Some(refusals.clone().into()));
    let serving = serve_settings(&behind(service_layer(), [add()]), settings).await;
    let address = serving.address;
    let call = crate::client::request("tools/call", sum());
    let told = || std::mem::take(&mut *refusals.0.lock().unwrap());
    let wrong_session = crate::client::post(address, &[("mcp-session-id", "unknown")], &call).await;
    assert_eq!((wrong_session.status, told()), (404, vec![404]));
    let no_session = crate::client::post(address, &[], &call).await;
    assert_eq!((no_session.status, told()), (400, vec![400]));
    let wrong_header = call_alone(&serving, &[("mcp-param-x", "1"), ("mcp-name", "other")], sum()).await;
    assert_eq!((wrong_header.status, told()), (400, vec![400]));
    for line in ["GET /mcp", "DELETE /mcp", "PUT /mcp", "GET /messages"] {
        let received = crate::client::send(address, line, &[], None).await;
        assert_eq!(told(), [received.status], "{line}");
    }
    assert_eq!(call_alone(&serving, &[], sum()).await.status, 200);
    assert_eq!(told(), [0; 0]);
}
