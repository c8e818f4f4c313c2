//! The outcome of each call of a batch, and how it is shown.

use anstyle::{AnsiColor, Style};
use futures_util::StreamExt;
use serde::Serialize;
use switchboard::{CallError, Code, ErrorObject, Items, Json, Reply};

use super::input::Entry;
use crate::allowance::Allowance;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::layout::Layout;
use crate::table::{self, Cell, Table};
use crate::target::Target;

const RESULT: Style = Style::new();
const ERROR: Style = AnsiColor::Red.on_default();
const METHOD: Style = AnsiColor::Green.on_default();

/// The outcome of one call.
pub(crate) struct Outcome {
    id: Json,
    method: String,
    result: Result<Json, CallError>,
}

/// Items of a stream that are collected into one answer.
const ITEMS: usize = 10_000;

impl Outcome {
    /// What a reply comes to; nothing for a notification that was taken. A stream is collected within the time of the call.
    pub(crate) async fn of(entry: &Entry, reply: Reply, time: Allowance) -> Option<Outcome> {
        let result = match reply.outcome {
            switchboard::Outcome::Value(_) if entry.call.is_notification() => return None,
            switchboard::Outcome::Value(json) => Ok(json),
            switchboard::Outcome::Error(error) => Err(error.into()),
            switchboard::Outcome::Stream(items) => {
                let collected = tokio::time::timeout_at(time.until, collect(items)).await;
                collected.unwrap_or(Err(CallError::TimedOut))
            }
        };
        let result = result.map_err(|error| time.judge(error));
        Some(Outcome { id: entry.id.clone(), method: entry.call.method.to_string(), result })
    }

    /// The answer as a response object; without a valid answer, an object with a `failure`, which cannot be taken for one.
    pub(crate) fn to_json(&self) -> Json {
        #[derive(Serialize)]
        struct Object<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            jsonrpc: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<Error<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            failure: Option<Local>,
            id: &'a Json,
        }
        #[derive(Serialize)]
        struct Error<'a> {
            code: i64,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a Json>,
        }
        #[derive(Serialize)]
        struct Local {
            kind: &'static str,
            message: String,
        }
        let mut object =
            Object { jsonrpc: Some("2.0"), result: None, error: None, failure: None, id: &self.id };
        match &self.result {
            Ok(json) => object.result = Some(json),
            Err(CallError::Rejected(error)) => {
                let (code, message, data) = (error.code.0, &*error.message, error.data.as_ref());
                object.error = Some(Error { code, message, data });
            }
            Err(local) => {
                object.jsonrpc = None;
                object.failure = Some(Local { kind: kind(Exit::of(local)), message: local.to_string() });
            }
        }
        Json::encode_ref(&object).expect("numbers, strings and JSON are JSON")
    }
}

/// The kind of a failure, for programs.
fn kind(exit: Exit) -> &'static str {
    match exit {
        Exit::TimedOut => "timeout",
        Exit::Protocol => "protocol",
        Exit::Usage => "unsupported",
        _ => "connection",
    }
}

/// The items of a stream as one value.
async fn collect(mut items: Items) -> Result<Json, CallError> {
    let mut collected = Vec::new();
    while let Some(item) = items.next().await {
        if collected.len() == ITEMS {
            let text = format!("the stream has more than {ITEMS} items; use `switchboard watch`");
            return Err(CallError::Result(text.into()));
        }
        collected.push(item?);
    }
    Ok(Json::encode_ref(&collected).expect("a list of JSON is JSON"))
}

/// All answers as one array.
pub(crate) fn list(outcomes: &[Outcome]) -> Json {
    let list: Vec<Json> = outcomes.iter().map(Outcome::to_json).collect();
    Json::encode_ref(&list).expect("a list of JSON is JSON")
}

/// All answers as a table.
pub(crate) fn table(outcomes: &[Outcome]) -> String {
    let mut table = Table::new(["id", "method", "answer"]);
    for Outcome { id, method, result } in outcomes {
        let answer = match result {
            Ok(json) => Cell::new(Layout::Line.of(json), RESULT),
            Err(CallError::Rejected(error)) => Cell::new(format!("error {}", line(error)), ERROR),
            Err(local) => Cell::new(format!("failed: {local}"), ERROR),
        };
        table.row([Cell::plain(id.as_str()), Cell::new(method, METHOD), answer]);
    }
    table.render(table::terminal_width())
}

