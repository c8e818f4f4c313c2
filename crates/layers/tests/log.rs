//! The call log: what has a line, what a line says, and what it never says.
#![cfg(feature = "log")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use futures_util::stream;
use serde_json::{Value, json};
use switchboard_core::{
    Context, Engine, ErrorObject, Json, Layer as _, Metadata, Method, Origin, Router, Service, Settings,
};
use switchboard_layers::identity::{Authentication, Tokens};
use switchboard_layers::log::{BodyRules, CallLog, CallLogBuilder, LogFormat, LogLevel};

const ALICE: &str = "2f9c1b7e55a04d13";
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const LONG: Duration = Duration::from_secs(20);

/// A server that logs, and its lines.
struct Logged {
    engine: Engine,
    log: CallLog,
    lines: Receiver<String>,
}

impl Logged {
    fn new(builder: CallLogBuilder) -> Logged {
        Logged::of(builder, router())
    }

    fn of(builder: CallLogBuilder, service: impl Service) -> Logged {
        let (sender, lines) = mpsc::channel();
        let log = builder.into_fn(move |line| sender.send(line.to_owned()).unwrap()).unwrap();
        let settings = Settings::default().with_observer(Some(log.clone().into()));
        Logged { engine: Engine::new(Arc::new(service), settings), log, lines }
    }

    async fn call(&self, message: &str) {
        let origin = Origin::new("http").with_address("192.0.2.7:50123".parse().unwrap());
        let metadata = [("authorization", format!("Bearer {ALICE}")), ("traceparent", TRACE.to_owned())];
        let cx = Context::new(origin).with_metadata(Metadata::from_iter(metadata));
        self.engine.exchange(message.to_owned(), &cx).await;
    }

    fn lines(&self) -> Vec<String> {
        self.log.flush(LONG);
        self.lines.try_iter().collect()
    }

