//! HTTP: methods, media types, statuses, headers, lengths.

use crate::check::bench::Bench;
use crate::check::case::{Case, Need, http, script};
use crate::check::difference::difference;
use crate::check::outcome::{Came, Outcome, error, shortened};
use crate::check::profile::Point;
use crate::check::wire::{Length, Request};

/// A call that every server answers with an error.
const CALL: &str = r#"{"jsonrpc":"2.0","method":"@none","id":1}"#;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [methods(), media(), statuses(), headers(), lengths()].into_iter().flatten().collect()
}

fn post() -> Request {
    Request::post(CALL)
}

fn methods() -> Vec<Case> {
    let refused = |name, claim, method| {
        http(name, claim, &["JH-20"], Request::post("").by(method).typed(None))
            .should()
            .right(Outcome::Status(&[405]))
            .allowed(Outcome::Status(&[400, 404, 415, 501]))
    };
    vec![
        http("http-post", "a POST gets a response object", &["JH-20"], post()).right(error(&[-32601], "1")),
        refused("http-get", "GET without a call is refused", "GET")
            .allowed(Outcome::Status(&[406]))
            .common(Point::Get, Outcome::Status(&[200])),
        refused("http-put", "PUT is refused", "PUT"),
        refused("http-delete", "DELETE is refused", "DELETE")
            .common(Point::Get, Outcome::Status(&[200, 204])),
        refused("http-unknown-method", "an unknown HTTP method is refused", "FROBNICATE"),
    ]
}

fn media() -> Vec<Case> {
    let refused = |name, claim, content_type| {
        http(name, claim, &["JH-21", "SEC-O-06"], post().typed(content_type))
            .should()
            .right(Outcome::Status(&[415]))
            .allowed(Outcome::Status(&[400, 406]))
            .common(Point::MediaType, Outcome::Status(&[200]))
            .like("http-text-plain")
    };
    let taken = |name, claim, content_type| {
        http(name, claim, &["JH-21"], post().typed(Some(content_type))).right(error(&[-32601], "1"))
    };
    vec![
        refused(
            "http-text-plain",
            "plain text is refused: pages of any site can send it",
            Some("text/plain"),
        ),
        refused(
            "http-form",
            "a form is refused: pages of any site can send it",
            Some("application/x-www-form-urlencoded"),
        ),
        refused("http-no-type", "a body without a media type is refused", None),
        taken(
            "http-charset",
            "application/json with charset=utf-8 is accepted",
            "application/json; charset=utf-8",
        ),
        taken("http-type-in-capitals", "media types are case-insensitive", "Application/JSON"),
        taken("http-json-rpc", "application/json-rpc is accepted", "application/json-rpc")
            .info()
            .allowed(Outcome::Status(&[415, 400])),
        http(
            "http-accept-nothing",
            "a client that accepts only HTML is answered, or refused with 406",
            &["JH-26"],
            post().accepting(Some("text/html")),
        )
        .info()
        .right(Outcome::Status(&[406]))
        .right(error(&[-32601], "1")),
        http("http-no-accept", "a request without `Accept` is answered", &["JH-26"], post().accepting(None))
            .right(error(&[-32601], "1"))
            .special(Point::Accept, Outcome::Status(&[406])),
    ]
}