/// An error on one line.
fn line(error: &ErrorObject) -> String {
    let data = error.data.as_ref().map_or(String::new(), |data| format!(" {}", Layout::Line.of(data)));
    format!("{} {}{data}", error.code, error.message)
}

/// The overall outcome. A call without a valid answer takes precedence over an error: it has the exit code that the same failure
/// of a single call has.
pub(crate) fn verdict(outcomes: &[Outcome], target: &Target) -> Result<(), Failure> {
    let failures: Vec<&CallError> =
        outcomes.iter().filter_map(|outcome| outcome.result.as_ref().err()).collect();
    let mut unanswered = failures.iter().filter(|error| error.rejection().is_none());
    let what = format!("{} of {} calls failed", failures.len(), outcomes.len());
    match unanswered.next() {
        None if failures.is_empty() => Ok(()),
        None => Err(Failure::new(Exit::Rejected, what)),
        Some(first) => {
            let count = 1 + unanswered.count();
            let first = (*first).clone();
            Err(target.explain(first).at(format!("{what}, {count} of them without a valid answer")))
        }
    }
}

/// Codes with which servers refuse a batch as a whole: those of our server and of other libraries, for too many calls in it.
const REFUSALS: [Code; 4] =
    [Code::PARSE_ERROR, Code::INVALID_REQUEST, Code::OVER_LIMIT, Code(-32010 /* jsonrpsee */)];

/// Why the server refused the whole batch, if it did.
pub(crate) fn refusal(outcomes: &[Outcome]) -> Option<Failure> {
    let rejection = |outcome: &Outcome| outcome.result.as_ref().err().and_then(CallError::rejection).cloned();
    let (first, rest) = outcomes.split_first()?;
    let error = rejection(first).filter(|error| REFUSALS.contains(&error.code))?;
    let is_same = |outcome: &Outcome| rejection(outcome).as_ref() == Some(&error);
    if rest.is_empty() || !rest.iter().all(is_same) {
        return None;
    }
    let what = format!("the server refused the batch of {} calls: {}", outcomes.len(), line(&error));
    Some(
        Failure::new(Exit::Rejected, what)
            .advise("send fewer calls per batch, or separate requests with `--concurrent`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(id: u32, result: Result<u32, CallError>) -> Outcome {
        let json = |number: u32| Json::encode(&number).unwrap();
        Outcome { id: json(id), method: "m".to_owned(), result: result.map(json) }
    }

    fn rejected(code: Code) -> CallError {
        CallError::Rejected(ErrorObject::from_code(code))
    }

    #[test]
    fn a_call_without_an_answer_is_a_failure_and_not_an_error() {
        let check = |error: CallError, expected: &str| {
            assert_eq!(outcome(1, Err(error)).to_json().as_str(), expected);
        };
        check(
            rejected(Code::UPSTREAM_FAILED),
            r#"{"jsonrpc":"2.0","error":{"code":-32004,"message":"Upstream service failed"},"id":1}"#,
        );
        check(
            CallError::Protocol("odd".into()),
            r#"{"failure":{"kind":"protocol","message":"invalid response: odd"},"id":1}"#,
        );
        check(
            CallError::TimedOut,
            r#"{"failure":{"kind":"timeout","message":"timed out waiting for a response"},"id":1}"#,
        );
        check(
            CallError::Unreachable("gone".into()),
            r#"{"failure":{"kind":"connection","message":"gone"},"id":1}"#,
        );
        check(
            CallError::Unsupported("odd".into()),
            r#"{"failure":{"kind":"unsupported","message":"the request was not sent: odd"},"id":1}"#,
        );
    }

    #[test]
    fn a_batch_is_refused_as_a_whole_if_all_its_calls_are_and_not_for_themselves() {
        let check = |outcomes: &[Outcome], expected: bool| {
            assert_eq!(refusal(outcomes).is_some(), expected);
        };
        let too_many = || Err(rejected(Code::INVALID_REQUEST));
        check(&[outcome(1, too_many()), outcome(2, too_many())], true);
        check(&[outcome(1, too_many())], false);
        check(&[outcome(1, too_many()), outcome(2, Ok(1))], false);
        let unknown = || Err(rejected(Code::METHOD_NOT_FOUND));
        check(&[outcome(1, unknown()), outcome(2, unknown())], false);
        check(&[], false);
    }
}
