//! What came of each call of a batch, and how it is shown.

use anstyle::{AnsiColor, Style};
use futures_util::StreamExt;
use serde::Serialize;
use switchboard::{CallError, ErrorObject, Items, Json, Reply};
use tokio::time::Instant;

use super::input::Entry;
use crate::layout::Layout;
use crate::table::{self, Cell, Table};

const RESULT: Style = Style::new();
const ERROR: Style = AnsiColor::Red.on_default();
const METHOD: Style = AnsiColor::Green.on_default();

/// What came of one call.
pub(crate) struct Outcome {
    id: Json,
    method: String,
    result: Result<Json, ErrorObject>,
}

/// Items of a stream that are collected into one answer.
const ITEMS: usize = 10_000;

impl Outcome {
    /// What a reply comes to; nothing for a notification that was taken. A stream is collected, until then.
    pub(crate) async fn of(entry: &Entry, reply: Reply, until: Instant) -> Option<Outcome> {
        let result = match reply {
            Reply::Value(_) if entry.call.is_notification() => return None,
            Reply::Value(json) => Ok(json),
            Reply::Error(error) => Err(error),
            Reply::Stream(items) => {
                let collected = tokio::time::timeout_at(until, collect(items)).await;
                collected.unwrap_or_else(|_| Err(CallError::TimedOut.into()))
            }
        };
        Some(Outcome { id: entry.id.clone(), method: entry.call.method.to_string(), result })
    }

    pub(crate) fn is_failure(&self) -> bool {
        self.result.is_err()
    }

    /// The answer as a response object.
    pub(crate) fn to_json(&self) -> Json {
        #[derive(Serialize)]
        struct Response<'a> {
            jsonrpc: &'static str,
            id: &'a Json,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<Error<'a>>,
        }
        #[derive(Serialize)]
        struct Error<'a> {
            code: i64,
            message: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a Json>,
        }
        let error = self.result.as_ref().err().map(|error| Error {
            code: error.code.0,
            message: message(error),
            data: error.data.as_ref(),
        });
        let response = Response { jsonrpc: "2.0", id: &self.id, result: self.result.as_ref().ok(), error };
        Json::encode_ref(&response).expect("numbers, strings and JSON are JSON")
    }
}

/// What an error says; one that was found out here says more than what would be passed on of it.
fn message(error: &ErrorObject) -> String {
    match CallError::from(error.clone()) {
        CallError::Rejected(error) => error.message.to_string(),
        local => local.to_string(),
    }
}

/// The items of a stream as one value.
async fn collect(mut items: Items) -> Result<Json, ErrorObject> {
    let mut collected = Vec::new();
    while let Some(item) = items.next().await {
        if collected.len() == ITEMS {
            let text = format!("the stream has more than {ITEMS} items; use `switchboard watch`");
            return Err(CallError::Result(text.into()).into());
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
            Err(error) => {
                let data =
                    error.data.as_ref().map_or(String::new(), |data| format!(" {}", Layout::Line.of(data)));
                Cell::new(format!("error {} {}{data}", error.code, message(error)), ERROR)
            }
        };
        table.row([Cell::plain(id.as_str()), Cell::new(method, METHOD), answer]);
    }
    table.render(table::terminal_width())
}