fn statuses() -> Vec<Case> {
    vec![
        http("http-error-status", "an error response has status 200", &["JH-22"], post())
            .should()
            .right(Outcome::Status(&[200]))
            .common(Point::HttpStatus, Outcome::Status(&[400, 404, 500])),
        http(
            "http-parse-status",
            "a body that is not JSON gets status 200 or 400",
            &["JH-24"],
            Request::post("{"),
        )
        .should()
        .right(Outcome::Status(&[200]))
        .allowed(Outcome::Status(&[400]))
        .common(Point::HttpStatus, Outcome::Status(&[500])),
        http(
            "http-nothing-status",
            "a request without an answer gets status 204 or 202",
            &["JH-23"],
            Request::post(r#"{"jsonrpc":"2.0","method":"@none"}"#),
        )
        .should()
        .right(Outcome::Status(&[204, 202]))
        .common(Point::EmptyOk, Outcome::Status(&[200])),
        script(
            "http-nothing-body",
            "a request without an answer gets an empty body, not even `null`",
            &["J2-17", "J2-44", "JH-23"],
            ("a notification, then a batch of one notification", "an empty body"),
            |bench| Box::pin(empty(bench)),
        )
        .needs(Need::Http)
        .rests_on("notification-unknown"),
    ]
}

/// Judged by the body as it came: `null` is not empty.
async fn empty(bench: &mut Bench) -> Result<String, String> {
    let notification = bench.fill(br#"{"jsonrpc":"2.0","method":"@none"}"#);
    let batch = [b"[", &notification[..], b"]"].concat();
    for body in [notification, batch] {
        let came = bench.request(&Request::post(&body)).await;
        let is_refused = |came: &Came| came.messages.iter().any(|message| message.text().contains("error"));
        if body[0] == b'[' && is_refused(&came) {
            return Ok("an empty body; the batch is refused".to_owned());
        }
        if !came.messages.is_empty() || came.head.is_none() {
            return Err(format!("{came}; {}", difference(&Outcome::Nothing, &came)));
        }
    }
    Ok("an empty body".to_owned())
}

fn headers() -> Vec<Case> {
    vec![
        script(
            "http-response-type",
            "a response declares a JSON media type",
            &["JH-25"],
            ("a call", "Content-Type: application/json"),
            |bench| {
                Box::pin(header(bench, "content-type", |value| {
                    value.to_lowercase().starts_with("application/json")
                        || value.starts_with("text/event-stream")
                }))
            },
        )
        .needs(Need::Http),
        script(
            "http-no-sniffing",
            "a response forbids content sniffing",
            &["JH-25", "SEC-O-08"],
            ("a call", "X-Content-Type-Options: nosniff"),
            |bench| Box::pin(header(bench, "x-content-type-options", |value| value == "nosniff")),
        )
        .needs(Need::Http)
        .info(),
        script(
            "http-no-store",
            "a response forbids caching",
            &["JH-25"],
            ("a call", "Cache-Control: no-store"),
            |bench| Box::pin(header(bench, "cache-control", |value| value.contains("no-store"))),
        )
        .needs(Need::Http)
        .info(),
    ]
}

async fn header(bench: &mut Bench, name: &str, is_right: fn(&str) -> bool) -> Result<String, String> {
    let call = bench.fill(CALL.as_bytes());
    let came = bench.request(&Request::post(call)).await;
    match came.head.as_ref().and_then(|head| head.header(name)) {
        Some(value) if is_right(value) => Ok(format!("{name}: {value}")),
        Some(value) => Err(format!("{name}: {}", shortened(value, 100))),
        None => Err(format!("no {name} ({came})")),
    }
}

fn lengths() -> Vec<Case> {
    vec![
        http("http-chunked", "a chunked body is accepted", &["JH-20"], post().sized(Length::Chunked))
            .should()
            .right(error(&[-32601], "1"))
            .allowed(Outcome::Status(&[411])),
        http(
            "http-expect",
            "`Expect: 100-continue` is answered",
            &["JH-20"],
            post().with_lines("Expect: 100-continue\r\n"),
        )
        .should()
        .right(error(&[-32601], "1"))
        .allowed(Outcome::Status(&[417])),
        http(
            "http-two-lengths",
            "a request with both a length and chunks is refused, or read by its chunks",
            &["SEC-H-01"],
            post().sized(Length::Both),
        )
        .hostile()
        .right(Outcome::Status(&[400]))
        .right(Outcome::Closed)
        .allowed(error(&[-32601], "1")),
        http(
            "http-lengths-differ",
            "two different lengths are refused",
            &["SEC-H-01"],
            post().with_lines("Content-Length: 3\r\n"),
        )
        .hostile()
        .right(Outcome::Status(&[400]))
        .right(Outcome::Closed),
        http(
            "http-length-negative",
            "a negative length is refused",
            &["SEC-H-01"],
            post().sized(Length::Says("-1")),
        )
        .hostile()
        .right(Outcome::Status(&[400, 411]))
        .right(Outcome::Closed),
        http(
            "http-length-word",
            "a length that is not a number is refused",
            &["SEC-H-01"],
            post().sized(Length::Says("many")),
        )
        .hostile()
        .right(Outcome::Status(&[400, 411]))
        .right(Outcome::Closed),
        http(
            "http-length-huge",
            "a huge length is refused",
            &["SEC-L-01"],
            post().sized(Length::Says("99999999999999999999")),
        )
        .hostile()
        .right(Outcome::Status(&[400, 413]))
        .right(Outcome::Closed),
        http("http-long-head", "a head of 200 KB is refused", &["SEC-L-16"], post().with_lines(long_line()))
            .hostile()
            .should()
            .right(Outcome::Status(&[431, 400, 413]))
            .right(Outcome::Closed)
            .allowed(error(&[-32601], "1")),
    ]
}

/// A header line that is longer than any server should accept.
fn long_line() -> &'static str {
    static LINE: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| format!("X-Long: {}\r\n", "x".repeat(200_000)));
    &LINE
}
