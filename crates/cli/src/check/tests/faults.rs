//! One fault at a time: each is found by the cases about it.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::rogue::{Reaction, Rogue};
use super::{bench, cases};
use crate::check::found::Found;
use crate::check::profile::{Profile, Verdict};
use crate::check::progress::Progress;
use crate::check::report::Finding;
use crate::check::run::run;

/// A server with a fault fails these cases, or skips them because of another, and none of the others that run.
async fn check(
    carrier: &'static str,
    expected: &[&str],
    unharmed: &[&str],
    act: impl Fn(&[u8], Option<Bytes>) -> Reaction + Send + Sync + 'static,
) {
    let rogue = Rogue::start(carrier, act).await;
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    let is_tried = |name: &str| expected.contains(&name) || unharmed.contains(&name);
    let tried = cases::all().into_iter().filter(|case| is_tried(case.name)).collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    let is_expected = |name: &str| expected.contains(&name);
    for finding in &findings {
        let is_bad = matches!(finding.verdict, Verdict::Fail | Verdict::Warn) || finding.because.is_some();
        assert_eq!(is_bad, is_expected(finding.name), "{}: {finding:?}", finding.name);
    }
    for name in expected {
        assert!(findings.iter().any(|finding| finding.name == *name), "there is no case {name}");
    }
}

/// The right answer.
fn right(answer: Option<Bytes>) -> Reaction {
    answer.map_or(Reaction::Nothing, |answer| Reaction::Answer(answer.to_vec()))
}

/// The right answer with something changed in every response.
fn changed(answer: Option<Bytes>, change: impl Fn(&mut Value)) -> Reaction {
    let Some(answer) = answer else { return Reaction::Nothing };
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    match &mut answer {
        Value::Array(entries) => entries.iter_mut().for_each(change),
        one => change(one),
    }
    Reaction::Answer(serde_json::to_vec(&answer).unwrap())
}

/// Whether the message is an object without an identifier.
fn is_notification(message: &[u8]) -> bool {
    serde_json::from_slice::<Value>(message).is_ok_and(|value| value.is_object() && value.get("id").is_none())
}

#[tokio::test]
async fn a_server_without_faults_offends_nothing() {
    for carrier in ["http", "lines"] {
        let all: Vec<&str> = cases::all()
            .iter()
            .filter(|case| {
                matches!(case.area, "requests" | "ids" | "notifications" | "batches" | "texts" | "v1")
            })
            .map(|case| case.name)
            .collect();
        check(carrier, &[], &all, |_, answer| right(answer)).await;
    }
}

#[tokio::test]
async fn identifiers_that_change_are_found() {
    // J2-28
    check("http", &["id-number", "id-zero"], &["id-string"], |_, answer| {
        changed(answer, |response| {
            if response["error"]["code"] == -32601 && response["id"].is_u64() {
                response["id"] = json!(response["id"].to_string());
            }
        })
    })
    .await;
    // J2-63
    check("http", &["id-2-to-53", "id-u64"], &["id-number", "id-negative"], |_, answer| {
        changed(answer, |response| {
            if let Some(id) = response["id"].as_u64().filter(|id| *id > 1 << 53) {
                response["id"] = json!((id as f64) as u64 / 2 * 2);
            }
        })
    })
    .await;
}

