//! Lines with params and results, for those who ask for them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use switchboard_core::{Call, ErrorObject, Json, Layer, Outcome, Reply, ReplyFuture, Service};

use super::{CallLog, LogFormat};
use crate::lines::{ascii, push_escaped, rfc3339, shortened};

/// Names of members whose values are never written, without `_` and `-` and in lower case.
const SECRETS: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "pin",
    "secret",
    "clientsecret",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "apikey",
    "privatekey",
    "authorization",
    "cookie",
    "signature",
    "credential",
];
/// Methods whose params are credentials.
const LOGIN: &str = "rpc.login";
/// A longer body is not read, and only its length is written.
const READ: usize = 64 << 10;
/// Replaces a value that is not written.
const REDACTED: &str = "[redacted]";

/// Which bodies are written, and what of them.
///
/// # Examples
///
/// ```
/// use switchboard_layers::log::BodyRules;
///
/// let rules = BodyRules::default().failures_only().redact("iban")?.redact("/params/card/number")?.redact("/result/*/email")?;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct BodyRules {
    failures_only: bool,
    limit: usize,
    names: Vec<String>,
    pointers: Vec<Vec<String>>,
}

impl Default for BodyRules {
    /// Those of all calls, up to 2 KiB, without passwords, tokens and the like.
    fn default() -> BodyRules {
        let names = SECRETS.iter().map(|name| (*name).to_owned()).collect();
        BodyRules { failures_only: false, limit: 2 << 10, names, pointers: Vec::new() }
    }
}

impl BodyRules {
    /// Writes bodies of calls that fail, and no others.
    #[must_use]
    pub fn failures_only(mut self) -> BodyRules {
        self.failures_only = true;
        self
    }

    /// Writes so many bytes of each body, 2 KiB by default.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> BodyRules {
        self.limit = bytes;
        self
    }

    /// Never writes the values of members with this name, at any depth; or the value at this JSON pointer, which starts with `/params`, `/result` or
    /// `/error`. In a pointer, `*` is any name or index. Names are compared without regard to case, `_` and `-`.
    ///
    /// # Errors
    ///
    /// If a pointer starts with something else.
    pub fn redact(mut self, what: &str) -> Result<BodyRules, String> {
        let Some(path) = what.strip_prefix('/') else {
            self.names.push(folded(what));
            return Ok(self);
        };
        let segments: Vec<_> =
            path.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
        match segments[0].as_str() {
            "params" | "result" | "error" => self.pointers.push(segments),
            _ => return Err(format!("{what:?} does not start with /params, /result or /error")),
        }
        Ok(self)
    }

    /// A body without what must not be written, of bounded length.
    fn shown(&self, kind: &str, body: &Json) -> String {
        let text = body.as_str();
        if text.len() > READ {
            return format!("({} bytes)", text.len());
        }
        match serde_json::from_str(text) {
            Ok(value) => self.shown_value(kind, value),
            Err(_) => format!("({} bytes)", text.len()),
        }
    }

    fn shown_error(&self, error: &ErrorObject) -> String {
        let data = error.data.as_ref().filter(|data| data.as_bytes().len() <= READ);
        let data = data.and_then(|data| data.decode::<Value>().ok());
        self.shown_value("error", json!({"code": error.code.0, "message": error.message, "data": data}))
    }

    fn shown_value(&self, kind: &str, mut value: Value) -> String {
        self.clean(&mut value, &mut vec![kind.to_owned()]);
        let mut text = ascii(&value.to_string());
        if text.len() > self.limit {
            let length = text.len();
            // It is ASCII.
            text.truncate(self.limit);
            let _ = write!(text, "... ({length} bytes)");
        }
        text
    }

    fn clean(&self, value: &mut Value, path: &mut Vec<String>) {
        if self.pointers.iter().any(|pointer| is_at(pointer, path)) {
            *value = REDACTED.into();
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if self.names.contains(&folded(name)) {
                        *value = REDACTED.into();
                        continue;
                    }
                    path.push(name.clone());
                    self.clean(value, path);
                    path.pop();
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter_mut().enumerate() {
                    path.push(index.to_string());
                    self.clean(value, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|character| !matches!(character, '_' | '-')).flat_map(char::to_lowercase).collect()
}

fn is_at(pointer: &[String], path: &[String]) -> bool {
    pointer.len() == path.len()
        && pointer.iter().zip(path).all(|(wanted, own)| wanted == "*" || wanted == own)
}

/// A layer that writes params and results to the log.
#[derive(Clone, Debug)]
pub struct BodyLog {
    log: CallLog,
    rules: Arc<BodyRules>,
}

impl CallLog {
    /// A layer that writes a line with the params of each call and with its result or error, as these rules say.
    ///
    /// It is for finding errors: bodies may have secrets that no rule knows. Params and results are strings with JSON, which may be truncated. Items of
    /// streams are not written, and neither are the params of `rpc.login`.
    #[must_use]
    pub fn bodies(&self, rules: BodyRules) -> BodyLog {
        BodyLog { log: self.clone(), rules: Arc::new(rules) }
    }
}

impl Layer for BodyLog {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(WithBodies { log: self.clone(), inner })
    }
}

struct WithBodies {
    log: BodyLog,
    inner: Arc<dyn Service>,
}

impl Service for WithBodies {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (log, request) = (self.log.clone(), call.clone());
        self.inner.call(call).map(move |reply| {
            log.write(&request, &reply);
            reply
        })
    }
}

impl BodyLog {
    fn write(&self, call: &Call, reply: &Reply) {
        let rules = &self.rules;
        let (kind, answer) = match &reply.outcome {
            Outcome::Error(error) => ("error", rules.shown_error(error)),
            _ if rules.failures_only => return,
            Outcome::Value(value) => ("result", rules.shown("result", value)),
            Outcome::Stream(_) => ("result", "(a stream)".to_owned()),
        };
        let params = match &call.params {
            Some(_) if call.method.as_str() == LOGIN => Some(REDACTED.to_owned()),
            Some(params) => Some(rules.shown("params", params)),
            None => None,
        };
        let members = [("params", params.as_deref()), (kind, Some(answer.as_str()))];
        self.log.0.lines.push(&match self.log.0.options.format {
            LogFormat::Json => json_line(call, &members),
            LogFormat::Pretty | LogFormat::Coloured => pretty_line(call, &members),
        });
    }
}

fn json_line(call: &Call, members: &[(&str, Option<&str>)]) -> String {
    let mut line =
        format!("{{\"time\":\"{}\",\"level\":\"info\",\"event\":\"bodies\"", rfc3339(SystemTime::now()));
    let mut add = |name: &str, text: &str| {
        let mut value = Vec::new();
        push_escaped(&mut value, text);
        let _ = write!(line, ",\"{name}\":\"{}\"", String::from_utf8_lossy(&value));
    };
    let session = call.cx.session().id();
    add("method", &shortened(call.method.as_str()));
    if let Some(id) = call.id() {
        add("id", &shortened(id.as_str().trim_matches('"')));
    }
    add("session", session.get(..8).unwrap_or(session));
    for (name, text) in members {
        if let Some(text) = text {
            add(name, text);
        }
    }
    line.push_str("}\n");
    line
}

fn pretty_line(call: &Call, members: &[(&str, Option<&str>)]) -> String {
    let mut line = format!("  {}", ascii(call.method.as_str()));
    for (name, text) in members {
        if let Some(text) = text {
            let _ = write!(line, "  {name} {text}");
        }
    }
    line.push('\n');
    line
}
