//! What an observer is told: each message, each refusal, and how each call ended as its caller saw it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use switchboard_core::observer::{Begun, Ended, InputKind, Observer, Position, Received, Refused};
use switchboard_core::{
    Call, Connection, Context, Delivery, EndReason, Engine, ErrorObject, FrameSink, FrameSource, Json,
    Limits, Method, Origin, Reply, ReplyFuture, Router, Session, Settings, service_fn,
};
use switchboard_transport::memory;

/// Writes down all that it is told.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().unwrap().push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// How calls ended, each as its method and end, in the order of the methods.
    fn ends(&self) -> Vec<String> {
        let notes = self.take();
        let begun = notes.iter().filter(|note| note.starts_with("begun")).count();
        let mut ends: Vec<_> =
            notes.iter().filter_map(|note| note.strip_prefix("ended ")).map(str::to_owned).collect();
        assert_eq!(begun, ends.len(), "each call that begins ends once: {notes:?}");
        ends.sort();
        ends
    }
}

impl Observer for Notes {
    fn opened(&self, session: &Session) {
        self.add(format!("opened {}", session.origin().transport));
    }

    fn closed(&self, _: &str, origin: &Origin, reason: &EndReason) {
        self.add(format!("closed {} {reason:?}", origin.transport));
    }

    fn received(&self, _: &Context, message: &Received) {
        let kind = match message.kind {
            InputKind::Batch(entries) => format!("batch of {entries}"),
            other => format!("{other:?}"),
        };
        self.add(format!("received {kind}, {} bytes", message.bytes));
    }

    fn refused(&self, _: &Context, refused: &Refused<'_>) {
        self.add(format!("refused {}", refused.error.code));
    }

    fn begun(&self, call: &Begun<'_>) {
        self.add(format!("begun {}", call.method));
    }

    fn ended(&self, call: &Ended<'_>) {
        let at = match call.at {
            Position::Entry { index, .. } => format!(" #{index}"),
            _ => String::new(),
        };
        self.add(format!("ended {}{at} {:?}", call.method, call.end));
    }
}

fn router() -> Router {
    let later = |value: u32| async move {
        tokio::task::yield_now().await;
        Ok::<_, ErrorObject>(value)
    };
    Router::builder()
        .method("add", |(a, b): (u32, u32), _| Ok::<_, ErrorObject>(a + b))
        .method("crash", |(): (), _| -> Result<(), ErrorObject> { panic!("on purpose") })
        .method("long", |(): (), _| Ok::<_, ErrorObject>("x".repeat(2000)))
        .async_method("later", move |(): (), _| later(1))
        .async_method("never", |(): (), _| std::future::pending::<Result<(), ErrorObject>>())
        .async_method("crash_later", |(): (), _| async {
            tokio::task::yield_now().await;
            if true { panic!("on purpose") } else { Ok::<_, ErrorObject>(()) }
        })
        .add(Method::stream("count", |(n,): (u32,), _| stream::iter(0..n)))
        .build()
        .unwrap()
}

fn settings(notes: &Notes) -> Settings {
    let limits = Limits::default().with_reply(1000).with_call_time(Duration::from_secs(5));
    Settings::default().with_limits(limits).with_observer(Some(notes.clone().into()))
}

fn engine(notes: &Notes) -> Engine {
    Engine::new(Arc::new(router()), settings(notes))
}

