//! Too large, too slow, cut off: the server keeps running and keeps serving others.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::check::bench::{Bench, collect};
use crate::check::case::{Case, Need, script};
use crate::check::message::Message;
use crate::check::outcome::{End, shortened};
use crate::check::wire::{Carrier, Line, Received, Request};

/// How long a program may take to end.
const ENDING: Duration = Duration::from_millis(500);

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    vec![
        script(
            "oversized",
            "a message of --max-bytes is answered or refused, and the server keeps running",
            &["SEC-L-01", "SEC-L-20"],
            ("a call with a string of that many bytes", "an answer, a refusal, or a closed connection"),
            |bench| Box::pin(oversized(bench)),
        )
        .hostile()
        .slow(),
        script(
            "slow",
            "a message that arrives slowly is answered",
            &["SEC-L-01"],
            ("a valid call in ten parts, 30 ms apart", "its answer"),
            |bench| Box::pin(slow(bench)),
        )
        .slow(),
        script(
            "cut-short",
            "a client that disconnects in the middle of a message does no harm",
            &["LSP-F-12"],
            ("half a call, then the end of the connection", "a valid call is answered afterwards"),
            |bench| Box::pin(cut_short(bench)),
        )
        .hostile(),
        script(
            "stalled",
            "a client that stops in the middle of a message does not block others",
            &["J2-75"],
            ("half a call on one connection, a valid call on another", "the answer to the valid call"),
            |bench| Box::pin(stalled(bench)),
        )
        .needs(Need::Shared)
        .hostile(),
        script(
            "many-connections",
            "forty clients at once are each answered",
            &["SEC-L-11"],
            ("40 connections, a valid call on each", "40 answers"),
            |bench| Box::pin(many(bench)),
        )
        .needs(Need::Shared)
        .slow(),
        script(
            "silent-connections",
            "idle connections do not block others",
            &["SEC-L-11"],
            ("40 idle connections, a valid call on another", "its answer"),
            |bench| Box::pin(silent(bench)),
        )
        .needs(Need::Shared)
        .hostile(),
        script(
            "noise",
            "random bytes close at most their own connection",
            &["SEC-L-20"],
            ("4 KiB of random bytes", "a valid call is answered afterwards"),
            |bench| Box::pin(noise(bench)),
        )
        .hostile(),
    ]
}