    fn read(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn router() -> Router {
    let count = Method::stream("count", |(): (), _| stream::iter([1, 2, 3]));
    let slow = async |(): (), _: Context| {
        tokio::time::advance(Duration::from_millis(50)).await;
        Ok::<_, ErrorObject>(())
    };
    let panics = |(): (), _: Context| -> Result<(), ErrorObject> { panic!("secret-in-a-panic") };
    Router::builder()
        .method("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
        .method("fail", |(): (), _| Err::<(), _>(ErrorObject::new(-7, "secret-in-a-message")))
        .method("panic", panics)
        .async_method("slow", slow)
        .add(count)
        .build()
        .unwrap()
}

fn message(method: &str, id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

// OBS-X-04, OBS-X-05, OBS-X-08
#[tokio::test]
async fn every_call_has_a_line_that_says_who_called_what_and_how_it_ended() {
    let authentication = Authentication::new(Tokens::parse(&format!("alice:{ALICE}")).unwrap());
    let logged = Logged::of(CallLog::builder(), router().layered(authentication));
    logged.call(r#"{"jsonrpc":"2.0","id":"a","method":"echo","params":{"password":"hunter2"}}"#).await;
    let lines = logged.read();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    for (name, expected) in [
        ("level", json!("info")),
        ("event", json!("call")),
        ("outcome", json!("ok")),
        ("method", json!("echo")),
        ("id", json!("a")),
        ("bytesIn", json!(22)),
        ("who", json!("alice")),
        ("transport", json!("http")),
        ("peer", json!("192.0.2.7:50123")),
        ("trace", json!("4bf92f3577b34da6a3ce929d0e0e4736")),
    ] {
        assert_eq!(line[name], expected, "{name} in {line}");
    }
    assert!(line["ms"].is_f64() && line["bytesOut"].as_u64() > Some(40), "{line}");
    assert_eq!(line["session"].as_str().unwrap().len(), 8);
    assert!(line["time"].as_str().unwrap().ends_with('Z') && line.get("batch").is_none());
    for secret in ["hunter2", "password", ALICE] {
        assert!(!line.to_string().contains(secret), "{line}");
    }
}

#[tokio::test]
async fn failures_are_of_a_higher_level_and_tell_no_secrets() {
    let logged = Logged::new(CallLog::builder());
    for (text, expected) in [
        (message("fail", 1), json!(["warn", "call", "error", -7])),
        (message("panic", 2), json!(["error", "call", "panicked", -32603])),
        (message("missing", 3), json!(["warn", "call", "error", -32601])),
        (message("count", 4), json!(["info", "call", "ok", null])),
        (r#"{"jsonrpc":"2.0","method":"fail"}"#.to_owned(), json!(["warn", "notification", "error", -7])),
        (r#"{"jsonrpc":"2.0","method":"echo"}"#.to_owned(), json!(["info", "notification", "ok", null])),
        ("{".to_owned(), json!(["warn", "refused", null, -32700])),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(), json!(["warn", "refused", null, -32600])),
    ] {
        logged.call(&text).await;
        let lines = logged.read();
        let [line] = &lines[..] else { panic!("{text}: {lines:?}") };
        let found = ["level", "event", "outcome", "code"].map(|name| line[name].clone());
        assert_eq!(json!(found), expected, "{text}: {line}");
        assert!(!line.to_string().contains("secret"), "{line}");
    }
}

// OBS-X-03
#[tokio::test]
async fn a_batch_has_a_line_and_one_for_each_entry() {
    let logged = Logged::new(CallLog::builder());
    logged.call(&format!("[{},{},1]", message("count", 1), message("missing", 2))).await;
    let lines = logged.read();
    let batch = &lines[0]["batch"];
    assert!(batch.is_u64());
    let mut found: Vec<_> =
        lines.iter().map(|line| json!([line["event"], line["entry"], line["code"]])).collect();
    found[1..].sort_by_key(|line| line[1].as_u64());
    let expected = [
        json!(["batch", null, null]),
        json!(["call", 0, null]),
        json!(["call", 1, -32601]),
        json!(["refused", 2, -32600]),
    ];
    assert_eq!(found, expected);
    assert!(lines.iter().all(|line| line["batch"] == *batch), "{lines:?}");
    assert_eq!(lines[0]["entries"], 3);
}

#[tokio::test]
async fn levels_hold_for_all_methods_or_for_some() {
    let logged = Logged::new(
        CallLog::builder()
            .with_level(LogLevel::Warn)
            .with_level_of("count".parse().unwrap(), LogLevel::Info)
            .with_level_of("f*".parse().unwrap(), LogLevel::Off),
    );
    for method in ["echo", "count", "fail", "missing"] {
        logged.call(&message(method, 1)).await;
    }
    let methods = |lines: Vec<Value>| lines.iter().map(|line| line["method"].clone()).collect::<Vec<_>>();
    assert_eq!(methods(logged.read()), ["count", "missing"]);
    logged.log.set_level(LogLevel::Info);
    logged.call(&message("echo", 1)).await;
    assert_eq!(methods(logged.read()), ["echo"]);
    for (level, expected) in [(Some(LogLevel::Warn), &["fail"][..]), (None, &["echo"])] {
        for methods in ["fail", "e*"] {
            logged.log.set_level_of(methods.parse().unwrap(), level);
        }
        for method in ["echo", "fail"] {
            logged.call(&message(method, 1)).await;
        }
        assert_eq!(methods(logged.read()), *expected);
    }
}

// SEC-E-01
#[tokio::test]
async fn an_internal_error_is_found_by_the_incident_number_that_its_caller_got() {
    for format in [LogFormat::Json, LogFormat::Pretty] {
        let logged = Logged::new(CallLog::builder().with_format(format));
        let answer = logged.engine.exchange(message("panic", 1), &Context::default()).await;
        let answer: Value = serde_json::from_slice(&answer.into_body().unwrap()).unwrap();
        let incident = answer["error"]["data"]["incident"].as_str().unwrap();
        let lines = logged.lines();
        assert!(lines.len() == 1 && lines[0].contains(incident), "{incident}: {lines:?}");
    }
    // A method may put anything into the data of its errors; only numbers of incidents are written.
    let data = |(): (), _: Context| {
        Err::<(), _>(ErrorObject::new(-7, "no").with_data(&json!({"incident": "secret-in-data"})))
    };
    let router = Router::builder().method("fail", data).build().unwrap();
    let logged = Logged::of(CallLog::builder(), router);
    logged.call(&message("fail", 1)).await;
    assert!(!logged.lines()[0].contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_share_of_the_successes_is_written_and_every_slow_call() {
    let slow = Duration::from_millis(50);
    let logged = Logged::new(CallLog::builder().with_sample(0.1).with_slow(slow));
    for id in 0..1000 {
        logged.call(&message("count", id)).await;
    }
    assert_eq!(logged.read().len(), 100);
    logged.call(&message("slow", 1)).await;
    let lines = logged.read();
    assert_eq!((&lines[0]["slow"], &lines[0]["level"]), (&json!(true), &json!("warn")));
}

#[tokio::test]
async fn equal_failures_are_summed_up() {
    for format in [LogFormat::Json, LogFormat::Pretty] {
        let logged = Logged::new(CallLog::builder().with_format(format));
        for id in 0..10_000 {
            logged.call(&message("mistyped", id)).await;
        }
        let lines = logged.lines();
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[5].contains("9995"), "{}", lines[5]);
    }
}

#[tokio::test]
async fn different_failures_write_a_bounded_number_of_bytes() {
    let logged = Logged::new(CallLog::builder());
    for id in 0..60_000 {
        logged.call(&message(&format!("{id}{}", "m".repeat(1000)), id)).await;
    }
    let bytes: usize = logged.lines().iter().map(String::len).sum();
    assert!(bytes < 512 << 10, "{bytes}");
}

// SEC-E-05
#[tokio::test]
async fn nothing_in_a_line_passes_for_another_one_or_commands_a_terminal() {
    let hostile = r"a\n{\u001b[2J\u202e\u009b\u007f\u0000é\\\u0022";
    for format in [LogFormat::Json, LogFormat::Pretty] {
        let logged = Logged::new(CallLog::builder().with_format(format));
        logged.call(&format!(r#"{{"jsonrpc":"2.0","id":"{hostile}","method":"{hostile}"}}"#)).await;
        logged.call(&format!(r#"{{"jsonrpc":"2.0","id":"é{}","method":"echo"}}"#, "x".repeat(10_000))).await;
        let lines = logged.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')) && line.len() < 600, "{line}");
        }
    }
}

#[tokio::test]
async fn calls_do_not_wait_for_a_log_that_is_not_read() {
    let (release, blocked) = mpsc::channel::<()>();
    let log = CallLog::builder().into_fn(move |_| blocked.recv().unwrap_or_default()).unwrap();
    let settings = Settings::default().with_observer(Some(log.clone().into()));
    let engine = Engine::new(Arc::new(router()), settings);
    for id in 0..60_000 {
        engine.exchange(message("count", id), &Context::default()).await;
    }
    assert!(log.lost() > 0, "more lines than fit into the queue");
    drop(release);
}

#[tokio::test]
async fn people_read_columns() {
    let logged = Logged::new(CallLog::builder().with_format(LogFormat::Pretty));
    logged.call(&message("count", 1)).await;
    logged.call("{").await;
    let lines = logged.lines();
    assert!(lines[0].contains("  ok            count                    "), "{}", lines[0]);
    assert!(lines[0].contains("  http 192.0.2.7:50123  id 1  0 B in, "), "{}", lines[0]);
    assert!(lines[1].contains("  refused -32700"), "{}", lines[1]);
}

// OBS-X-05: bodies are written only when asked for, and never with secrets that have a usual name.
#[tokio::test]
async fn bodies_are_written_without_what_is_redacted() {
    let (sender, lines) = mpsc::channel();
    let log = CallLog::builder()
        .with_level(LogLevel::Off)
        .into_fn(move |line| sender.send(line.to_owned()).unwrap())
        .unwrap();
    let rules = BodyRules::default()
        .redact("iban")
        .unwrap()
        .redact("/params/cards/*/number")
        .unwrap()
        .with_limit(200);
    let service = log.bodies(rules).layer(Arc::new(router()));
    let engine = Engine::new(service, Settings::default());
    let written = async |method: &str, params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{params}}}"#);
        engine.exchange(text, &Context::default()).await;
        log.flush(LONG);
        let line = lines.try_recv().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let params = r#"{"user":"Ann\u001b[2J","Pass_Word":"secret-1","nested":{"api-key":"secret-2"},"iban":"secret-3","cards":[{"number":"secret-4","n":1}]}"#;
    let line = written("echo", params).await;
    let [sent, got] = ["params", "result"].map(|name| line[name].as_str().unwrap().to_owned());
    // The method echoes its params; the pointer is about params only.
    assert!(!sent.contains("secret") && !got.replace("secret-4", "").contains("secret"), "{line}");
    assert!(
        sent.contains(r#""user":"Ann\u001b[2J""#) && sent.contains(r#"{"n":1,"number":"[redacted]"}"#),
        "{sent}"
    );
    assert_eq!(
        (&line["event"], &line["id"], &line["method"]),
        (&"bodies".into(), &"a".into(), &"echo".into())
    );
    let long = written("echo", &format!("[{:?}]", "x".repeat(1_000))).await;
    assert!(
        long["params"].as_str().unwrap().ends_with("... (1004 bytes)") && long.to_string().len() < 700,
        "{long}"
    );
    let huge = written("echo", &format!("[{:?}]", "x".repeat(100_000))).await;
    assert_eq!(huge["params"], "(100004 bytes)");
    let login = written("rpc.login", r#"["secret"]"#).await;
    assert_eq!(login["params"], "[redacted]");
    assert_eq!(written("count", "[]").await["result"], "(a stream)");
}

#[tokio::test]
async fn bodies_of_failures_can_be_written_alone() {
    let (sender, lines) = mpsc::channel();
    let log = CallLog::builder()
        .with_level(LogLevel::Off)
        .into_fn(move |line| sender.send(line.to_owned()).unwrap())
        .unwrap();
    let service = log.bodies(BodyRules::default().failures_only()).layer(Arc::new(router()));
    let engine = Engine::new(service, Settings::default());
    for method in ["echo", "fail"] {
        engine.exchange(message(method, 1), &Context::default()).await;
    }
    log.flush(LONG);
    let lines: Vec<String> = lines.try_iter().collect();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains(r#""error":"{\"code\":-7,"#), "{}", lines[0]);
    assert!(BodyRules::default().redact("/headers/x").is_err());
}
