//! Workers against servers of this process, in paused time.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use serde_json::{Value, json};
use switchboard::framing::Framing;
use switchboard::{Json, Version};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

use super::super::carrier::{Carrier, Stream};
use super::super::plan::plan;
use super::*;

const MS: Duration = Duration::from_millis(1);

/// Makes the plan's calls on one thread over what `connect` gives.
async fn measure(
    plan: &Plan,
    connect: impl Fn() -> Result<DuplexStream, CallError> + Send + Sync + 'static,
) -> (Tally, Result<(), CallError>) {
    let lines = || Carrier::Stream(Stream::new(Framing::Lines));
    let connect: Connect =
        Arc::new(move || Box::pin(std::future::ready(connect().map(|io| Line::new(io, lines())))));
    let work = Work { method: "work".to_owned(), params: Json::parse("[1]").ok(), version: Version::V2 };
    let worker = Worker::new(plan, 0, &work, connect, Arc::default(), Alarm::coarse()).await;
    let mut worker = worker.unwrap_or_else(|error| panic!("{error}"));
    let outcome = worker.run(Schedule::new(plan, 0, Instant::now())).await;
    (worker.tally, outcome)
}

/// What a server does about a message: says something after a time, or hangs up.
enum Act {
    Say(Duration, Vec<Value>),
    HangUp,
}

/// A connection to a server that does with each message what `act` says. It gets the message.
fn far(act: impl Fn(Value) -> Act + Send + 'static) -> DuplexStream {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (reader, mut writer) = tokio::io::split(far);
    let (say, mut said) = mpsc::unbounded_channel::<Option<Value>>();
    tokio::spawn(async move {
        while let Some(Some(message)) = said.recv().await {
            if writer.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match act(serde_json::from_str(&line).unwrap()) {
                Act::HangUp => {
                    let _ = say.send(None);
                    return;
                }
                Act::Say(time, words) => {
                    let say = say.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(time).await;
                        words.into_iter().for_each(|word| drop(say.send(Some(word))));
                    });
                }
            }
        }
    });
    near
}

/// The right answer to a call or batch.
fn right(message: &Value) -> Value {
    let answer = |call: &Value| json!({"jsonrpc": "2.0", "result": 1, "id": call["id"]});
    message.as_array().map_or_else(|| answer(message), |calls| calls.iter().map(answer).collect())
}

/// A server that answers a call at the moment which `when` gives for the moment of the call, both since `start`.
fn answering(start: Instant, when: impl Fn(Duration) -> Duration + Send + 'static) -> DuplexStream {
    far(move |message| {
        let now = start.elapsed();
        Act::Say(when(now).saturating_sub(now), vec![right(&message)])
    })
}

/// Nothing is answered from 1 s to 2 s; otherwise it takes a millisecond.
fn stalling(start: Instant) -> DuplexStream {
    answering(start, |now| if (1000 * MS..2000 * MS).contains(&now) { 2000 * MS } else { now + MS })
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_due_during_a_stall_show_it_at_any_depth() {
    for depth in [1, 10, 1000] {
        let plan = Plan { rate: Some(100.0), seconds: Some(4.0), depth, ..plan() };
        let start = Instant::now();
        let (tally, outcome) = measure(&plan, move || Ok(stalling(start))).await;
        assert_eq!(outcome, Ok(()));
        assert_eq!((tally.results, tally.pace.unsent, tally.pace.late), (400, 0, 0), "depth {depth}");
        // A hundred calls were due in that second, and waited from nearly a second down to nothing. With one place it
        // takes a while longer until all of them are through.
        let longer = |time: Duration| tally.latency.count_between(time.as_nanos() as u64, u64::MAX);
        assert!((89..=125).contains(&longer(100 * MS)), "depth {depth}: {}", longer(100 * MS));
        assert!((49..=70).contains(&longer(500 * MS)), "depth {depth}: {}", longer(500 * MS));
        assert!((9..=20).contains(&longer(900 * MS)), "depth {depth}: {}", longer(900 * MS));
    }
}

#[tokio::test(start_paused = true)]
async fn a_generator_that_waits_for_answers_would_hide_the_stall() {
    let plan = Plan { seconds: Some(4.0), ..plan() };
    let start = Instant::now();
    let (tally, _) = measure(&plan, move || Ok(stalling(start))).await;
    assert_eq!(tally.latency.count_between(100_000_000, u64::MAX), 1);
}

#[tokio::test(start_paused = true)]
async fn what_waited_for_a_place_or_was_never_sent_is_told() {
    // Ten calls a second are answered, twenty are due.
    let plan = Plan { rate: Some(20.0), seconds: Some(2.0), ..plan() };
    let start = Instant::now();
    let (tally, _) = measure(&plan, move || Ok(answering(start, |now| now + 100 * MS))).await;
    assert_eq!((tally.results, tally.pace.unsent), (20, 20));
    assert_eq!((tally.pace.held_back, tally.pace.late), (19, 0));
    assert!(tally.latency.max() >= 1_000_000_000, "{}", tally.latency.max());
}

#[tokio::test(start_paused = true)]
async fn as_many_calls_are_under_way_as_the_plan_says() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let connect = move || {
        let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
        Ok(far(move |message| {
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let now = Arc::clone(&now);
            tokio::spawn(async move {
                tokio::time::sleep(MS).await;
                now.fetch_sub(1, Ordering::SeqCst);
            });
            Act::Say(2 * MS, vec![right(&message)])
        }))
    };
    let plan = Plan { connections: 3, depth: 4, count: Some(100), ..plan() };
    let (tally, _) = measure(&plan, connect).await;
    assert_eq!((tally.results, most.load(Ordering::SeqCst)), (100, 12));
}