async fn oversized(bench: &mut Bench) -> Result<String, String> {
    let text = "x".repeat(bench.max_bytes);
    let version = if bench.is_old() { "" } else { r#""jsonrpc":"2.0","# };
    let call = format!(r#"{{{version}"method":"@none","params":["{text}"],"id":1}}"#);
    let call = bench.fill(call.as_bytes());
    let came = bench.ask(&call, 1).await;
    let is_refused = came.head.as_ref().is_some_and(|head| matches!(head.status, 400 | 413));
    match came.messages.as_slice() {
        [Message::One(response)] if response.is_error() => Ok(shortened(&response.text, 200)),
        _ if is_refused || came.end == End::Closed => Ok(came.to_string()),
        // A server may close the connection while this is sent.
        _ if matches!(&came.end, End::Unsent(_)) => Ok(came.to_string()),
        _ => Err(came.to_string()),
    }
}

/// A valid call as an HTTP request.
fn good(bench: &Bench) -> Vec<u8> {
    Request::post(bench.good(1)).bytes(&bench.endpoint)
}

async fn slow(bench: &mut Bench) -> Result<String, String> {
    let pause = Duration::from_millis(30);
    if bench.carrier() == Carrier::Http {
        let call = good(bench);
        let mut open = bench.endpoint.open().await.map_err(|error| error.to_string())?;
        for part in call.chunks(call.len() / 10 + 1) {
            tokio::io::AsyncWriteExt::write_all(&mut open, part).await.map_err(|error| error.to_string())?;
            tokio::time::sleep(pause).await;
        }
        let read = crate::check::wire::http::read(&mut open, "POST", bench.endpoint.limit);
        return match timeout(bench.timeout, read).await {
            Ok(Ok((head, _))) if head.status < 500 => Ok(format!("status {}", head.status)),
            Ok(Ok((head, _))) => Err(format!("status {}", head.status)),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("no answer in time".to_owned()),
        };
    }
    let mut line = bench.open().await?;
    let call = line.framed(bench.good(1).as_bytes());
    for part in call.chunks(call.len() / 10 + 1) {
        line.send_raw(part).await.map_err(|error| error.to_string())?;
        tokio::time::sleep(pause).await;
    }
    let came = collect(&mut line, "1", 0, Instant::now() + bench.timeout).await;
    if came.end == End::Open { Ok("the answer".to_owned()) } else { Err(came.to_string()) }
}

/// Sends half a call on a new connection, which is returned.
async fn half(bench: &mut Bench) -> Result<Box<dyn Send>, String> {
    if bench.carrier() == Carrier::Http {
        let call = good(bench);
        let mut open = bench.endpoint.open().await.map_err(|error| error.to_string())?;
        let sent = tokio::io::AsyncWriteExt::write_all(&mut open, &call[..call.len() - 5]).await;
        sent.map_err(|error| error.to_string())?;
        return Ok(Box::new(open));
    }
    let mut line = bench.open().await?;
    let call = line.framed(bench.good(1).as_bytes());
    line.send_raw(&call[..call.len() - 5]).await.map_err(|error| error.to_string())?;
    Ok(Box::new(line))
}

async fn cut_short(bench: &mut Bench) -> Result<String, String> {
    if bench.endpoint.is_shared() {
        drop(half(bench).await?);
    } else {
        let mut line = bench.open().await?;
        let call = line.framed(bench.good(1).as_bytes());
        let _ = line.send_raw(&call[..call.len() - 5]).await;
        let _ = line.finish().await;
        until_ended(&mut line).await;
    }
    bench.is_well().await.map(|()| "a valid call is answered".to_owned())
}

/// Gives a program time to end; dropping its connection would kill it.
async fn until_ended(line: &mut Line) {
    let ended = async { while !matches!(line.receive().await, Received::Closed(_)) {} };
    let _ = timeout(ENDING, ended).await;
}

async fn stalled(bench: &mut Bench) -> Result<String, String> {
    let held = half(bench).await?;
    let answered = bench.is_well().await;
    drop(held);
    answered.map(|()| "a valid call is answered".to_owned())
}

async fn many(bench: &mut Bench) -> Result<String, String> {
    let mut lines = Vec::new();
    if bench.carrier() == Carrier::Http {
        for _ in 0..40 {
            lines.push(bench.endpoint.open().await.map_err(|error| error.to_string())?);
        }
        let call = good(bench);
        for (number, open) in lines.iter_mut().enumerate() {
            let _ = tokio::io::AsyncWriteExt::write_all(open, &call).await;
            let read = crate::check::wire::http::read(open, "POST", bench.endpoint.limit);
            match timeout(bench.timeout, read).await {
                Ok(Ok(_)) => {}
                Ok(Err(why)) => return Err(format!("connection {number}: {why}")),
                Err(_) => return Err(format!("connection {number}: no answer in time")),
            }
        }
        return Ok("40 answers".to_owned());
    }
    let mut open = Vec::new();
    for _ in 0..40 {
        open.push(bench.open().await?);
    }
    for (number, line) in open.iter_mut().enumerate() {
        let call = line.framed(bench.good(1).as_bytes());
        let _ = line.send_raw(&call).await;
        let came = collect(line, "1", 0, Instant::now() + bench.timeout).await;
        if came.end != End::Open {
            return Err(format!("connection {number}: {came}"));
        }
    }
    Ok("40 answers".to_owned())
}

async fn silent(bench: &mut Bench) -> Result<String, String> {
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(bench.endpoint.open().await.map_err(|error| error.to_string())?);
    }
    let answered = bench.is_well().await;
    drop(held);
    answered.map(|()| "a valid call is answered".to_owned())
}

async fn noise(bench: &mut Bench) -> Result<String, String> {
    // The same in every run.
    let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    if bench.endpoint.is_shared() {
        let mut open = bench.endpoint.open().await.map_err(|error| error.to_string())?;
        let send = tokio::io::AsyncWriteExt::write_all(&mut open, &noise);
        let _ = timeout(bench.timeout, send).await;
    } else {
        let mut line = bench.open().await?;
        let _ = timeout(bench.timeout, line.send_raw(&noise)).await;
        until_ended(&mut line).await;
    }
    bench.is_well().await.map(|()| "a valid call is answered".to_owned())
}
