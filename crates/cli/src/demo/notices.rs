//! What is told to the server and not asked of it.
//!
//! These are called with and without an answer. What they are given goes to the log, where whoever runs the server asked
//! for it with `-v`; nothing else is done with it.

use std::sync::Arc;

use switchboard::{Json, Method, MethodDescription, Methods, ResultDescription, service};

use super::status::Status;
use crate::layout::visible;

/// The most characters of a notice that are logged.
const LONGEST: usize = 1000;

/// Everything of this kind. What happens is counted.
pub(super) fn notices(status: &Arc<Status>) -> Vec<Method> {
    let mut methods = Arc::new(Notices(Arc::clone(status))).methods();
    methods.push(log_event(Arc::clone(status)));
    methods
}

struct Notices(Arc<Status>);

#[service]
impl Notices {
    /// Takes notice of new values, and tells whoever asked for the status.
    #[method(tag = "notifications", notification)]
    fn update(&self, #[arg(rest)] values: Vec<Json>) {
        tracing::info!("an update with {} values", values.len());
        self.0.updated();
    }

    /// Takes a greeting.
    #[method(tag = "notifications", notification)]
    fn notify_hello(&self, #[arg(rest)] values: Vec<Json>) {
        tracing::info!("hello with {} values", values.len());
        self.0.noticed();
    }

    /// Takes numbers, as the examples of the JSON-RPC specification have it.
    #[method(tag = "notifications", notification)]
    fn notify_sum(&self, #[arg(rest)] numbers: Vec<Json>) {
        tracing::info!("a sum of {} numbers", numbers.len());
        self.0.noticed();
    }

    /// Writes a message to the log of the server, which shows it with `-v`.
    #[method(tag = "notifications", notification)]
    fn notify_log(
        &self,
        message: String,
        /// Who says so.
        source: Option<String>,
    ) {
        let source = source.as_deref().unwrap_or("a client");
        // Quoted, so that it cannot pass for another line of the log.
        tracing::info!("{:?} says {:?}", shortened(source), shortened(&message));
        self.0.noticed();
    }
}

const LOG_EVENT: &str = "\
Writes an event to the log of the server, which shows it with `-v`.

It may be told in any form: by name, by position, or not at all.";

/// `logEvent`: by hand, because it takes parameters of any names.
fn log_event(status: Arc<Status>) -> Method {
    let take = move |event: Json, _| {
        // A line end within it cannot pass for another line of the log.
        tracing::info!("the event {}", visible(shortened(event.as_str())));
        status.noticed();
        Ok::<_, switchboard::ErrorObject>(())
    };
    Method::sync("logEvent", take).described(|_| {
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
