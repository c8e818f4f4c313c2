//! How messages are delimited on byte streams and WebSocket, and faults in that framing.

use tokio::time::{Instant, timeout_at};

use crate::check::bench::{Bench, collect};
use crate::check::case::{Case, Need, bytes, script};
use crate::check::found::UNKNOWN;
use crate::check::message::Message;
use crate::check::outcome::{End, Outcome, error};
use crate::check::profile::Point;
use crate::check::wire::{Received, websocket};

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [
        any(),
        lines(),
        json(),
        content_length(),
        lsp_faults(),
        length_prefix(),
        web_socket(),
        web_socket_faults(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// In any framing.
fn any() -> Vec<Case> {
    vec![
        script(
            "byte-by-byte",
            "a message that arrives byte by byte is answered",
            &["LSP-F-09", "JT-02"],
            ("a valid call in parts of one byte", "its answer"),
            |bench| Box::pin(in_parts(bench, 1)),
        )
        .needs(Need::Duplex),
        script(
            "several-at-once",
            "messages that arrive together are each answered",
            &["LSP-F-09", "JT-02"],
            ("ten valid calls in one write", "ten answers"),
            |bench| Box::pin(at_once(bench, 10)),
        )
        .needs(Need::Duplex),
    ]
}

async fn in_parts(bench: &mut Bench, size: usize) -> Result<String, String> {
    let mut line = bench.open().await?;
    let call = line.framed(bench.good(1).as_bytes());
    for part in call.chunks(size) {
        line.send_raw(part).await.map_err(|error| error.to_string())?;
    }
    let came = collect(&mut line, "1", 0, Instant::now() + bench.timeout).await;
    if came.end == End::Open { Ok("the answer".to_owned()) } else { Err(came.to_string()) }
}

async fn at_once(bench: &mut Bench, count: usize) -> Result<String, String> {
    let mut line = bench.open().await?;
    let calls: Vec<u8> = (1..=count).flat_map(|id| line.framed(bench.good(id).as_bytes())).collect();
    line.send_raw(&calls).await.map_err(|error| error.to_string())?;
    let came = collect(&mut line, &count.to_string(), count - 1, Instant::now() + bench.timeout).await;
    let has =
        |id: usize| came.messages.iter().flat_map(Message::responses).any(|it| it.has_id(&id.to_string()));
    match (1..count).find(|id| !has(*id)) {
        None if came.end == End::Open && came.messages.len() == count - 1 => Ok(format!("{count} answers")),
        None => Err(format!("{} answers to {count} calls: {came}", came.messages.len())),
        Some(id) => Err(format!("no answer with id {id}: {came}")),
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","method":"@none","id":1}"#;

fn lines() -> Vec<Case> {
    let line = |name, claim, text: String| bytes(name, claim, &["JT-02"], text).needs(Need::Framing("lines"));
    vec![
        line("lines-crlf", "a line can end with CRLF", format!("{CALL}\r\n")).right(error(&[-32601], "1")),
        line("lines-blank", "blank lines are skipped", format!("\n\r\n\n{CALL}\n"))
            .right(error(&[-32601], "1"))
            .allowed(Outcome::Each(vec![
                error(&[-32700], "null"),
                error(&[-32700], "null"),
                error(&[-32700], "null"),
                error(&[-32601], "1"),
            ])),
        line(
            "lines-broken",
            "a line that is not JSON does not affect the next",
            format!("{{\"jsonrpc\":\n{CALL}\n"),
        )
        .right(Outcome::Each(vec![error(&[-32700], "null"), error(&[-32601], "1")]))
        .common(Point::Silence, error(&[-32601], "1"))
        .common(Point::Closing, Outcome::Closed),
        script(
            "lines-no-end",
            "the last line can lack its line break",
            &["JT-02"],
            ("a valid call without a line break, then the end of input", "its answer"),
            |bench| Box::pin(unended(bench)),
        )
        .needs(Need::Framing("lines"))
        .should(),
    ]
}

async fn unended(bench: &mut Bench) -> Result<String, String> {
    let mut line = bench.open().await?;
    line.send_raw(bench.good(1).as_bytes()).await.map_err(|error| error.to_string())?;
    line.finish().await.map_err(|error| error.to_string())?;
    match timeout_at(Instant::now() + bench.timeout, line.receive()).await {
        Ok(Received::Message(_)) => Ok("the answer".to_owned()),
        Ok(_) => Err("the connection was closed without an answer".to_owned()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

fn json() -> Vec<Case> {
    let stream =
        |name, claim, text: String| bytes(name, claim, &["J2-54"], text).needs(Need::Framing("json"));
    vec![
        stream(
            "json-adjacent",
            "messages need no separator",
            format!("{CALL}{}", CALL.replace(":1}", ":2}")),
        )
        .should()
        .right(Outcome::Each(vec![error(&[-32601], "1"), error(&[-32601], "2")])),
        stream(
            "json-over-lines",
            "a message can span several lines",
            "{\n\"jsonrpc\":\"2.0\",\r\n\"method\":\"@none\",\n\"id\":1}\n".to_owned(),
        )
        .should()
        .right(error(&[-32601], "1")),
        stream(
            "json-braces-in-strings",
            "braces in strings do not end a message",
            r#"{"jsonrpc":"2.0","method":"}]{@none\"}","id":1}"#.to_owned() + "\n",
        )
        .right(error(&[-32601], "1")),
    ]
}

/// A message with this header, in the framing of language servers.
fn headed(header: &str) -> String {
    let call = call();
    format!("{}\r\n\r\n{call}", header.replace("LENGTH", &call.len().to_string()))
}

fn content_length() -> Vec<Case> {
    let lsp =
        |name, claim, rules, header| bytes(name, claim, rules, headed(header)).needs(Need::Framing("lsp"));
    vec![
        lsp(
            "lsp-header",
            "a header with only the length is accepted",
            &["LSP-F-01", "LSP-F-03"],
            "Content-Length: LENGTH",
        )
        .right(error(&[-32601], "1")),
        lsp("lsp-header-case", "header names are case-insensitive", &["LSP-F-06"], "content-length: LENGTH")
            .right(error(&[-32601], "1")),
        lsp(
            "lsp-header-blanks",
            "spaces around a header value are ignored",
            &["LSP-F-06"],
            "Content-Length:   LENGTH  ",
        )
        .right(error(&[-32601], "1")),
        lsp(
            "lsp-header-type",
            "the usual media type is accepted",
            &["LSP-F-04"],
            "Content-Length: LENGTH\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8",
        )
        .right(error(&[-32601], "1")),
        lsp(
            "lsp-header-unknown",
            "unknown headers are ignored",
            &["LSP-F-06"],
            "X-Other: 1\r\nContent-Length: LENGTH",
        )
        .right(error(&[-32601], "1")),
        bytes("lsp-length-of-bytes", "the length counts bytes, not characters", &["LSP-F-03"], {
            let call = "{\"jsonrpc\":\"2.0\",\"method\":\"é中\u{1F600}\",\"id\":1}";
            format!("Content-Length: {}\r\n\r\n{call}", call.len())
        })
        .needs(Need::Framing("lsp"))
        .right(error(&[-32601], "1")),
    ]
}

fn lsp_faults() -> Vec<Case> {
    let wrong = |name, claim, header| {
        bytes(name, claim, &["LSP-F-07"], headed(header))
            .needs(Need::Framing("lsp"))
            .hostile()
            .right(Outcome::Closed)
            .right(error(&[-32700, -32600], "null"))
    };
    vec![
        wrong("lsp-length-missing", "a header without a length is refused", "Content-Type: application/json"),
        wrong("lsp-length-word", "a length that is not a number is refused", "Content-Length: many"),
        wrong("lsp-length-negative", "a negative length is refused", "Content-Length: -5"),
        wrong(
            "lsp-lengths-differ",
            "two different lengths are refused",
            "Content-Length: LENGTH\r\nContent-Length: 3",
        ),
        wrong("lsp-length-huge", "a huge length is refused at once", "Content-Length: 99999999999999"),
        bytes(
            "lsp-header-endless",
            "an endless header is refused",
            &["LSP-F-08"],
            format!("X: {}", "x".repeat(200_000)),
        )
        .needs(Need::Framing("lsp"))
        .hostile()
        .should()
        .right(Outcome::Closed)
        .right(error(&[-32700, -32600], "null")),
    ]
}

fn length_prefix() -> Vec<Case> {
    vec![
        bytes(
            "length-huge",
            "a huge length is refused at once",
            &["SEC-L-20"],
            [0xff, 0xff, 0xff, 0xff, b'{'],
        )
        .needs(Need::Framing("length"))
        .hostile()
        .right(Outcome::Closed)
        .right(error(&[-32700, -32600], "null")),
        bytes("length-zero", "an empty message is refused", &["J2-52"], [0, 0, 0, 0])
            .needs(Need::Framing("length"))
            .should()
            .right(error(&[-32700], "null"))
            .allowed(Outcome::Nothing)
            .common(Point::Closing, Outcome::Closed),
    ]
}

fn call() -> String {
    CALL.replace("@none", UNKNOWN)
}

fn web_socket() -> Vec<Case> {
    let ws = |name, claim, frames: Vec<u8>| bytes(name, claim, &["JT-01"], frames).needs(Need::Framing("ws"));
    let text = call();
    let (first, second) = text.as_bytes().split_at(11);
    let fragments = [
        websocket::part(websocket::TEXT, first),
        websocket::frame(websocket::PING, b"between"),
        websocket::part(0, b""),
        websocket::part(0x80, second),
    ]
    .concat();
    vec![
        ws(
            "ws-binary",
            "a binary message is treated like text, or refused",
            websocket::frame(websocket::BINARY, text.as_bytes()),
        )
        .info()
        .right(error(&[-32601], "1"))
        .right(Outcome::Closed),
        ws("ws-fragments", "a fragmented message with a ping in between is one message", fragments)
            .right(error(&[-32601], "1")),
        script("ws-ping", "a ping is answered", &["JT-01"], ("a ping", "a pong"), |bench| {
            Box::pin(until(bench, websocket::frame(websocket::PING, b"hello"), |it| {
                matches!(it, Received::Pong)
            }))
        })
        .needs(Need::Framing("ws")),
        script(
            "ws-close",
            "a close frame is answered with one",
            &["JT-01"],
            ("a close frame with code 1000", "a close frame"),
            |bench| {
                Box::pin(until(bench, websocket::frame(8, &1000_u16.to_be_bytes()), |it| {
                    matches!(it, Received::Closed(Some(_)))
                }))
            },
        )
        .needs(Need::Framing("ws")),
    ]
}

async fn until(bench: &mut Bench, bytes: Vec<u8>, is_it: fn(&Received) -> bool) -> Result<String, String> {
    let mut line = bench.open().await?;
    line.send_raw(&bytes).await.map_err(|error| error.to_string())?;
    let deadline = Instant::now() + bench.timeout;
    loop {
        match timeout_at(deadline, line.receive()).await {
            Ok(received) if is_it(&received) => return Ok("received".to_owned()),
            Ok(Received::Closed(code)) => {
                return Err(match code {
                    Some(code) => format!("the connection was closed with code {code}"),
                    None => "the connection was closed".to_owned(),
                });
            }
            Ok(_) => {}
            Err(_) => return Err("not received in time".to_owned()),
        }
    }
}

fn web_socket_faults() -> Vec<Case> {
    let wrong = |name, claim, frames: Vec<u8>| {
        bytes(name, claim, &["JT-01"], frames).needs(Need::Framing("ws")).hostile().right(Outcome::Closed)
    };
    let text = call();
    vec![
        wrong("ws-unmasked", "an unmasked frame closes the connection", websocket::unmasked(text.as_bytes())),
        wrong(
            "ws-reserved-bits",
            "reserved bits close the connection",
            websocket::part(0xf1, text.as_bytes()),
        ),
        wrong(
            "ws-unknown-opcode",
            "an unknown opcode closes the connection",
            websocket::frame(5, text.as_bytes()),
        ),
        wrong(
            "ws-long-ping",
            "a ping of more than 125 bytes closes the connection",
            websocket::frame(websocket::PING, &[b'x'; 200]),
        ),
        wrong(
            "ws-stray-part",
            "a continuation frame without a message closes the connection",
            websocket::frame(0, text.as_bytes()),
        ),
        wrong(
            "ws-huge",
            "a huge length closes the connection",
            [0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4].to_vec(),
        ),
    ]
}
