//! Batches: arrays of calls.

use std::collections::HashSet;

use crate::check::bench::Bench;
use crate::check::case::{Case, Need, case, script};
use crate::check::found::Manner;
use crate::check::message::{Message, Response};
use crate::check::outcome::{Outcome, error, result, shortened};
use crate::check::profile::Point;

/// The cases. A server that does not support batches may answer each with one error.
pub(super) fn cases() -> Vec<Case> {
    let all = [answered(), invalid(), mixed(), large()].into_iter().flatten();
    let refused = |case: Case| match case.outcomes.is_empty() {
        true => case,
        false => case
            .special(Point::Batches, error(&[-32600, -32601, -32005, -32700], "null"))
            .special(Point::Batches, Outcome::Status(&[400]))
            .special(Point::Batches, Outcome::Closed)
            .special(Point::NoWordOnBatches, Outcome::Nothing),
    };
    let like_a_batch = |case: Case| if case.like.is_none() { case.like("batch") } else { case };
    all.map(refused).map(like_a_batch).collect()
}

fn answered() -> Vec<Case> {
    vec![
        case(
            "batch",
            "each call of a batch gets a response",
            &["J2-41", "J2-42"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},{"jsonrpc":"2.0","method":"@none","id":"b"}]"#,
        )
        .right(Outcome::Array(vec![error(&[-32601], "1"), error(&[-32601], "\"b\"")])),
        case(
            "batch-results",
            "a failed call does not affect the others",
            &["J2-42"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},{"jsonrpc":"2.0",@good,"id":2}]"#,
        )
        .needs(Need::Good)
        .right(Outcome::Array(vec![error(&[-32601], "1"), result("2")])),
        case(
            "batch-of-one",
            "a batch of one is answered with an array of one",
            &["J2-41"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1}]"#,
        )
        .right(Outcome::Array(vec![error(&[-32601], "1")])),
        case(
            "batch-white-space",
            "white space before a batch is ignored",
            &["J2-41", "J2-61"],
            " \t [ {\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1} ] ",
        )
        .right(Outcome::Array(vec![error(&[-32601], "1")])),
        case(
            "batch-same-id",
            "two calls with the same identifier are both answered, or both refused",
            &["J2-16"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},{"jsonrpc":"2.0","method":"@none","id":1}]"#,
        )
        .should()
        .right(Outcome::Array(vec![error(&[-32601, -32600], "1"), error(&[-32601, -32600], "1")])),
        case(
            "batch-notifications",
            "a batch of notifications is not answered, not even with an empty array",
            &["J2-44"],
            r#"[{"jsonrpc":"2.0","method":"@none"},{"jsonrpc":"2.0","method":"@none","params":[1]}]"#,
        )
        .like("notification-unknown")
        .right(Outcome::Nothing),
        case(
            "batch-with-notification",
            "a notification in a batch gets no entry in the answer",
            &["J2-17", "J2-42"],
            r#"[{"jsonrpc":"2.0","method":"@none"},{"jsonrpc":"2.0","method":"@none","id":1}]"#,
        )
        .right(Outcome::Array(vec![error(&[-32601], "1")])),
    ]
}

