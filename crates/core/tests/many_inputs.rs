//! Sessions of many inputs, as of streamable HTTP: each POST is answered by itself, and one GET carries what belongs to none.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use switchboard_core::{
    CallError, CloseReason, Context, Delivery, EndReason, Engine, ErrorObject, First, Limits, Method, Origin,
    Output, Outputs, Router, Session, SessionOutput, Settings,
};

/// A carrier of many POSTs and one GET.
struct Carrier {
    engine: Engine,
    session: Session,
}

impl Carrier {
    fn new(router: Router) -> Carrier {
        Carrier::with_settings(router, Settings::default())
    }

    fn with_settings(router: Router, settings: Settings) -> Carrier {
        let engine = Engine::new(Arc::new(router), settings);
        let session = Session::stateful(Origin::new("test"), &engine);
        Carrier { engine, session }
    }

    fn post(&self, body: &str) -> Outputs {
        let cx = Context::from(self.session.clone());
        self.engine.outputs(body.to_owned(), &cx, Delivery::Either { wants_stream: false })
    }

    fn get(&self) -> SessionOutput {
        self.session.attach().unwrap()
    }
}

/// The next message of an answer in parts.
async fn part(outputs: &mut Outputs) -> String {
    let next = tokio::time::timeout(Duration::from_secs(10), outputs.next()).await.expect("in time");
    match next {
        Some(Output::Message(text, _)) => String::from_utf8(text.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// An answer as a whole.
async fn whole(outputs: &mut Outputs) -> Option<String> {
    match outputs.first().await {
        First::Whole(answer) => answer.body().map(|body| String::from_utf8(body.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn call(method: &str, id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":{id}}}"#)
}

/// Asks the caller for its name.
fn asking() -> Router {
    let hello = async |(): (), cx: Context| {
        let name: String = cx.peer().call("name", ()).await?;
        Ok::<_, CallError>(format!("hello {name}"))
    };
    Router::builder().async_method("hello", hello).build().unwrap()
}

#[tokio::test]
async fn a_call_back_goes_into_the_answer_and_a_posted_response_settles_it() {
    let carrier = Carrier::new(asking());
    let (mut first, mut second) = (carrier.post(&call("hello", 1)), carrier.post(&call("hello", 2)));
    let (asked_first, asked_second) = (part(&mut first).await, part(&mut second).await);
    assert!(asked_first.contains(r#""method":"name""#), "{asked_first}");
    assert_ne!(asked_first, asked_second, "their identifiers differ");
    let id = |asked: &str| asked.split(r#""id":"#).nth(1).unwrap().trim_end_matches('}').to_owned();
    let answer =
        |asked: &str, name: &str| format!(r#"{{"jsonrpc":"2.0","result":"{name}","id":{}}}"#, id(asked));
    for (asked, name) in [(&asked_second, "bob"), (&asked_first, "ann")] {
        assert_eq!(whole(&mut carrier.post(&answer(asked, name))).await, None, "202: nothing to answer");
    }
    assert_eq!(part(&mut first).await, r#"{"jsonrpc":"2.0","result":"hello ann","id":1}"#);
    assert_eq!(part(&mut second).await, r#"{"jsonrpc":"2.0","result":"hello bob","id":2}"#);
    assert!(first.next().await.is_none());
}

#[tokio::test]
async fn a_call_that_is_ready_is_answered_as_a_whole() {
    let router = Router::builder().method("two", |(): (), _| Ok::<_, ErrorObject>(2)).build().unwrap();
    let carrier = Carrier::new(router);
    let answer = whole(&mut carrier.post(&call("two", 1))).await;
    assert_eq!(answer.as_deref(), Some(r#"{"jsonrpc":"2.0","result":2,"id":1}"#));
}

/// A method that never ends, and says when it is dropped.
fn endless() -> (Router, Arc<AtomicBool>) {
    struct Alarm(Arc<AtomicBool>);
    impl Drop for Alarm {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let alarm = Arc::clone(&dropped);
    let wait = move |(): (), _: Context| {
        let alarm = Alarm(Arc::clone(&alarm));
        async move {
            std::future::pending::<()>().await;
            drop(alarm);
            Ok::<_, ErrorObject>(())
        }
    };
    let ticks = |(): (), _: Context| futures_util::stream::iter([1]).chain(futures_util::stream::pending());
    let router = Router::builder().async_method("wait", wait).add(Method::stream("ticks", ticks));
    (router.build().unwrap(), dropped)
}

const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":7}}"#;

#[tokio::test]
async fn another_input_cancels_a_call_and_a_stream_and_an_entry_of_a_batch() {
    let (router, dropped) = endless();
    let carrier = Carrier::new(router);
    let mut waiting = carrier.post(&call("wait", 7));
    assert!(waiting.first().now_or_never().is_none());
    assert_eq!(whole(&mut carrier.post(CANCEL)).await, None);
    let answer = whole(&mut waiting).await.unwrap();
    assert!(answer.contains("-32800") && answer.ends_with(r#""id":7}"#), "{answer}");
    assert!(dropped.load(Ordering::Relaxed));

    let mut streaming = carrier.post(&call("ticks", 7));
    assert!(matches!(streaming.next().await, Some(Output::Started(_))));
    assert!(part(&mut streaming).await.contains(r#""result":1"#));
    assert!(streaming.next().now_or_never().is_none());
    carrier.post(CANCEL).first().await;
    assert!(part(&mut streaming).await.contains("-32800"));
    assert!(streaming.next().await.is_none());

    let mut batch = carrier.post(&format!("[{}]", call("wait", 7)));
    assert!(batch.first().now_or_never().is_none());
    // Nothing else has this identifier any more.
    assert!(carrier.session.cancel(&7.into()));
    assert!(whole(&mut batch).await.unwrap().contains("-32800"));
    assert!(!carrier.session.cancel(&7.into()));
}

#[tokio::test]
async fn what_belongs_to_no_input_goes_to_the_attached_output_and_the_next_one_has_the_rest() {
    let (router, _) = endless();
    let carrier = Carrier::new(router);
    let peer = carrier.session.peer().clone();
    let failed = peer.notify("tick", [0]).await;
    assert!(matches!(failed, Err(CallError::Unsupported(_))), "nothing is open: {failed:?}");

    let mut first = carrier.get();
    peer.notify("tick", [1]).await.unwrap();
    peer.notify("tick", [2]).await.unwrap();
    let text = |message: Option<Bytes>| String::from_utf8(message.unwrap().to_vec()).unwrap();
    assert!(text(first.next().await).contains("[1]"));
    let mut second = carrier.get();
    assert_eq!(first.next().await, None, "another took its place");
    drop(first);
    assert!(text(second.next().await).contains("[2]"), "nothing is lost");
    drop(second);

    // Without one it goes into the newest answer that is open.
    let mut waiting = carrier.post(&call("wait", 7));
    peer.notify("tick", [3]).await.unwrap();
    assert!(matches!(waiting.first().await, First::Parts));
    assert!(part(&mut waiting).await.contains("[3]"));
}

#[tokio::test]
async fn a_call_over_the_attached_output_is_settled_by_a_post_or_by_the_end() {
    let carrier = Carrier::new(asking());
    let mut get = carrier.get();
    let peer = carrier.session.peer().clone();
    let asking = tokio::spawn({
        let peer = peer.clone();
        async move { peer.call::<String>("name", ()).await }
    });
    let asked = String::from_utf8(get.next().await.unwrap().to_vec()).unwrap();
    let id = asked.split(r#""id":"#).nth(1).unwrap().trim_end_matches('}');
    carrier.post(&format!(r#"{{"jsonrpc":"2.0","result":"ann","id":{id}}}"#)).first().await;
    assert_eq!(asking.await.unwrap().unwrap(), "ann");

    let asking = tokio::spawn(async move { peer.call::<String>("name", ()).await });
    get.next().await.unwrap();
    carrier.session.end(EndReason::Finished);
    assert!(matches!(asking.await.unwrap(), Err(CallError::Closed(_))));
    assert_eq!(get.next().await, None);
}

#[tokio::test]
async fn responses_cancels_and_calls_may_stand_in_one_batch() {
    let carrier = Carrier::new(asking());
    let mut first = carrier.post(&call("hello", 1));
    let asked = part(&mut first).await;
    let id = asked.split(r#""id":"#).nth(1).unwrap().trim_end_matches('}');
    let batch = format!(r#"[{{"jsonrpc":"2.0","result":"ann","id":{id}}},{CANCEL}]"#);
    assert_eq!(whole(&mut carrier.post(&batch)).await, None);
    assert!(part(&mut first).await.contains("hello ann"));
}

#[tokio::test]
async fn a_stray_response_is_not_answered_and_no_more_calls_run_than_may() {
    let (router, _) = endless();
    let limits = Limits::default().with_in_flight(2);
    let carrier = Carrier::with_settings(router, Settings::default().with_limits(limits));
    assert_eq!(whole(&mut carrier.post(r#"{"jsonrpc":"2.0","result":1,"id":99}"#)).await, None);
    let mut waiting: Vec<_> = (1..=2).map(|id| carrier.post(&call("wait", id))).collect();
    let refused = whole(&mut carrier.post(&call("wait", 3))).await.unwrap();
    assert!(refused.contains("-32005"), "{refused}");
    let refused = whole(&mut carrier.post(&format!("[{}]", call("wait", 3)))).await.unwrap();
    assert!(refused.contains("-32005"), "{refused}");
    waiting.pop();
    assert!(carrier.post(&call("wait", 3)).first().now_or_never().is_none());
}

#[tokio::test]
async fn what_nobody_reads_is_bounded() {
    let limits = Limits::default().with_outbox(4096);
    let carrier = Carrier::with_settings(asking(), Settings::default().with_limits(limits));
    let get = carrier.get();
    let peer = carrier.session.peer().clone();
    let mut sent = 0;
    while peer.notify("tick", ["x".repeat(100)]).now_or_never().is_some() {
        sent += 1;
        assert!(sent < 100, "it never waits");
    }
    // Calls that are given up send cancels, which find no reader and are dropped.
    drop(get);
    let waiting = carrier.post(&call("hello", 1));
    drop(waiting);
    let mut get = carrier.get();
    let mut left = 0;
    while get.next().now_or_never().flatten().is_some() {
        left += 1;
    }
    assert_eq!(left, sent, "nothing was added");
}

#[tokio::test]
async fn an_output_that_takes_the_place_of_another_gets_what_that_had_not_given() {
    let (router, _) = endless();
    let carrier = Carrier::new(router);
    let peer = carrier.session.peer().clone();
    let mut first = carrier.get();
    for number in 1..=3 {
        peer.notify("tick", [number]).await.unwrap();
    }
    let text = |message: Option<Bytes>| String::from_utf8(message.unwrap().to_vec()).unwrap();
    assert!(text(first.next().await).contains("[1]"));
    let mut second = carrier.get();
    assert!(text(second.next().await).contains("[2]"), "before the first one is gone");
    drop(first);
    assert!(text(second.next().await).contains("[3]"));
    assert!(second.next().now_or_never().is_none());
    peer.notify("tick", [4]).await.unwrap();
    assert!(text(second.next().await).contains("[4]"));
}

#[tokio::test]
async fn a_full_session_takes_answers_and_cancels_in_a_batch() {
    let limits = Limits::default().with_in_flight(1);
    let carrier = Carrier::with_settings(asking(), Settings::default().with_limits(limits));
    let mut first = carrier.post(&call("hello", 1));
    let asked = part(&mut first).await;
    let id = asked.split(r#""id":"#).nth(1).unwrap().trim_end_matches('}');
    let batch = format!(r#"[{{"jsonrpc":"2.0","result":"ann","id":{id}}},{}]"#, call("hello", 2));
    let refused = whole(&mut carrier.post(&batch)).await.unwrap();
    assert!(refused.contains("-32005") && refused.contains(r#""id":2"#), "{refused}");
    assert!(part(&mut first).await.contains("hello ann"));
}

#[tokio::test]
async fn a_call_back_that_is_given_up_is_cancelled_where_it_was_sent() {
    let ask = async |(): (), cx: Context| {
        let asked = cx.peer().call::<String>("name", ()).timeout(Duration::from_millis(1)).await;
        Ok::<_, ErrorObject>(asked.is_err())
    };
    let carrier = Carrier::new(Router::builder().async_method("ask", ask).build().unwrap());
    let mut outputs = carrier.post(&call("ask", 1));
    assert!(part(&mut outputs).await.contains(r#""method":"name""#));
    assert!(part(&mut outputs).await.contains("rpc.cancel"));
    assert!(part(&mut outputs).await.contains(r#""result":true"#));
}

#[tokio::test]
async fn a_session_that_is_closed_finishes_what_it_has_and_takes_no_more() {
    let carrier = Carrier::new(asking());
    let mut get = carrier.get();
    let mut first = carrier.post(&call("hello", 1));
    let asked = part(&mut first).await;
    carrier.session.close(CloseReason::new("enough"));
    let refused = whole(&mut carrier.post(&call("hello", 2))).await.unwrap();
    assert!(refused.contains("-32006"), "{refused}");
    assert!(get.next().now_or_never().is_none(), "a call is under way");
    let id = asked.split(r#""id":"#).nth(1).unwrap().trim_end_matches('}');
    carrier.post(&format!(r#"{{"jsonrpc":"2.0","result":"ann","id":{id}}}"#)).first().await;
    assert!(part(&mut first).await.contains("hello ann"));
    assert!(first.next().await.is_none());
    assert_eq!(get.next().await, None);
}
