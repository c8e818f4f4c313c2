//! Methods for notifications.
//!
//! They can be called with and without an answer. They only write to the log, which shows it with `-v`.

use std::sync::Arc;

use switchboard::{Json, Method, MethodDescription, Methods, ResultDescription, service};

use super::status::Status;
use crate::visible::visible;

/// Maximum number of characters of a message that are logged.
const LONGEST: usize = 1000;

/// All of them. Their calls are counted.
pub(super) fn notices(status: &Arc<Status>) -> Vec<Method> {
    let mut methods = Arc::new(Notices(Arc::clone(status))).methods();
    for name in ["logEvent", "log_event"] {
        methods.push(log_event(name, Arc::clone(status)));
    }
    methods
}

struct Notices(Arc<Status>);

#[service]
impl Notices {
    /// Accepts new values, and sends `onUpdate` to the callers of `getStatus`.
    #[method(tag = "notifications", notification)]
    fn update(&self, #[arg(rest)] values: Vec<Json>) {
        tracing::info!("received an update with {} values", values.len());
        self.0.updated();
    }

    /// Accepts a greeting.
    #[method(tag = "notifications", notification)]
    fn notify_hello(&self, #[arg(rest)] values: Vec<Json>) {
        tracing::info!("received a greeting with {} values", values.len());
        self.0.noticed();
    }

    /// Accepts numbers, as in the examples of the JSON-RPC specification.
    #[method(tag = "notifications", notification)]
    fn notify_sum(&self, #[arg(rest)] numbers: Vec<Json>) {
        tracing::info!("received {} numbers", numbers.len());
        self.0.noticed();
    }

    /// Writes a message to the log of the server, which shows it with `-v`.
    #[method(tag = "notifications", notification)]
    fn log(&self, message: String) {
        self.write(&message, None);
    }

    /// Writes a message to the log of the server, which shows it with `-v`.
    #[method(tag = "notifications", notification)]
    fn log_message(&self, message: String) {
        self.write(&message, None);
    }

    /// Writes a message and its source to the log of the server, which shows it with `-v`.
    #[method(tag = "notifications", notification)]
    fn notify_log(
        &self,
        message: String,
        /// Who sent it.
        source: Option<String>,
    ) {
        self.write(&message, source.as_deref());
    }
}

impl Notices {
    fn write(&self, message: &str, source: Option<&str>) {
        let source = source.unwrap_or("a client");
        // Quoted, so that it cannot pass for another line of the log.
        tracing::info!("{:?} says {:?}", shortened(source), shortened(message));
        self.0.noticed();
    }
}

const LOG_EVENT: &str = "\
Writes an event to the log of the server, which shows it with `-v`.

It accepts any parameters, by name or by position.";

/// By hand, because it accepts parameters of any names.
fn log_event(name: &'static str, status: Arc<Status>) -> Method {
    let take = move |event: Json, _| {
        // Escaped, so that a line break in it cannot pass for another line of the log.
        tracing::info!("received the event {}", visible(shortened(event.as_str())));
        status.noticed();
        Ok::<_, switchboard::ErrorObject>(())
    };
    Method::sync(name, take).described(|_| {
        MethodDescription::documented(LOG_EVENT).result(ResultDescription::Nothing).tag("notifications")
    })
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_cut_between_characters() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(LONGEST)).chars().count(), LONGEST);
        assert_eq!(shortened(&"é".repeat(LONGEST + 1)).chars().count(), LONGEST);
    }
}
