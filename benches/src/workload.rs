//! What the subjects are asked, and what a right answer is.

use std::fmt::Write;
use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Value, json};

/// The call that opens a stream of items without end, each the number 107.
pub const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_sums","params":[]}"#;

/// The notification that carries an item of it.
pub const ITEM: &str = "sum";

/// Additional headers that are common in production.
pub const USUAL_HEADERS: &str = "Authorization: Bearer 3f9c1b7e-52d4-4d0a-9b1e-7c2f6a8d0e41\r\n\
    traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\
    User-Agent: python-httpx/0.28.1\r\nAccept: application/json\r\n";

/// About how many bytes the large workloads carry.
pub const LARGE: usize = 1 << 20;

/// The string that the method `text` returns: 1 MB of prose without anything to escape.
pub static TEXT: LazyLock<String> = LazyLock::new(|| {
    let line = "Every call is answered once, in the order it came, or not at all. ";
    line.repeat(LARGE / line.len() + 1)[..LARGE].to_owned()
});

/// The JSON that the method `document` returns: 1 MB of nested arrays and objects, as text.
pub static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::with_capacity(LARGE + 256);
    text.push('[');
    for n in 0_u64.. {
        let comma = if n == 0 { "" } else { "," };
        let (price, even) = (n * 37 % 10_000, n % 2 == 0);
        write!(
            text,
            r#"{comma}{{"id":{n},"name":"item {n}","tags":["a","b"],"at":{{"x":-{price}.25,"ok":{even},"up":null}}}}"#
        )
        .expect("writing to a string cannot fail");
        if text.len() >= LARGE {
            break;
        }
    }
    text.push(']');
    text
});

/// One body to send and the answer it must get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One call of `add [100, 7]`.
    Add,
    /// As many calls of `add [100, 7]` in one array.
    Batch(usize),
    /// One call of `add_later [100, 7]`, which is pending at its first poll.
    Pending,
    /// 1 MB of nested JSON as params, for the method `ignore`, which does not read them.
    NestedParams,
    /// A string of 1 MB as params, for the method `ignore`.
    StringParams,
    /// The method `text`, which returns a Rust string of 1 MB.
    TextResult,
    /// The method `document`, which returns 1 MB of JSON text that it has ready.
    DocumentResult,
}

impl Workload {
    /// The body of the request.
    pub fn body(self) -> Bytes {
        let text = match self {
            Self::Add => add(1),
            Self::Pending => request("add_later", "[100,7]"),
            Self::Batch(count) => format!("[{}]", (1..=count).map(add).collect::<Vec<_>>().join(",")),
            Self::NestedParams => request("ignore", &DOCUMENT),
            Self::StringParams => request("ignore", &format!("[\"{}\"]", *TEXT)),
            Self::TextResult => request("text", "[]"),
            Self::DocumentResult => request("document", "[]"),
        };
        Bytes::from(text)
    }

    /// Whether `answer` is the right one, whatever the order of its members, signed or not.
    pub fn is_answered_by(self, answer: &[u8]) -> bool {
        serde_json::from_slice::<Value>(answer).is_ok_and(|mut answer| {
            if let Some(members) = answer.as_object_mut() {
                members.remove("signature");
            }
            answer == self.expected()
        })
    }

    /// The bytes that a subject has to validate or to write at least once for this workload.
    pub fn payload(self) -> Bytes {
        match self {
            Self::TextResult => Bytes::from(format!("\"{}\"", *TEXT)),
            Self::DocumentResult => Bytes::from(DOCUMENT.clone()),
            _ => self.body(),
        }
    }

    /// What the tables call it.
    pub fn title(self) -> String {
        match self {
            Self::Add => "add, one call".to_owned(),
            Self::Pending => "add, pending at first".to_owned(),
            Self::Batch(count) => format!("add, batch of {count}"),
            Self::NestedParams => "1 MB of nested params, not read".to_owned(),
            Self::StringParams => "1 MB string in params, not read".to_owned(),
            Self::TextResult => "1 MB string as result".to_owned(),
            Self::DocumentResult => "1 MB of ready JSON as result".to_owned(),
        }
    }

    fn expected(self) -> Value {
        match self {
            Self::Add | Self::Pending => response(1, &json!(107)),
            Self::Batch(count) => (1..=count).map(|id| response(id, &json!(107))).collect(),
            Self::NestedParams | Self::StringParams => response(1, &json!(true)),
            Self::TextResult => response(1, &json!(*TEXT)),
            Self::DocumentResult => {
                response(1, &serde_json::from_str(&DOCUMENT).expect("the document is JSON"))
            }
        }
    }
}

fn add(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"add","params":[100,7]}}"#)
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn response(id: usize, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "result": result, "id": id})
}