#[tokio::test]
async fn answers_to_notifications_are_found() {
    // J2-17, J2-18
    let expected = ["notification", "notification-unknown", "notification-bad-params"];
    for carrier in ["http", "lines"] {
        check(carrier, &expected, &["unknown-method"], |message, answer| match is_notification(message) {
            true => Reaction::Answer(br#"{"jsonrpc":"2.0","result":null,"id":null}"#.to_vec()),
            false => right(answer),
        })
        .await;
    }
    // J2-44
    check("http", &["batch-notifications"], &["batch"], |message, answer| match (message.first(), answer) {
        (Some(b'['), None) => Reaction::Answer(b"[]".to_vec()),
        (_, answer) => right(answer),
    })
    .await;
}

#[tokio::test]
async fn responses_of_the_wrong_shape_are_found() {
    // J2-02
    check("http", &["response-version"], &["unknown-method"], |_, answer| {
        changed(answer, |response| {
            response.as_object_mut().unwrap().remove("jsonrpc");
        })
    })
    .await;
    // J2-27
    check("http", &["response-result-or-error"], &["unknown-method"], |_, answer| {
        changed(answer, |response| response["result"] = Value::Null)
    })
    .await;
    // J2-38
    check("http", &["response-error-object", "unknown-method"], &[], |_, answer| {
        changed(answer, |response| response["error"] = json!("it failed"))
    })
    .await;
    // J2-30
    check("http", &["response-code-range", "unknown-method"], &[], |_, answer| {
        changed(answer, |response| response["error"]["code"] = json!(-32500))
    })
    .await;
    // J2-28
    check("http", &["response-id", "unknown-method"], &[], |_, answer| {
        changed(answer, |response| {
            response.as_object_mut().unwrap().remove("id");
        })
    })
    .await;
}

#[tokio::test]
async fn batches_that_lose_something_are_found() {
    // J2-42
    check("http", &["batch", "batch-50"], &["batch-of-one"], |_, answer| {
        match answer.map(|it| serde_json::from_slice(&it)) {
            Some(Ok(Value::Array(mut entries))) if entries.len() > 1 => {
                entries.pop();
                Reaction::Answer(serde_json::to_vec(&entries).unwrap())
            }
            Some(Ok(other)) => Reaction::Answer(serde_json::to_vec(&other).unwrap()),
            _ => Reaction::Nothing,
        }
    })
    .await;
    // J2-41
    check("http", &["batch-of-one", "batch-number"], &["batch", "batch-empty"], |_, answer| {
        match answer.map(|it| serde_json::from_slice(&it)) {
            Some(Ok(Value::Array(entries))) if entries.len() == 1 => {
                Reaction::Answer(serde_json::to_vec(&entries[0]).unwrap())
            }
            Some(Ok(other)) => Reaction::Answer(serde_json::to_vec(&other).unwrap()),
            _ => Reaction::Nothing,
        }
    })
    .await;
}

#[tokio::test]
async fn wrong_answers_to_texts_that_are_not_json_are_found() {
    // J2-32
    let is_json = |message: &[u8]| serde_json::from_slice::<Value>(message).is_ok();
    let expected = ["parse-error", "trailing-comma", "nan"];
    check("http", &expected, &["unknown-method"], move |message, answer| match is_json(message) {
        true => right(answer),
        false => Reaction::Status(500),
    })
    .await;
    check(
        "lines",
        &["parse-error", "goes-on-after-parse-error"],
        &["unknown-method"],
        move |message, answer| match is_json(message) {
            true => right(answer),
            false => Reaction::Close,
        },
    )
    .await;
    check(
        "lines",
        &["parse-error"],
        &["unknown-method", "goes-on-after-parse-error"],
        move |message, answer| match is_json(message) {
            true => right(answer),
            false => Reaction::Nothing,
        },
    )
    .await;
}

/// The findings of all cases of these areas, with a server that does this.
async fn findings(
    carrier: &'static str,
    areas: &[&str],
    act: impl Fn(&[u8], Option<Bytes>) -> Reaction + Send + Sync + 'static,
) -> Vec<Finding> {
    let rogue = Rogue::start(carrier, act).await;
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    let tried = cases::all().into_iter().filter(|case| areas.contains(&case.area)).collect();
    run(&mut bench, tried, &mut Progress::default()).await
}

/// The cases that fail or warn, without those that are skipped because of them.
fn faults(findings: &[Finding]) -> Vec<&'static str> {
    let is_bad = |it: &&Finding| matches!(it.verdict, Verdict::Fail | Verdict::Warn);
    findings.iter().filter(is_bad).map(|it| it.name).collect()
}

