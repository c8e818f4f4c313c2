//! Connections that stay open: concurrent calls, and messages that must not close the connection.

use tokio::time::Instant;

use crate::check::bench::{Bench, collect};
use crate::check::case::{Case, Need, script};
use crate::check::found::UNKNOWN;
use crate::check::message::Message;
use crate::check::outcome::{Came, End};

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let all = vec![
        script(
            "pipelined",
            "a hundred concurrent calls are each answered once",
            &["J2-24", "J2-75"],
            ("100 calls without waiting", "100 answers, each with its own identifier"),
            |bench| Box::pin(pipelined(bench, 100)),
        ),
        script(
            "same-id-in-flight",
            "two concurrent calls with the same identifier are both answered",
            &["J2-16"],
            ("two calls with id 1", "two answers with id 1"),
            |bench| Box::pin(two(bench, ("1", "1"))),
        )
        .should(),
        script(
            "string-and-number-ids",
            "\"1\" and 1 are different identifiers",
            &["J2-16", "J2-28"],
            ("a call with id 1 and one with id \"1\"", "an answer to each"),
            |bench| Box::pin(two(bench, ("1", "\"1\""))),
        ),
        script(
            "notifications-between",
            "notifications between calls are not answered, and do not block the calls",
            &["J2-17"],
            ("20 calls with a notification before each", "20 answers"),
            |bench| Box::pin(between(bench)),
        ),
        script(
            "goes-on-after-parse-error",
            "a message that is not JSON does not close the connection",
            &["J2-32"],
            (
                "a message that is not JSON, then a valid call",
                "the answer to the valid call on the same connection",
            ),
            |bench| Box::pin(goes_on(bench, b"{\"jsonrpc\":}")),
        )
        .should(),
        script(
            "goes-on-after-stray",
            "an unexpected response does not close the connection",
            &["J2-67"],
            ("a response, then a valid call", "the answer to the valid call on the same connection"),
            |bench| Box::pin(goes_on(bench, br#"{"jsonrpc":"2.0","result":1,"id":990002}"#)),
        ),
        script(
            "unread",
            "a client that does not read does not affect others",
            &["SEC-L-14"],
            (
                "2000 calls on a connection that is not read, a valid call on another",
                "the answer to the valid call",
            ),
            |bench| Box::pin(unread(bench)),
        )
        .needs(Need::Shared)
        .hostile()
        .slow(),
    ];
    all.into_iter().map(|case| case.needs(Need::Duplex)).collect()
}

fn call(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{UNKNOWN}","id":{id}}}"#)
}

/// Sends messages at once, and reads that many answers besides that of a last valid call.
async fn send(bench: &mut Bench, messages: &[String], expected: usize) -> Result<Came, String> {
    let mut line = bench.open().await?;
    let bytes: Vec<u8> = messages.iter().flat_map(|message| line.framed(message.as_bytes())).collect();
    Ok(bench.ask_on(&mut line, &bytes, expected).await)
}

async fn pipelined(bench: &mut Bench, count: usize) -> Result<String, String> {
    let messages: Vec<String> = (1..=count).map(call).collect();
    let came = send(bench, &messages, count).await?;
    let has = |id: usize| {
        let mut responses = came.messages.iter().flat_map(Message::responses);
        responses.any(|response| response.has_id(&id.to_string()))
    };
    match (1..=count).find(|id| !has(*id)) {
        Some(id) => Err(format!("no answer with id {id}: {came}")),
        None if came.messages.len() != count => {
            Err(format!("{} answers to {count} calls", came.messages.len()))
        }
        None => Ok(format!("{count} answers")),
    }
}

async fn two(bench: &mut Bench, (first, second): (&str, &str)) -> Result<String, String> {
    let came = send(bench, &[call(first), call(second)], 2).await?;
    let answers: Vec<_> = came.messages.iter().flat_map(Message::responses).collect();
    let count = |id: &str| answers.iter().filter(|response| response.has_id(id)).count();
    let expected = if first == second { 2 } else { 1 };
    if answers.len() == 2 && count(first) == expected && count(second) == expected {
        Ok("two answers".to_owned())
    } else {
        Err(came.to_string())
    }
}

async fn between(bench: &mut Bench) -> Result<String, String> {
    let notification = format!(r#"{{"jsonrpc":"2.0","method":"{UNKNOWN}"}}"#);
    let messages: Vec<String> = (1..=20).flat_map(|id| [notification.clone(), call(id)]).collect();
    let came = send(bench, &messages, 20).await?;
    if came.messages.len() == 20 && came.end == End::Open {
        Ok("20 answers".to_owned())
    } else {
        Err(came.to_string())
    }
}

async fn goes_on(bench: &mut Bench, message: &[u8]) -> Result<String, String> {
    let mut line = bench.open().await?;
    line.send(message).await.map_err(|error| error.to_string())?;
    line.send(bench.good(1).as_bytes()).await.map_err(|error| error.to_string())?;
    let came = collect(&mut line, "1", 0, Instant::now() + bench.timeout).await;
    if came.end == End::Open { Ok("the answer to the valid call".to_owned()) } else { Err(came.to_string()) }
}

async fn unread(bench: &mut Bench) -> Result<String, String> {
    let mut line = bench.open().await?;
    let calls: Vec<u8> = (0..2000).flat_map(|id| line.framed(bench.good(id).as_bytes())).collect();
    // A server may stop reading until its answers are read.
    let _ = tokio::time::timeout(bench.timeout / 2, line.send_raw(&calls)).await;
    let answered = bench.is_well().await;
    drop(line);
    answered.map(|()| "a valid call is answered".to_owned())
}
