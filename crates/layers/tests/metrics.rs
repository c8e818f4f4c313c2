//! Metrics: what is counted, under which names, and that callers cannot add any.
#![cfg(feature = "metrics")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use switchboard_core::observer::SharedObserver;
use switchboard_core::{Connection, Context, Engine, ErrorObject, Json, Method, Origin, Router, Settings};
use switchboard_layers::audit::{Audit, AuditEvent, AuditKind};
use switchboard_layers::metrics::{CallOutcome, Metrics, OTHER};
use switchboard_transport::memory;

/// A server that counts.
struct Counted {
    engine: Engine,
    metrics: Metrics,
}

impl Counted {
    fn new() -> Counted {
        let router = router();
        let metrics = Metrics::of(&router);
        let observers: Vec<SharedObserver> = vec![metrics.clone().into()];
        let settings = Settings::default().with_observer(Some(observers.into()));
        Counted { engine: Engine::new(Arc::new(router), settings), metrics }
    }

    async fn call(&self, message: &str) {
        self.engine.exchange(message.to_owned(), &Context::default()).await;
    }

    fn line(&self, start: &str) -> Option<String> {
        let text = self.metrics.render();
        text.lines().find_map(|line| line.strip_prefix(start)).map(|rest| rest.trim().to_owned())
    }