#[tokio::test]
async fn failures_for_the_same_reason_are_one_fault() {
    let is_refused = |answer: &Option<Bytes>| {
        answer.as_ref().is_some_and(|answer| answer.windows(6).any(|part| part == b"-32700"))
    };
    let found = findings("http", &["texts"], move |_, answer| match is_refused(&answer) {
        true => Reaction::Status(400),
        false => right(answer),
    })
    .await;
    assert_eq!(faults(&found), ["parse-error"]);
    let comment = found.iter().find(|finding| finding.name == "comment").unwrap();
    assert_eq!((comment.verdict, comment.because), (Verdict::Skip, Some("parse-error")));
    assert_eq!(comment.note, "fails for the same reason as `parse-error`");
    // A fault of another kind is found among them.
    let found = findings("http", &["texts"], move |message, answer| match is_refused(&answer) {
        false => right(answer),
        true if message.windows(2).any(|part| part == b"/*") => {
            Reaction::Answer(br#"{"jsonrpc":"2.0","error":{"code":-32601,"message":""},"id":1}"#.to_vec())
        }
        true => Reaction::Status(400),
    })
    .await;
    assert_eq!(faults(&found), ["parse-error", "comment"]);
}

#[tokio::test]
async fn a_server_without_error_objects_fails_once_and_is_checked_where_none_is_due() {
    // J2-38
    let found = findings("http", &["basics", "requests", "ids", "notifications"], |_, answer| {
        changed(answer, |response| {
            if response.get("error").is_some() {
                response["error"] = json!("it failed");
            }
        })
    })
    .await;
    assert_eq!(faults(&found), ["basic-error"]);
    let finding = |name: &str| found.iter().find(|finding| finding.name == name).unwrap();
    assert_eq!(finding("basic-error").note, "its error has no code");
    assert_eq!(finding("id-number").because, Some("basic-error"));
    assert_eq!(finding("id-number").note, "not run because `basic-error` fails");
    assert_eq!(finding("by-position").verdict, Verdict::Pass);
    assert_eq!(finding("notification").verdict, Verdict::Pass);
}

#[tokio::test]
async fn a_null_body_is_reported_as_what_it_is_and_not_as_a_response() {
    // J2-17
    let found = findings("http", &["basics", "notifications"], |message, answer| {
        match is_notification(message) && answer.is_none() {
            true => Reaction::Answer(b"null".to_vec()),
            false => right(answer),
        }
    })
    .await;
    assert_eq!(faults(&found), ["notification-unknown"]);
    let finding = found.iter().find(|finding| finding.name == "notification-unknown").unwrap();
    assert_eq!(finding.note, "the body is `null`, and should be empty");
}

#[tokio::test]
async fn a_server_that_dies_is_found_and_the_rest_is_skipped() {
    // J2-65
    let rogue =
        Rogue::start("http", |message, answer| match message.windows(500).any(|part| part == [b'['; 500]) {
            true => Reaction::Die,
            false => right(answer),
        })
        .await;
    let mut bench = bench(&rogue.url, Profile::Lenient, Duration::from_secs(5));
    let tried =
        cases::all().into_iter().filter(|case| case.name.starts_with("depth-") || case.name == "wide");
    let findings = run(&mut bench, tried.collect(), &mut Progress::default()).await;
    let verdict = |name: &str| findings.iter().find(|finding| finding.name == name).unwrap();
    assert_eq!(verdict("depth-60").verdict, Verdict::Pass);
    assert_eq!(verdict("depth-1000").verdict, Verdict::Fail);
    assert!(verdict("depth-1000").note.contains("did not recover"));
    assert_eq!(verdict("wide").verdict, Verdict::Skip);
    assert!(verdict("wide").note.contains("since `depth-1000`"));
    assert_eq!(verdict("wide").because, Some("depth-1000"));
}

#[tokio::test]
async fn answers_that_come_twice_or_not_at_all_are_found() {
    // J2-24
    let is_unknown = |message: &[u8]| message.windows(7).any(|part| part == b"no_such");
    check("lines", &["unknown-method", "pipelined"], &[], move |message, answer| match answer {
        Some(answer) if is_unknown(message) => Reaction::Twice(answer.to_vec()),
        answer => right(answer),
    })
    .await;
    let expected = ["unknown-method", "several-at-once"];
    check("lines", &expected, &["notification"], move |message, answer| {
        match is_unknown(message) || message.ends_with(b":5}") {
            true => Reaction::Nothing,
            false => right(answer),
        }
    })
    .await;
}

#[tokio::test]
async fn another_code_for_unknown_methods_is_a_fault_of_nothing_else() {
    // J2-34
    let rogue = Rogue::start("http", |_, answer| {
        changed(answer, |response| {
            if response["error"]["code"] == -32601 {
                response["error"]["code"] = json!(-32000);
            }
        })
    })
    .await;
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    bench.found = Found::look(&mut bench, None, None).await;
    let is_tried = |area: &str| matches!(area, "requests" | "batches");
    let tried = cases::all().into_iter().filter(|case| is_tried(case.area)).collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    for finding in &findings {
        let is_bad = matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
        assert!(!is_bad || finding.rules.iter().any(|rule| ["J2-34", "J2-06"].contains(rule)), "{finding:?}");
    }
    assert!(findings.iter().any(|it| it.name == "unknown-method" && it.verdict == Verdict::Fail));
}

/// The cases about requests that fail or warn, with a server that was asked what it does.
async fn offended_when_known(rogue: &Rogue) -> Vec<&'static str> {
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    bench.found = Found::look(&mut bench, None, None).await;
    let tried = cases::all().into_iter().filter(|case| case.area == "requests").collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    let is_bad = |it: &Finding| matches!(it.verdict, Verdict::Fail | Verdict::Warn);
    findings.into_iter().filter(is_bad).map(|finding| finding.name).collect()
}

#[tokio::test]
async fn another_answer_to_invalid_requests_is_one_fault() {
    // J2-33
    let other_code = |_: &[u8], answer| {
        changed(answer, |response| {
            if response["error"]["code"] == -32600 {
                response["error"]["code"] = json!(-32700);
            }
        })
    };
    let rogue = Rogue::start("http", other_code).await;
    assert_eq!(offended_when_known(&rogue).await, ["method-number"]);
    let silence = |_: &[u8], answer: Option<Bytes>| match &answer {
        Some(text) if text.windows(6).any(|part| part == b"-32600") => Reaction::Nothing,
        _ => right(answer),
    };
    let rogue = Rogue::start("lines", silence).await;
    // Silence about values that are not requests is less than silence about a request with an identifier: a warning.
    assert_eq!(offended_when_known(&rogue).await, ["method-number", "empty-object"]);
}
