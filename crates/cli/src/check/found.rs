//! What the server offers, as far as the cases need it.

use super::bench::Bench;
use super::era::Spoken;
use super::message::{Message, Response};
use super::outcome::{Came, End};
use super::wire::{Carrier, http2};
use crate::same::same;

/// A method that no server has.
pub(crate) const UNKNOWN: &str = "switchboard_check_no_such_method";

/// The code for unknown methods.
pub(crate) const NOT_FOUND: i64 = -32601;

/// The code for invalid requests.
pub(crate) const INVALID: i64 = -32600;

/// How many calls may go unanswered before the search ends.
const MUTE: usize = 2;

/// Calls that some servers answer, in the order in which they are tried.
const WELL_KNOWN: [(&str, Option<&str>); 9] = [
    ("subtract", Some("[42,23]")),
    ("echo", Some("[\"switchboard\"]")),
    ("rpc.discover", None),
    ("system.listMethods", Some("[]")),
    ("web3_clientVersion", Some("[]")),
    ("rpc_modules", Some("[]")),
    ("ping", None),
    ("tools/list", Some("{}")),
    ("server/discover", Some("{}")),
];

/// What was found, or given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// A call that succeeds: its method, and its parameters as JSON.
    pub(crate) good: Option<(String, Option<String>)>,
    /// A method that returns its parameter.
    pub(crate) echo: Option<String>,
    /// Whether `subtract` works as in the specification.
    pub(crate) has_subtract: bool,
    /// Whether the server speaks HTTP/2.
    pub(crate) has_http2: bool,
    /// Whether the server answers 1.0.
    pub(crate) has_old: bool,
    /// The server's code for unknown methods, if it is wrong. That is one fault, and not one of every case that calls an
    /// unknown method.
    pub(crate) unknown: Option<i64>,
    /// What the server does about invalid requests, if that is wrong.
    pub(crate) invalid: Option<Invalid>,
    /// How valid calls are answered.
    pub(crate) manner: Manner,
    /// What a server of the Model Context Protocol offers in each era.
    pub(crate) mcp: Spoken,
}

/// How valid calls are answered. A server that always does it wrongly is checked nevertheless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Correctly.
    #[default]
    Straight,
    /// With identifiers that are numbers turned into strings.
    TextIds,
    /// With invalid JSON-RPC.
    Crooked,
}

impl Manner {
    /// What this answer to a valid call with the identifier 1 shows, if it is meant to be JSON-RPC.
    pub(crate) fn of(came: &Came) -> Option<Manner> {
        let manners = [Manner::Straight, Manner::TextIds];
        if let Some(manner) = manners.into_iter().find(|manner| manner.is_answer(came)) {
            return Some(manner);
        }
        // These are not about the call, whatever their body.
        let is_elsewhere = |status| matches!(status, 300..=399 | 401 | 403..=405 | 407 | 415);
        if came.head.as_ref().is_some_and(|head| is_elsewhere(head.status)) {
            return None;
        }
        let means_it = |message: &Message| match message {
            Message::Garbage(text) => text.contains("\"jsonrpc\"") || text.contains("\"result\""),
            _ => message.responses().iter().any(|response| {
                let has = |name| response.value.get(name).is_some();
                has("jsonrpc") || (has("id") && (has("result") || has("error")))
            }),
        };
        came.messages.iter().any(means_it).then_some(Manner::Crooked)
    }

    /// Whether this is how a valid call with the identifier 1 is answered.
    pub(crate) fn is_answer(self, came: &Came) -> bool {
        match (self, came.messages.as_slice()) {
            (Manner::Straight, [Message::One(response)]) => response.has_id("1"),
            (Manner::TextIds, [Message::One(response)]) => response.has_id("\"1\""),
            (Manner::Crooked, messages) => !messages.is_empty(),
            _ => false,
        }
    }
}

/// What a server does about invalid requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// It answers with another code.
    Code(i64),
    /// It does not answer.
    Silence,
}

impl Found {
    /// Asks the server for what was not given.
    pub(crate) async fn look(
        bench: &mut Bench,
        given: Option<(String, Option<String>)>,
        echo: Option<String>,
    ) -> Found {
        let mut found = Found { good: given, mcp: bench.found.mcp.clone(), ..Found::default() };
        found.has_http2 =
            bench.carrier() == Carrier::Http && http2::is_spoken(&bench.endpoint, bench.timeout).await;
        let mut silences = 0;
        for (name, params) in WELL_KNOWN {
            if found.good.is_some() {
                break;
            }
            let (answer, is_silent) = ask(bench, name, params).await;
            if answer.is_some_and(|it| it.result.is_some()) {
                found.good = Some((name.to_owned(), params.map(str::to_owned)));
            }
            silences += usize::from(is_silent);
            if silences == MUTE {
                return found;
            }
        }
        let difference = call(bench, "subtract", Some("[42,23]")).await.and_then(|answer| answer.result);
        found.has_subtract = difference.is_some_and(|difference| same(&difference, "19"));
        for name in echo.as_deref().into_iter().chain(["echo"]) {
            let text = "\"switchboard check\"";
            let answer = call(bench, name, Some(&format!("[{text}]"))).await.and_then(|it| it.result);
            let is_echo = |own: String| same(&own, text) || same(&own, &format!("[{text}]"));
            if found.echo.is_none() && answer.is_some_and(is_echo) {
                found.echo = Some(name.to_owned());
            }
        }
        let unknown = format!(r#"{{"jsonrpc":"2.0","method":"{UNKNOWN}","id":1}}"#);
        if let [Message::One(response)] = bench.ask(unknown.as_bytes(), 1).await.messages.as_slice() {
            found.unknown = response.code().filter(|code| *code != NOT_FOUND);
        }
        let invalid = br#"{"jsonrpc":"2.0","method":1,"id":1}"#;
        let came = bench.ask(invalid, 1).await;
        found.invalid = match came.messages.as_slice() {
            [Message::One(response)] => response.code().filter(|code| *code != INVALID).map(Invalid::Code),
            [] if came.end == End::Open => Some(Invalid::Silence),
            _ => None,
        };
        let old = format!(r#"{{"method":"{UNKNOWN}","params":[],"id":1}}"#);
        let came = bench.ask(old.as_bytes(), 1).await;
        let is_old = |response: &Response| response.value.get("jsonrpc").is_none();
        found.has_old = matches!(came.messages.as_slice(), [Message::One(response)] if is_old(response));
        found
    }
}

/// The members of a call.
pub(crate) fn members((method, params): (&str, Option<&str>)) -> String {
    let method = serde_json::to_string(method).unwrap_or_default();
    let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
    format!("\"method\":{method}{params}")
}

async fn call(bench: &mut Bench, method: &str, params: Option<&str>) -> Option<Response> {
    ask(bench, method, params).await.0
}

/// Calls a method. Returns its response unless that is an error, and whether nothing came in time.
async fn ask(bench: &mut Bench, method: &str, params: Option<&str>) -> (Option<Response>, bool) {
    let version = if bench.is_old() { "" } else { "\"jsonrpc\":\"2.0\"," };
    let params = if bench.is_old() { Some(params.unwrap_or("[]")) } else { params };
    let text = format!("{{{version}{},\"id\":1}}", members((method, params)));
    let mut came = bench.ask(text.as_bytes(), 1).await;
    let is_silent = came.messages.is_empty() && came.end == End::Silent;
    match came.messages.pop() {
        Some(Message::One(response)) if !response.is_error() => (Some(response), is_silent),
        _ => (None, is_silent),
    }
}