fn invalid() -> Vec<Case> {
    let array = |name, claim, rules, text, count: usize| {
        let entries = std::iter::repeat_with(|| error(&[-32600], "null")).take(count).collect();
        let case = case(name, claim, rules, text).right(Outcome::Array(entries));
        if count == 1 { case.like("batch-of-one") } else { case }
    };
    vec![
        case("batch-empty", "an empty array is answered as one invalid request", &["J2-46"], "[]")
            .right(error(&[-32600], "null")),
        array("batch-number", "an entry that is not a request is answered in an array", &["J2-47"], "[1]", 1),
        array(
            "batch-numbers",
            "each entry that is not a request gets its own error",
            &["J2-47"],
            "[1,2,3]",
            3,
        ),
        array("batch-null", "null is an invalid entry", &["J2-47"], "[null]", 1),
        array(
            "batch-nested",
            "an array inside a batch is an invalid entry",
            &["J2-49"],
            r#"[[{"jsonrpc":"2.0","method":"@none","id":1}]]"#,
            1,
        ),
        array("batch-junk", "invalid entries of any type are answered", &["J2-47"], r#"["a",true,{}]"#, 3),
        case(
            "batch-cut",
            "a batch that is not JSON gets one error, not an array",
            &["J2-45"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},{"jsonrpc":"2.0","method"]"#,
        )
        .right(error(&[-32700], "null")),
        case(
            "batch-trailing-comma",
            "a trailing comma in a batch is refused",
            &["J2-45", "J2-55"],
            r#"[{"jsonrpc":"2.0","method":"@none","id":1},]"#,
        )
        .right(error(&[-32700], "null")),
    ]
}

fn mixed() -> Vec<Case> {
    vec![
        case(
            "batch-valid-beside-invalid",
            "valid entries next to invalid ones are executed",
            &["J2-48"],
            r#"[1,{"jsonrpc":"2.0","method":"@none","id":5},{"foo":"boo"}]"#,
        )
        .right(Outcome::Array(vec![
            error(&[-32601], "5"),
            error(&[-32600], "null"),
            error(&[-32600], "null"),
        ])),
        case(
            "batch-notification-beside-invalid",
            "an invalid entry is answered, a notification next to it is not",
            &["J2-44", "J2-47"],
            r#"[{"jsonrpc":"2.0","method":"@none"},1]"#,
        )
        .right(Outcome::Array(vec![error(&[-32600], "null")])),
    ]
}

fn large() -> Vec<Case> {
    vec![
        script(
            "batch-50",
            "each of 50 calls in a batch is answered once",
            &["J2-41", "J2-42"],
            (
                "a batch of 50 calls",
                "an array with 50 different identifiers, or one error that refuses batches",
            ),
            |bench| Box::pin(many(bench, 50)),
        ),
        script(
            "batch-5000",
            "a batch of 5000 is answered or refused with one error, and the server keeps running",
            &["J2-70", "SEC-L-02"],
            ("a batch of 5000 calls", "an array with 5000 different identifiers, or one error"),
            |bench| Box::pin(many(bench, 5000)),
        )
        .hostile()
        .slow(),
    ]
}

/// Which identifier is there more than once, or that one is unknown.
fn twice(answers: &[Response]) -> String {
    let mut seen = HashSet::new();
    let again = answers.iter().find(|answer| !seen.insert(answer.id.as_deref()));
    match again.and_then(|answer| answer.id.as_deref()) {
        Some(id) => format!("id {} is there twice", shortened(id, 40)),
        None => "one of them has an id that was not sent".to_owned(),
    }
}

async fn many(bench: &mut Bench, count: usize) -> Result<String, String> {
    let calls = (0..count).map(|id| format!(r#"{{"jsonrpc":"2.0","method":"@none","id":{id}}}"#));
    let batch = format!("[{}]", calls.collect::<Vec<_>>().join(","));
    let mut came = bench.ask(&bench.fill(batch.as_bytes()), 1).await;
    if bench.found.manner == Manner::TextIds {
        came.messages = came.messages.into_iter().map(Message::renumbered).collect();
    }
    let refused = came.head.as_ref().is_some_and(|head| matches!(head.status, 400 | 413));
    match came.messages.as_slice() {
        [Message::One(response)] if response.is_error() => Ok(shortened(&response.text, 200)),
        // go-ethereum refuses in an array of one.
        [Message::Many(answers)] if answers.len() == 1 && answers[0].is_error() => {
            Ok(shortened(&answers[0].text, 200))
        }
        [Message::Many(answers)] => {
            let ids: HashSet<&str> = answers.iter().filter_map(|answer| answer.id.as_deref()).collect();
            let missing = (0..count).find(|id| !ids.contains(id.to_string().as_str()));
            let told = format!("{} answers to {count} calls", answers.len());
            match missing {
                Some(id) => {
                    Err(format!("{told}, and none with id {id}: {}", shortened(&came.to_string(), 300)))
                }
                None if answers.len() > count => Err(format!("{told}: {}", twice(answers))),
                None => Ok(format!("{count} answers")),
            }
        }
        [] if bench.profile.is_silent_on_batches() => Ok(came.to_string()),
        _ if refused => Ok(came.to_string()),
        _ => Err(came.to_string()),
    }
}