/// Calls with every end there is, but for streams and cancels, and how they end.
const CALLS: [(&str, &str); 8] = [
    (r#""method":"add","params":[1,2],"id":1"#, "add Value"),
    (r#""method":"add","params":["x"],"id":1"#, "add Error(Code(-32602))"),
    (r#""method":"crash","id":1"#, "crash Panicked"),
    (r#""method":"crash_later","id":1"#, "crash_later Panicked"),
    (r#""method":"later","id":1"#, "later Value"),
    (r#""method":"long","id":1"#, "long TooLarge"),
    (r#""method":"never","id":1"#, "never TimedOut"),
    (r#""method":"add","params":[1,2]"#, "add Notified(None)"),
];

fn message(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0",{members}}}"#)
}

fn batch() -> String {
    format!("[{}]", CALLS.map(|(members, _)| message(members)).join(","))
}

fn ends_of_batch() -> Vec<String> {
    let indexed =
        CALLS.iter().enumerate().map(|(index, (_, end))| end.replacen(' ', &format!(" #{index} "), 1));
    let mut ends: Vec<_> = indexed.collect();
    ends.sort();
    ends
}

#[tokio::test(start_paused = true)]
async fn an_exchange_tells_how_each_call_ended() {
    let notes = Notes::default();
    for (members, end) in CALLS {
        engine(&notes).exchange(message(members), &Context::default()).await;
        assert_eq!(notes.ends(), [end], "{members}");
    }
    engine(&notes).exchange(batch(), &Context::default()).await;
    assert_eq!(notes.ends(), ends_of_batch());
}

#[tokio::test(start_paused = true)]
async fn outputs_tell_how_each_call_and_stream_ended() {
    let notes = Notes::default();
    for (members, end) in CALLS {
        let outputs = engine(&notes).outputs(message(members), &Context::default(), Delivery::Parts);
        outputs.collect::<Vec<_>>().await;
        assert_eq!(notes.ends(), [end], "{members}");
    }
    let count = message(r#""method":"count","params":[3],"id":1"#);
    engine(&notes).outputs(count, &Context::default(), Delivery::Parts).collect::<Vec<_>>().await;
    assert_eq!(notes.ends(), ["count Stream { items: 3, code: None }"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_abandoned() {
    let notes = Notes::default();
    let mut exchange =
        Box::pin(engine(&notes).exchange(message(r#""method":"never","id":1"#), &Context::default()));
    assert!((&mut exchange).now_or_never().is_none());
    drop(exchange);
    assert_eq!(notes.ends(), ["never Abandoned"]);
}

#[tokio::test]
async fn messages_are_told_before_they_run_and_refusals_in_place_of_calls() {
    let notes = Notes::default();
    for (body, expected) in [
        ("{", vec!["received Unreadable, 1 bytes", "refused -32700"]),
        ("[]", vec!["received Unreadable, 2 bytes", "refused -32600"]),
        ("7", vec!["received Unreadable, 1 bytes", "refused -32600"]),
        ("[7]", vec!["received batch of 1, 3 bytes", "refused -32600"]),
        (r#"{"jsonrpc":"2.0","result":1,"id":1}"#, vec!["received Response, 35 bytes", "refused -32600"]),
    ] {
        engine(&notes).exchange(body, &Context::default()).await;
        assert_eq!(notes.take(), expected, "{body}");
    }
}

/// A connection that is spoken to in frames.
struct Raw {
    source: memory::MemorySource,
    sink: memory::MemorySink,
}

impl Raw {
    fn connect(notes: &Notes) -> Raw {
        Raw::of(engine(notes))
    }

    fn of(engine: Engine) -> Raw {
        let ((source, sink), (their_source, their_sink)) = memory::pair(1 << 16);
        let (_, connection) = Connection::new(their_source, their_sink, engine, Origin::new("memory"));
        tokio::spawn(connection);
        Raw { source, sink }
    }

    async fn send(&mut self, message: &str) {
        self.sink.push(message.as_bytes());
        poll_fn(|cx| self.sink.poll_flush(cx)).await.unwrap();
    }

    async fn receive(&mut self) -> Bytes {
        poll_fn(|cx| self.source.poll_frame(cx)).await.unwrap().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_tells_how_each_call_and_stream_ended() {
    let notes = Notes::default();
    let mut raw = Raw::connect(&notes);
    assert_eq!(notes.take(), ["opened memory"]);
    for (members, end) in CALLS {
        raw.send(&message(members)).await;
        // What follows a notification is answered after it.
        let marker = message(r#""method":"rpc.unsubscribe","params":[0],"id":"end""#);
        raw.send(&marker).await;
        while !raw.receive().await.ends_with(br#""end"}"#) {}
        if notes.0.lock().unwrap().iter().all(|note| !note.starts_with("ended")) {
            raw.receive().await;
        }
        assert_eq!(notes.ends(), [end], "{members}");
    }
    raw.send(&batch()).await;
    raw.receive().await;
    assert_eq!(notes.ends(), ends_of_batch());
    raw.send(&message(r#""method":"count","params":[3],"id":1"#)).await;
    while !Json::parse(raw.receive().await).unwrap().as_str().contains("rpc.end") {}
    assert_eq!(notes.ends(), ["count Stream { items: 3, code: None }"]);
    raw.send(&message(r#""method":"never","id":7"#)).await;
    raw.send(&message(r#""method":"rpc.cancel","params":{"id":7}"#)).await;
    assert!(raw.receive().await.windows(6).any(|part| part == b"-32800"));
    assert_eq!(notes.ends(), ["never Cancelled"]);
}

#[tokio::test]
async fn the_end_of_a_session_is_told_once() {
    let notes = Notes::default();
    let mut raw = Raw::connect(&notes);
    raw.send(&message(r#""method":"add","params":[1,2],"id":1"#)).await;
    raw.receive().await;
    let Raw { source, mut sink } = raw;
    poll_fn(|cx| sink.poll_close(cx)).await.unwrap();
    drop((source, sink));
    while notes.0.lock().unwrap().last().is_none_or(|note| !note.starts_with("closed")) {
        tokio::task::yield_now().await;
    }
    let closed = notes.take().into_iter().filter(|note| note.starts_with("closed")).count();
    assert_eq!(closed, 1);
}

/// Writes down who made each call.
#[derive(Clone, Default)]
struct Callers(Arc<Mutex<Vec<String>>>);

impl Observer for Callers {
    fn ended(&self, call: &Ended<'_>) {
        let caller = call.cx.caller::<&str>().unwrap_or(&"nobody");
        self.0.lock().unwrap().push(format!("{} by {caller}", call.method));
    }
}

#[tokio::test]
async fn a_caller_is_of_one_call_and_the_observer_sees_it() {
    let identified = |call: &Call| {
        if call.method.as_str() == "first" {
            assert!(call.cx.identify(Arc::new("alice")).is_ok());
            assert!(call.cx.identify(Arc::new("mallory")).is_err(), "the first one counts");
        }
        ReplyFuture::ready(Reply::of(&call.cx.caller::<&str>().copied()))
    };
    let callers = Callers::default();
    let settings = Settings::default().with_observer(Some(callers.clone().into()));
    let service = Arc::new(service_fn(identified));
    let messages =
        [r#"{"jsonrpc":"2.0","id":1,"method":"first"}"#, r#"{"jsonrpc":"2.0","id":2,"method":"second"}"#];
    let cx = Context::new(Origin::new("test"));
    let engine = Engine::new(service, settings);
    for input in [messages[0].to_owned(), messages[1].to_owned(), format!("[{}]", messages.join(","))] {
        engine.exchange(input, &cx).await;
    }
    let mut raw = Raw::of(engine);
    for (message, result) in messages.iter().zip([r#""alice""#, "null"]) {
        raw.send(message).await;
        let answer = raw.receive().await;
        assert!(String::from_utf8_lossy(&answer).contains(&format!(r#""result":{result}"#)), "{answer:?}");
    }
    let expected = ["first by alice", "second by nobody"].repeat(3);
    assert_eq!(*callers.0.lock().unwrap(), expected);
}

/// Keeps the incident numbers of calls.
#[derive(Clone, Default)]
struct Incidents(Arc<Mutex<Vec<String>>>);

impl Observer for Incidents {
    fn ended(&self, call: &Ended<'_>) {
        let incident = call.error.and_then(ErrorObject::incident);
        self.0.lock().unwrap().push(incident.unwrap_or_default());
    }
}

// SEC-E-01
#[tokio::test]
async fn the_observer_gets_the_incident_number_that_the_caller_gets() {
    let incidents = Incidents::default();
    let settings = Settings::default().with_observer(Some(incidents.clone().into()));
    let engine = Engine::new(Arc::new(router()), settings);
    let [crash, later] =
        ["crash", "crash_later"].map(|method| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
    let check = |answer: &[u8], count: usize| {
        let (answer, seen) =
            (String::from_utf8_lossy(answer), std::mem::take(&mut *incidents.0.lock().unwrap()));
        assert_eq!(seen.len(), count);
        for incident in seen {
            assert!(incident.len() == 16 && answer.contains(&incident), "{incident:?}: {answer}");
        }
    };
    for (input, count) in [(crash.clone(), 1), (later.clone(), 1), (format!("[{later},{crash}]"), 2)] {
        let answer = engine.exchange(input, &Context::default()).await;
        check(&answer.into_body().unwrap(), count);
    }
    let mut raw = Raw::of(engine);
    for input in [&crash, &later] {
        raw.send(input).await;
        check(&raw.receive().await, 1);
    }
}
