//! Each limit lets its value pass, and refuses one more with its code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use switchboard_core::{
    Call, ErrorObject, Json, Limits, Method, Profile, Reply, ReplyFuture, Router, Settings, service_fn,
};
use switchboard_tests::demo;
use switchboard_tests::paused::takes;

use crate::{ask, code};

/// The first body is answered with a result under these limits, the second with an error of this code.
async fn check(limits: Limits, fits: &str, too_much: &str, expected: i64) {
    let settings = Settings::default().with_limits(limits);
    let answer = ask(demo::router(), fits.to_owned(), &settings).await.unwrap();
    assert!(answer.contains("\"result\"") && !answer.contains("\"error\""), "{fits} gives {answer}");
    let answer = ask(demo::router(), too_much.to_owned(), &settings).await;
    assert_eq!(code(answer.as_deref()), expected, "{too_much} gives {answer:?}");
}

fn call(method: &str, params: &str, id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":{id}}}"#)
}

/// A new limit fails here until it is named: then test it below, or where its driver is tested.
#[test]
fn no_limit_is_forgotten() {
    let shown = format!("{:#?}", Limits::default());
    let limits: Vec<&str> = shown.lines().filter_map(|line| Some(line.trim().split_once(':')?.0)).collect();
    let tested = "frame batch depth members number name id reply batch_reply in_flight batch_concurrency subscriptions items \
                  stall_time outbox send_time call_time drain_time";
    assert_eq!(limits, tested.split_whitespace().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_frame_of_the_limit_passes_and_one_byte_more_is_refused() {
    // SEC-L-01
    let fits = call("sum", "[1]", "1");
    let limits = Limits::default().with_frame(fits.len());
    check(limits, &fits, &format!("{fits} "), -32600).await;
}

#[tokio::test]
async fn a_batch_of_the_limit_passes_and_one_entry_more_is_refused() {
    // J2-70, SEC-L-02
    let batch = |count| format!("[{}]", vec![call("sum", "[1]", "1"); count].join(","));
    check(Limits::default().with_batch(3), &batch(3), &batch(4), -32600).await;
    check(Limits::default(), &batch(100), &batch(101), -32600).await;
}

#[tokio::test]
async fn no_entry_of_a_batch_that_is_too_large_runs() {
    // J2-70
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let router = Router::builder().method("tick", move |_: Json, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ErrorObject>(())
    });
    let batch = format!("[{}]", vec![call("tick", "[]", "1"); 101].join(","));
    ask(router.build().unwrap(), batch, &Settings::default()).await.unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn nesting_of_the_limit_passes_and_one_level_more_is_refused() {
    // J2-65, SEC-L-05
    let nested = |levels| call("echo", &format!("{}{}", "[".repeat(levels), "]".repeat(levels)), "1");
    check(Limits::default().with_depth(5), &nested(4), &nested(5), -32600).await;
    check(Limits::default(), &nested(127), &nested(128), -32600).await;
    let limits = Limits::default().with_depth(5);
    check(limits, &format!("[{}]", nested(3)), &format!("[{}]", nested(4)), -32600).await;
}

#[tokio::test]
async fn members_of_the_limit_pass_and_one_more_is_refused() {
    // SEC-L-06
    let array = |count| call("echo", &format!("[{}]", vec!["1"; count].join(",")), "1");
    let object = |count| {
        let members: Vec<_> = (0..count).map(|n| format!("\"{n}\":1")).collect();
        call("echo", &format!("{{{}}}", members.join(",")), "1")
    };
    let envelope = r#"{"jsonrpc":"2.0","method":"sum","id":1,"x":1,"y":1}"#;
    let larger = r#"{"jsonrpc":"2.0","method":"sum","id":1,"x":1,"y":1,"z":1}"#;
    let limits = || Limits::default().with_members(5);
    check(limits(), &array(5), &array(6), -32600).await;
    check(limits(), &object(5), &object(6), -32600).await;
    check(limits(), envelope, larger, -32600).await;
    check(Limits::default(), &array(100_000), &array(100_001), -32600).await;
}

#[tokio::test]
async fn a_number_of_the_limit_passes_and_one_character_more_is_refused() {
    // SEC-L-07
    let number = |length: usize| call("echo", &format!("[-{}]", "1".repeat(length - 1)), "1");
    check(Limits::default().with_number(7), &number(7), &number(8), -32600).await;
    check(Limits::default(), &number(1024), &number(1025), -32600).await;
    let id = |length| call("sum", "[]", &"1".repeat(length));
    check(Limits::default().with_number(7), &id(7), &id(8), -32600).await;
}

#[tokio::test]
async fn a_name_of_the_limit_passes_and_one_byte_more_is_refused() {
    // SEC-L-08
    let (fits, too_long) = (call("echo", "[]", "1"), call("echoo", "[]", "1"));
    check(Limits::default().with_name(4), &fits, &too_long, -32600).await;
    // Counted as it reads, not as it is escaped.
    let fits = call(r"\u0065cho", "[]", "1");
    check(Limits::default().with_name(4), &fits, &call("é----", "[]", "1"), -32600).await;
}

#[tokio::test]
async fn an_id_of_the_limit_passes_and_one_byte_more_is_refused() {
    // SEC-L-09
    let id = |length: usize| call("sum", "[]", &format!("\"{}\"", "x".repeat(length - 2)));
    check(Limits::default().with_id(5), &id(5), &id(6), -32600).await;
    check(Limits::default(), &id(1024), &id(1025), -32600).await;
}

#[tokio::test]
async fn a_reply_of_the_limit_passes_and_one_byte_more_is_replaced() {
    // SEC-L-03
    let text = |length: usize| call("text", &format!("[{}]", length - 2), "1");
    check(Limits::default().with_reply(50), &text(50), &text(51), -32007).await;
    // [1,2,3,4,5,6,7,8,9] has 19 bytes.
    let stream = |items| call("count", &format!("[{items}]"), "1");
    check(Limits::default().with_reply(19), &stream(9), &stream(10), -32007).await;
}

#[tokio::test]
async fn replies_to_a_batch_of_the_limit_pass_and_one_byte_more_is_replaced() {
    // SEC-L-04
    let batch = |length: usize| {
        format!("[{},{}]", call("text", "[98]", "1"), call("text", &format!("[{length}]"), "2"))
    };
    let whole = ask(demo::router(), batch(98), &Settings::default()).await.unwrap();
    let limits = Limits::default().with_batch_reply(whole.len());
    let settings = Settings::default().with_limits(limits);
    assert_eq!(ask(demo::router(), batch(98), &settings).await.unwrap(), whole);
    let answer = ask(demo::router(), batch(99), &settings).await.unwrap();
    assert!(answer.starts_with(&whole[..100]), "the first still fits: {answer}");
    assert!(answer.contains("-32007") && answer.contains("limits.batch_reply"), "{answer}");
    assert!(!answer.contains(&"x".repeat(99)), "{answer}");
}

/// Runs a batch of ten of these with three at a time, each of which takes a second, and tells how many ran at once.
async fn most_at_once(entry: &str, profile: Profile) -> usize {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let router = Router::builder().async_method("work", move |_: Json, _| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            takes(Duration::from_secs(1)).await;
            now.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, ErrorObject>(())
        }
    });
    let limits = Limits::default().with_batch_concurrency(3);
    let batch = format!("[{}]", [entry; 10].join(","));
    ask(router.build().unwrap(), batch, &Settings::default().with_limits(limits).with_profile(profile)).await;
    seen.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn entries_of_a_batch_run_up_to_the_limit_at_once() {
    // J2-43
    let start = tokio::time::Instant::now();
    assert_eq!(most_at_once(&call("work", "[]", "1"), Profile::default()).await, 3);
    assert_eq!(start.elapsed().as_secs(), 4, "ten seconds of work, three at a time");
}

#[tokio::test(start_paused = true)]
async fn notifications_count_among_the_entries_of_a_batch_that_run_at_once() {
    let notification = r#"{"jsonrpc":"2.0","method":"work","params":[]}"#;
    let pair = format!("{notification},{}", call("work", "[]", "1"));
    let check = async |entry: &str, ordered_notifications: bool, expected: usize, seconds: u64| {
        let start = tokio::time::Instant::now();
        let mut profile = Profile::default();
        profile.ordered_notifications = ordered_notifications;
        assert_eq!(most_at_once(entry, profile).await, expected, "{entry}");
        assert_eq!(start.elapsed().as_secs(), seconds, "{entry}");
    };
    check(notification, false, 3, 4).await;
    check(&pair, false, 3, 7).await;
    check(notification, true, 1, 10).await;
}

/// A router whose calls, streams and notifications take this many milliseconds.
fn slow() -> Router {
    let wait = |(millis,): (u64,)| async move {
        takes(Duration::from_millis(millis)).await;
        millis
    };
    Router::builder()
        .async_method("wait", move |params, _| async move { Ok::<_, ErrorObject>(wait(params).await) })
        .add(Method::stream("trickle", move |params, _| stream::once(wait(params))))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_as_long_as_the_limit_and_not_longer() {
    // SEC-L-12
    let settings = Settings::default();
    for method in ["wait", "trickle"] {
        let answer = ask(slow(), call(method, "[29999]", "1"), &settings).await.unwrap();
        assert!(answer.contains("\"result\""), "{method}: {answer}");
        let answer = ask(slow(), call(method, "[30001]", "1"), &settings).await;
        assert_eq!(code(answer.as_deref()), -32003, "{method}");
        let answer = ask(slow(), format!("[{}]", call(method, "[30001]", "1")), &settings).await.unwrap();
        assert!(answer.contains("-32003"), "{method}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_stream_takes_as_long_as_the_limit_as_a_whole() {
    // SEC-L-12
    let late = |(reply, item): (u64, u64)| async move {
        takes(Duration::from_millis(reply)).await;
        Reply::stream(stream::once(async move {
            takes(Duration::from_millis(item)).await;
            item
        }))
    };
    let service = service_fn(move |call: &Call| {
        let params = call.params.as_ref().unwrap().decode().unwrap();
        ReplyFuture::pending(late(params))
    });
    let settings = Settings::default();
    let start = tokio::time::Instant::now();
    for body in [call("late", "[20000,9999]", "1"), format!("[{}]", call("late", "[20000,9999]", "1"))] {
        let answer = ask(service.clone(), body, &settings).await.unwrap();
        assert!(answer.contains("[9999]"), "{answer}");
    }
    assert_eq!(start.elapsed().as_millis(), 2 * 29_999);
    let start = tokio::time::Instant::now();
    for body in [call("late", "[20000,10001]", "1"), format!("[{}]", call("late", "[20000,10001]", "1"))] {
        let answer = ask(service.clone(), body, &settings).await.unwrap();
        assert!(answer.contains("-32003"), "{answer}");
    }
    assert_eq!(start.elapsed().as_secs(), 60, "each is given up when its time is over");
}

#[tokio::test(start_paused = true)]
async fn a_call_may_be_given_all_the_time_there_is() {
    let limits = Limits::default().with_call_time(Duration::MAX);
    let settings = Settings::default().with_limits(limits);
    for method in ["wait", "trickle"] {
        let answer = ask(slow(), call(method, "[3600000]", "1"), &settings).await.unwrap();
        assert!(answer.contains("\"result\""), "{method}: {answer}");
    }
}

#[tokio::test]
async fn messages_that_are_too_much_are_refused_at_once() {
    // SEC-Z-03: with the default limits, but for the size of a message.
    let settings = Settings::default().with_limits(Limits::default().with_frame(64 << 20));
    let members: Vec<_> = (0..1_000_000).map(|number| format!("\"{number}\":1")).collect();
    for params in [
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000)),
        "[".repeat(100_000),
        format!("{{{}}}", members.join(",")),
        format!("[{}]", "1".repeat(1_000_000)),
        format!("[1e{}]", "9".repeat(1_000_000)),
    ] {
        let answer = ask(demo::router(), call("echo", &params, "1"), &settings).await;
        let code = code(answer.as_deref());
        assert!([-32700, -32600, -32602].contains(&code), "{}...: {code}", &params[..20]);
    }
}

#[tokio::test]
async fn a_batch_cannot_ask_for_more_than_the_replies_may_have_together() {
    // SEC-Z-09: 100 entries of 100 bytes ask for 100 MiB.
    let entry = call("text", &format!("[{}]", 1 << 20), "1");
    let body = format!("[{}]", vec![entry; 100].join(","));
    let answer = ask(demo::router(), body, &Settings::default()).await.unwrap();
    assert!(answer.len() <= Limits::default().batch_reply, "{}", answer.len());
    assert_eq!(answer.matches("\"id\":1").count(), 100, "each entry is answered");
    assert_eq!(answer.matches("-32007").count(), 76, "24 of them fit");
}