    fn count(&self, labels: &str) -> Option<String> {
        self.line(&format!(r#"rpc_server_call_duration_seconds_count{{rpc_system_name="jsonrpc",{labels}}}"#))
    }
}

fn router() -> Router {
    let panics = |(): (), _: Context| -> Result<(), ErrorObject> { panic!("as a test wants it") };
    let slow = async |(): (), _: Context| {
        tokio::time::advance(Duration::from_millis(30)).await;
        Ok::<_, ErrorObject>(())
    };
    Router::builder()
        .method("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
        .method("fail", |(code,): (i64,), _| Err::<(), _>(ErrorObject::new(code, "no")))
        .method("panic", panics)
        .async_method("slow", slow)
        .add(Method::stream("count", |(): (), _| stream::iter([1, 2, 3])))
        .add(Method::stream("wait", |(): (), _| stream::pending::<u8>()))
        .build()
        .unwrap()
}

fn message(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

// OBS-R-05, OBS-R-07, OBS-X-02, OBS-X-03
#[tokio::test]
async fn every_call_counts_once_by_method_and_outcome() {
    let counted = Counted::new();
    counted.call(&message("echo", "[1]")).await;
    counted.call(r#"{"jsonrpc":"2.0","method":"echo"}"#).await;
    let batch = [message("echo", "[]"), message("fail", "[-7]"), message("panic", "[]")].join(",");
    counted.call(&format!("[{batch}]")).await;
    assert_eq!(counted.count(r#"rpc_method="echo""#).as_deref(), Some("3"));
    let failed = r#"rpc_method="fail",rpc_status_code="-7",error_type="-7""#;
    assert_eq!(counted.count(failed).as_deref(), Some("1"));
    let panicked = r#"rpc_method="panic",rpc_status_code="-32603",error_type="panic""#;
    assert_eq!(counted.count(panicked).as_deref(), Some("1"));
    assert_eq!(counted.line("switchboard_messages_received_total{kind=\"batch\"}").as_deref(), Some("1"));
    assert_eq!(counted.line("switchboard_calls_in_flight ").as_deref(), Some("0"));
}

// OBS-R-07: the limits that OpenTelemetry recommends are among those written.
#[tokio::test(start_paused = true)]
async fn durations_are_counted_in_the_buckets_of_opentelemetry() {
    let counted = Counted::new();
    counted.call(&message("slow", "[]")).await;
    let bucket = |limit: &str| {
        let labels = r#"rpc_system_name="jsonrpc",rpc_method="slow""#;
        counted.line(&format!(r#"rpc_server_call_duration_seconds_bucket{{{labels},le="{limit}"}}"#)).unwrap()
    };
    for limit in ["0.005", "0.01", "0.025"] {
        assert_eq!(bucket(limit), "0", "{limit}");
    }
    for limit in ["0.05", "0.075", "0.1", "0.25", "0.5", "0.75", "1", "2.5", "5", "7.5", "10", "+Inf"] {
        assert_eq!(bucket(limit), "1", "{limit}");
    }
}

// OBS-X-01, OBS-R-03
#[tokio::test]
async fn names_that_callers_choose_make_one_series() {
    let counted = Counted::new();
    for number in 0..100_000 {
        counted.call(&message(&format!("m{number}"), "[]")).await;
    }
    let unknown = format!(r#"rpc_method="{OTHER}",rpc_status_code="-32601",error_type="-32601""#);
    assert_eq!(counted.count(&unknown).as_deref(), Some("100000"));
    assert_eq!(counted.metrics.render().matches("_count{").count(), 1);
}

// Codes are chosen by methods, perhaps from what callers send.
#[tokio::test]
async fn codes_beyond_the_first_ones_are_counted_together() {
    let counted = Counted::new();
    for code in 0..1_000 {
        counted.call(&message("fail", &format!("[{code}]"))).await;
    }
    let snapshot = counted.metrics.snapshot();
    let (_, outcomes) = &snapshot.methods[0];
    assert_eq!(outcomes.len(), 25);
    let together = outcomes.iter().find(|(outcome, _)| *outcome == CallOutcome::OtherError).unwrap();
    assert_eq!(together.1.count(), 1_000 - 24);
}

// OBS-X-04, OBS-X-06
#[tokio::test]
async fn what_was_refused_is_counted_by_reason() {
    let counted = Counted::new();
    counted.call("{").await;
    counted.call("[]").await;
    counted.call(r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1,"a":2}}"#).await;
    for reason in ["parse_error", "invalid_request", "invalid_params"] {
        let line = format!(r#"switchboard_refused_total{{reason="{reason}"}}"#);
        assert_eq!(counted.line(&line).as_deref(), Some("1"), "{reason}");
    }
    assert_eq!(counted.metrics.snapshot().methods, []);
}

// OBS-X-06
#[tokio::test]
async fn sessions_and_streams_are_counted_while_they_are_open() {
    let counted = Counted::new();
    let (near, far) = memory::pair(1 << 16);
    let connection = |(source, sink), engine| Connection::new(source, sink, engine, Origin::new("memory")).1;
    let serving = tokio::spawn(connection(far, counted.engine.clone()));
    let nothing = Arc::new(Router::builder().build().unwrap());
    let calling = connection(near, Engine::new(nothing, Settings::default()));
    let peer = calling.owning_peer();
    let calling = tokio::spawn(calling);
    let items = peer.stream::<u8>("wait", ()).await.unwrap();
    let all: Vec<_> = peer.stream::<u8>("count", ()).await.unwrap().collect().await;
    assert_eq!(all.len(), 3);
    assert_eq!(counted.line("switchboard_streams_open ").as_deref(), Some("1"));
    assert_eq!(counted.line("switchboard_stream_items_total ").as_deref(), Some("3"));
    assert_eq!(counted.line(r#"switchboard_sessions_open{transport="memory"}"#).as_deref(), Some("1"));
    drop((items, peer));
    let _ = (calling.await, serving.await);
    assert_eq!(counted.line("switchboard_streams_open ").as_deref(), Some("0"));
    assert_eq!(counted.line(r#"switchboard_sessions_open{transport="memory"}"#).as_deref(), Some("0"));
    assert_eq!(counted.line(r#"switchboard_sessions_total{transport="memory"}"#).as_deref(), Some("1"));
}

// OBS-X-06
#[test]
fn security_events_are_counted_even_if_they_are_not_written() {
    let audit = Audit::counting();
    let metrics = Metrics::new(["a"]).with_audit(audit.clone());
    for _ in 0..1_000 {
        audit.record(&AuditEvent::new(AuditKind::REPLAYED));
    }
    let text = metrics.render();
    assert!(text.contains("switchboard_security_events_total{event=\"replayed\"} 1000\n"), "{text}");
    assert!(text.contains("switchboard_security_events_total{event=\"access-denied\"} 0\n"), "{text}");
}

#[tokio::test]
async fn methods_that_become_known_later_are_counted_on_their_own() {
    let counted = Counted::new();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"late","params":[]}"#;
    counted.call(call).await;
    counted.metrics.follow(["late", "echo"]);
    counted.call(call).await;
    counted.call(r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#).await;
    // It keeps its numbers when others follow.
    counted.metrics.follow(["later"]);
    counted.call(call).await;
    assert!(
        counted.metrics.knows(b"late") && counted.metrics.knows(b"later") && !counted.metrics.knows(b"x")
    );
    let names = || counted.metrics.snapshot().methods.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(), ["echo", "late", OTHER]);
    let late = counted.metrics.snapshot().methods.swap_remove(1).1;
    assert_eq!(late.iter().map(|(_, durations)| durations.count()).sum::<u64>(), 2);
}

#[test]
fn methods_that_become_known_later_are_limited() {
    let metrics = Metrics::new(["a"]);
    metrics.follow((0..4095).map(|number| number.to_string()));
    metrics.follow(["a", "0", "last", "one too many"]);
    assert!(metrics.knows(b"last") && !metrics.knows(b"one too many"));
}

#[tokio::test]
async fn names_of_methods_cannot_break_the_format() {
    let method = "a\"b\\c\nd";
    let metrics = Metrics::new([method]).with_gauge("own", "One of one's own.", || 1.5);
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{}}}"#, serde_json::to_string(method).unwrap());
    let settings = Settings::default().with_observer(Some(metrics.clone().into()));
    let engine = Engine::new(Arc::new(Router::builder().build().unwrap()), settings);
    engine.exchange(text, &Context::default()).await;
    let text = metrics.render();
    assert!(text.contains(r#"rpc_method="a\"b\\c\nd","#), "{text}");
    assert!(text.ends_with("# HELP own One of one's own.\n# TYPE own gauge\nown 1.5\n"), "{text}");
}

#[test]
fn numbers_of_ones_own_have_labels_and_are_read_when_asked_for() {
    let nodes = Arc::new(Mutex::new(Vec::new()));
    let read = Arc::clone(&nodes);
    let metrics = Metrics::new([""; 0])
        .with_counters("own_total", "Of one's own.", move || read.lock().unwrap().clone());
    assert!(!metrics.render().contains("own_total"), "without values there is no head");
    let labels = |node: &str| vec![("upstream", "math".to_owned()), ("node", node.to_owned())];
    nodes.lock().unwrap().extend([(labels("a\"b"), 1.0), (labels("c"), 2.0)]);
    let text = metrics.render();
    let expected = "# HELP own_total Of one's own.\n# TYPE own_total counter\n\
                    own_total{upstream=\"math\",node=\"a\\\"b\"} 1\nown_total{upstream=\"math\",node=\"c\"} 2\n";
    assert!(text.ends_with(expected), "{text}");
}