#[tokio::test(start_paused = true)]
async fn bytes_are_all_that_goes_over_the_wire() {
    let start = Instant::now();
    let plan = Plan { depth: 4, count: Some(100), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(answering(start, |now| now + MS))).await;
    let sent = r#"{"jsonrpc":"2.0","method":"work","params":[1],"id":100000000}"#.len() + 1;
    let received = r#"{"id":100000000,"jsonrpc":"2.0","result":1}"#.len() + 1;
    assert_eq!((tally.traffic.sent, tally.traffic.received), (100 * sent as u64, 100 * received as u64));
}

#[tokio::test(start_paused = true)]
async fn the_warm_up_is_not_measured() {
    // The first second is slow.
    let plan = Plan { warm_up: 1.0, seconds: Some(1.0), ..plan() };
    let start = Instant::now();
    let slow = |now| now + if now < 1000 * MS { 50 * MS } else { MS };
    let (tally, _) = measure(&plan, move || Ok(answering(start, slow))).await;
    assert!(tally.latency.max() < 5_000_000, "{}", tally.latency.max());
    assert!(tally.elapsed() >= 990 * MS && tally.elapsed() <= 1010 * MS, "{:?}", tally.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_given_up_and_its_place_used_again() {
    let start = Instant::now();
    let never = |now| if now < MS { Duration::from_secs(3600) } else { now + MS };
    let plan = Plan { depth: 2, count: Some(10), timeout: 1.0, ..plan() };
    let (tally, outcome) = measure(&plan, move || Ok(answering(start, never))).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!((tally.results, tally.failed[&Kind::TimedOut].0), (8, 2));
    // What was waited for in vain took at least that long.
    assert!(tally.latency.max() >= 1_000_000_000);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_late_or_for_nobody_is_no_answer() {
    let connect = || {
        Ok(far(|message| {
            let stray = json!({"jsonrpc": "2.0", "result": 1, "id": 5});
            let old = json!({"jsonrpc": "2.0", "result": 1, "id": message["id"].as_u64().unwrap() + 1});
            Act::Say(MS, vec![stray, old, right(&message), right(&message)])
        }))
    };
    let (tally, outcome) = measure(&Plan { count: Some(5), ..plan() }, connect).await;
    assert_eq!((tally.results, tally.errors, outcome), (5, 0, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_by_code() {
    let codes = Arc::new(AtomicUsize::new(0));
    let connect = move || {
        let codes = Arc::clone(&codes);
        Ok(far(move |message| {
            let code = [-32601, -5][codes.fetch_add(1, Ordering::SeqCst) % 2];
            let error = json!({"code": code, "message": "no"});
            Act::Say(MS, vec![json!({"jsonrpc": "2.0", "error": error, "id": message["id"]})])
        }))
    };
    let (tally, _) = measure(&Plan { count: Some(5), ..plan() }, connect).await;
    let counts: Vec<(i64, u64)> = tally.rejected.iter().map(|(code, (count, _))| (*code, *count)).collect();
    assert_eq!(counts, [(-32601, 3), (-5, 2)]);
    assert_eq!((tally.results, tally.errors, tally.latency.len()), (0, 5, 5));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_told_as_such_with_the_first_of_them() {
    for word in [json!("what?"), json!({"id": 7}), json!([])] {
        let connect = move || {
            let word = word.clone();
            Ok(far(move |_| Act::Say(MS, vec![word.clone()])))
        };
        let (tally, outcome) = measure(&Plan { count: Some(5), ..plan() }, connect).await;
        assert_eq!((tally.results, outcome), (0, Ok(())));
        let (count, first) = &tally.failed[&Kind::BadAnswer];
        assert_eq!(*count, 5);
        assert!(first.contains("not a response object") || first.contains("an empty array"), "{first}");
    }
}

#[tokio::test(start_paused = true)]
async fn batches_are_one_message_of_several_calls() {
    let start = Instant::now();
    let plan = Plan { batch: 10, count: Some(25), ..plan() };
    let (tally, _) = measure(&plan, move || Ok(answering(start, |now| now + MS))).await;
    assert_eq!((tally.results, tally.latency.len()), (25, 3));
    assert_eq!(tally.timeline.counts(), [25]);
}

/// What a run of two batches of ten counts, whose answers are changed: results, errors by code, other failures, and
/// refused batches.
async fn batches(change: fn(Value) -> Value) -> (u64, BTreeMap<i64, u64>, u64, u64) {
    let plan = Plan { batch: 10, count: Some(20), ..plan() };
    let connect = move || Ok(far(move |message| Act::Say(MS, vec![change(right(&message))])));
    let (tally, outcome) = measure(&plan, connect).await;
    assert_eq!(outcome, Ok(()));
    let codes = tally.rejected.iter().map(|(code, (count, _))| (*code, *count)).collect();
    (tally.results, codes, tally.failed.values().map(|(count, _)| count).sum(), tally.refused_batches)
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_refused_is_an_error_of_each_call() {
    let expected = (0, BTreeMap::from([(-32600, 20)]), 0, 2);
    let alone = |_| json!({"jsonrpc": "2.0", "error": {"code": -32600, "message": "big"}, "id": null});
    assert_eq!(batches(alone).await, expected);
    let in_an_array = |answers: Value| {
        let id = &answers[0]["id"];
        json!([{"jsonrpc": "2.0", "error": {"code": -32600, "message": "big"}, "id": id}])
    };
    assert_eq!(batches(in_an_array).await, expected);
}

#[tokio::test(start_paused = true)]
async fn every_answer_of_a_batch_is_looked_at() {
    let missing = |mut answers: Value| {
        answers.as_array_mut().unwrap().pop();
        answers
    };
    assert_eq!(batches(missing).await, (18, BTreeMap::new(), 2, 0));
    let twice = |mut answers: Value| {
        answers[1] = answers[0].clone();
        answers
    };
    assert_eq!(batches(twice).await, (0, BTreeMap::new(), 20, 0));
    let turned = |mut answers: Value| {
        answers.as_array_mut().unwrap().reverse();
        answers
    };
    assert_eq!(batches(turned).await, (20, BTreeMap::new(), 0, 0));
    let one_fails = |mut answers: Value| {
        answers[3] = json!({"jsonrpc": "2.0", "error": {"code": -7, "message": "x"}, "id": answers[3]["id"]});
        answers
    };
    assert_eq!(batches(one_fails).await, (18, BTreeMap::from([(-7, 2)]), 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stream_counts_until_its_last_item() {
    let connect = || {
        Ok(far(|message| {
            let item = |method: &str, result: Option<u32>| json!({"jsonrpc": "2.0", "method": method, "params": {"subscription": "s", "result": result}});
            let begin = json!({"jsonrpc": "2.0", "result": "s", "stream": true, "id": message["id"]});
            let items = (0..5).map(|count| item("rpc.item", Some(count)));
            let end = json!({"jsonrpc": "2.0", "method": "rpc.end", "params": {"subscription": "s"}});
            Act::Say(60 * MS, [begin].into_iter().chain(items).chain([end]).collect())
        }))
    };
    let (tally, _) = measure(&Plan { count: Some(2), ..plan() }, connect).await;
    assert_eq!((tally.results, tally.items), (2, 10));
    assert!(tally.latency.min() >= 59_000_000, "{}", tally.latency.min());
}

#[tokio::test(start_paused = true)]
async fn a_call_of_the_far_side_is_answered() {
    let connect = || {
        Ok(far(|message| match message.get("method") {
            Some(_) => Act::Say(MS, vec![json!({"jsonrpc": "2.0", "method": "ask", "id": message["id"]})]),
            // The call is answered when its own answer, which says that there is no such method, has come.
            None => Act::Say(
                MS,
                vec![json!({"jsonrpc": "2.0", "result": message["error"]["code"], "id": message["id"]})],
            ),
        }))
    };
    let (tally, outcome) = measure(&Plan { count: Some(3), ..plan() }, connect).await;
    assert_eq!((tally.results, tally.errors, outcome), (3, 0, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_made_again() {
    let dials = Arc::new(AtomicUsize::new(0));
    let made = Arc::clone(&dials);
    let start = Instant::now();
    let connect = move || match made.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let calls = AtomicUsize::new(0);
            Ok(far(move |message| match calls.fetch_add(1, Ordering::SeqCst) {
                0 => Act::Say(MS, vec![right(&message)]),
                2 => Act::HangUp,
                _ => Act::Say(Duration::from_secs(60), Vec::new()),
            }))
        }
        1 => Err(CallError::Unreachable("not yet".into())),
        _ => Ok(answering(start, |now| now + MS)),
    };
    let plan = Plan { depth: 2, count: Some(10), ..plan() };
    let (tally, outcome) = measure(&plan, connect).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(dials.load(Ordering::SeqCst), 3);
    assert_eq!((tally.reconnects, tally.results + tally.errors), (1, 10));
    assert_eq!(tally.failed[&Kind::ConnectionLost].0, 2, "{:?}", tally.failed);
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_takes_no_more_connections_is_left_alone_for_a_while() {
    let dials = Arc::new(AtomicUsize::new(0));
    let made = Arc::clone(&dials);
    let start = Instant::now();
    let connect = move || match made.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(answering(start, |now| now + MS)),
        // Closed before anything is said.
        _ => Ok(tokio::io::duplex(1).0),
    };
    let plan = Plan { connections: 2, rate: Some(10.0), seconds: Some(10.0), ..plan() };
    let (tally, outcome) = measure(&plan, connect).await;
    assert_eq!(outcome, Ok(()));
    assert!(tally.results > 50, "{}", tally.results);
    let dials = dials.load(Ordering::SeqCst);
    assert!((5..30).contains(&dials), "{dials}");
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_only_hangs_up_ends_the_run() {
    let connect = || Ok(far(|_| Act::HangUp));
    let (tally, outcome) = measure(&Plan { seconds: Some(600.0), ..plan() }, connect).await;
    assert!(
        matches!(&outcome, Err(CallError::Closed(what)) if what.contains("without a single answer")),
        "{outcome:?}"
    );
    assert_eq!((tally.results, tally.errors), (0, u64::from(BREAKS)));
}

#[tokio::test(start_paused = true)]
async fn a_far_side_that_is_gone_for_good_ends_the_run() {
    for plan in [Plan { seconds: Some(5.0), ..plan() }, Plan { count: Some(100), ..plan() }] {
        let dials = AtomicUsize::new(0);
        let connect = move || {
            if dials.fetch_add(1, Ordering::SeqCst) > 0 {
                return Err(CallError::Unreachable("nothing is listening".into()));
            }
            let calls = AtomicUsize::new(0);
            Ok(far(move |message| match calls.fetch_add(1, Ordering::SeqCst) {
                0 => Act::Say(MS, vec![right(&message)]),
                _ => Act::HangUp,
            }))
        };
        let (tally, outcome) = measure(&plan, connect).await;
        assert_eq!(tally.results, 1);
        // By its time, or because nothing else can be done.
        assert_eq!(outcome.is_ok(), plan.seconds.is_some());
    }
}
