//! Servers that do not even answer a valid call correctly are checked, and each fault is reported once.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::rogue::{Reaction, Rogue};
use super::{bench, cases};
use crate::check::found::{Found, Manner};
use crate::check::profile::{Profile, Verdict};
use crate::check::progress::Progress;
use crate::check::report::Finding;
use crate::check::run::run;

/// The cases of these areas that a server fails that changes its answers like that, and how it answers valid calls.
async fn failed(
    carrier: &'static str,
    areas: &[&str],
    change: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
) -> (Vec<Finding>, Manner) {
    let act = move |_: &[u8], answer: Option<Bytes>| match answer {
        Some(answer) => Reaction::Answer(change(answer.to_vec())),
        None => Reaction::Nothing,
    };
    let rogue = Rogue::start(carrier, act).await;
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    bench.found = Found::look(&mut bench, None, None).await;
    let came = bench.greet().await;
    bench.found.manner = Manner::of(&came).unwrap();
    let tried = cases::all().into_iter().filter(|case| areas.contains(&case.area)).collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    let manner = bench.found.manner;
    (findings.into_iter().filter(|finding| finding.verdict == Verdict::Fail).collect(), manner)
}

fn names(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.name).collect()
}

#[tokio::test]
async fn numbers_that_come_back_as_strings_are_a_fault_of_the_cases_about_identifiers() {
    // J2-28
    for carrier in ["http", "lines"] {
        let (found, manner) = failed(carrier, &["requests", "ids", "notifications"], |answer| {
            let mut answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"].is_number() {
                answer["id"] = json!(answer["id"].to_string());
            }
            serde_json::to_vec(&answer).unwrap()
        })
        .await;
        assert_eq!(manner, Manner::TextIds);
        assert!(names(&found).contains(&"id-number"), "{found:?}");
        assert!(found.iter().all(|finding| finding.rules.contains(&"J2-28")), "{:?}", names(&found));
        assert!(found[0].note.contains("its id is \"1\" instead of 1"), "{}", found[0].note);
    }
}

#[tokio::test]
async fn text_before_or_after_every_answer_is_one_fault() {
    // J2-59, J2-76
    for carrier in ["http", "lines"] {
        let (found, _) =
            failed(carrier, &["requests", "batches"], |answer| [b"\xef\xbb\xbf", &answer[..]].concat()).await;
        assert_eq!(names(&found), ["response-json"]);
        let (found, _) =
            failed(carrier, &["requests", "batches"], |answer| [&answer[..], b"}"].concat()).await;
        assert_eq!(names(&found), ["response-json"]);
    }
}

#[tokio::test]
async fn answers_that_are_never_json_are_one_fault() {
    // J2-55
    for carrier in ["http", "lines"] {
        let (found, manner) = failed(carrier, &["basics", "requests", "ids", "batches", "texts"], |answer| {
            String::from_utf8(answer).unwrap().replacen(',', ",,", 1).into_bytes()
        })
        .await;
        assert_eq!(manner, Manner::Crooked);
        assert_eq!(names(&found), ["basic-response"]);
        assert_eq!(found[0].note, "the answer is not JSON");
    }
}

#[tokio::test]
async fn infinity_is_not_an_answer_whatever_the_case_asks_for() {
    // J2-55, J2-63
    let (found, _) = failed("http", &["texts"], |answer| {
        let text = String::from_utf8(answer).unwrap();
        text.replace("1e400", "Infinity").into_bytes()
    })
    .await;
    assert_eq!(names(&found), ["number-huge", "response-json"]);
}

#[tokio::test]
async fn a_null_result_that_is_left_out_is_found() {
    // J2-25, J2-27
    let (found, _) = failed("http", &["texts"], |answer| {
        let mut answer: Value = serde_json::from_slice(&answer).unwrap();
        if answer.get("result") == Some(&Value::Null) {
            answer.as_object_mut().unwrap().remove("result");
        }
        serde_json::to_vec(&answer).unwrap()
    })
    .await;
    assert!(
        names(&found).contains(&"null") && names(&found).contains(&"response-result-or-error"),
        "{found:?}"
    );
}

#[tokio::test]
async fn stack_traces_in_errors_are_reported() {
    // J2-36
    let act = |_: &[u8], answer: Option<Bytes>| {
        let mut answer: Value = serde_json::from_slice(&answer.unwrap()).unwrap();
        answer["error"]["data"] = json!("Traceback (most recent call last):\n  File \"/srv/app.py\"");
        Reaction::Answer(serde_json::to_vec(&answer).unwrap())
    };
    let rogue = Rogue::start("http", act).await;
    let mut bench = bench(&rogue.url, Profile::Spec, Duration::from_secs(5));
    let tried = cases::all().into_iter().filter(|case| case.name == "unknown-method").collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    let told: Vec<_> = findings.iter().filter(|finding| finding.verdict == Verdict::Warn).collect();
    assert!(matches!(told.as_slice(), [one] if one.name == "response-discretion"), "{told:?}");
}

#[tokio::test]
async fn unknown_members_may_be_refused_in_some_profiles() {
    // J2-62
    let act = |message: &[u8], answer: Option<Bytes>| {
        let text = String::from_utf8_lossy(message);
        match (text.contains("\"ID\"") || text.contains("\"auth\""), answer) {
            (true, _) => {
                let refusal = br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}"#;
                Reaction::Answer(refusal.to_vec())
            }
            (false, Some(answer)) => Reaction::Answer(answer.to_vec()),
            (false, None) => Reaction::Nothing,
        }
    };
    let rogue = Rogue::start("http", act).await;
    for (profile, expected) in [(Profile::Spec, Verdict::Warn), (Profile::Mcp, Verdict::Pass)] {
        let mut bench = bench(&rogue.url, profile, Duration::from_secs(5));
        let asked = ["unknown-members", "notification-wrong-case"];
        let tried = cases::all().into_iter().filter(|case| asked.contains(&case.name)).collect();
        let findings = run(&mut bench, tried, &mut Progress::default()).await;
        for finding in &findings[..2] {
            assert_eq!(finding.verdict, expected, "{finding:?}");
            assert!(finding.note.contains("unknown members are refused"), "{finding:?}");
        }
    }
}

#[tokio::test]
async fn a_server_of_1_0_only_is_called_in_1_0_about_its_framing() {
    // JT-02, J1-30
    let act = |message: &[u8], _: Option<Bytes>| {
        let asked: Value = serde_json::from_slice(message).unwrap_or_default();
        let is_old = asked.get("jsonrpc").is_none() && asked["params"].is_array() && asked["id"].is_u64();
        match is_old {
            true => {
                Reaction::Answer(json!({"result": null, "error": "no", "id": asked["id"]}).to_string().into())
            }
            false => Reaction::Close,
        }
    };
    for carrier in ["lines", "json"] {
        let rogue = Rogue::start(carrier, act).await;
        let mut bench = bench(&rogue.url, Profile::V1, Duration::from_secs(5));
        // The server of these tests does not read a line that lacks its end.
        let is_tried = |name: &str, area: &str| area == "framing" && name != "lines-no-end";
        let tried = cases::all().into_iter().filter(|case| is_tried(case.name, case.area)).collect();
        let findings = run(&mut bench, tried, &mut Progress::default()).await;
        let bad: Vec<_> =
            findings.iter().filter(|it| matches!(it.verdict, Verdict::Fail | Verdict::Warn)).collect();
        assert!(bad.is_empty(), "{carrier}: {bad:?}");
    }
}
