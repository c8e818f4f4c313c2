//! Sends a text unchanged over a separate connection, to see how the server reacts.

use std::time::Duration;

use switchboard::{CallError, Direction, Json, Wire};

use super::voice::Voice;
use crate::check::wire::{Carrier, Endpoint, Line, Received, Request, http};
use crate::failure::Failure;
use crate::target::Target;
use crate::visible::visible;

/// The longest answer that is accepted.
const LIMIT: usize = 16 << 20;
/// How long to wait for an answer: the text may be a notification, which gets none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends a text, and shows the answer.
pub(crate) async fn send(target: &Target, voice: &Voice, text: &str) -> Result<(), Failure> {
    let endpoint = Endpoint::new(target.dial_raw()?, target.headers()?, LIMIT);
    let show = |direction, text: &[u8]| {
        if let Some(tap) = target.tap() {
            tap.show(direction, Wire::Message(text));
        }
    };
    let unreachable = |what: String| target.explain(CallError::Unreachable(what.into()));
    let time = target.timeout.min(PATIENCE);
    let exchange = async {
        if endpoint.carrier() == Carrier::Http {
            let (head, body) = http::exchange(&endpoint, &Request::post(text)).await.map_err(unreachable)?;
            show(Direction::Sent, text.as_bytes());
            show(Direction::Received, &body);
            voice.note(&format!("status {}", head.status));
            return if body.is_empty() { Ok(()) } else { tell(voice, &body) };
        }
        let mut line = Line::open(&endpoint).await.map_err(unreachable)?;
        line.send(text.as_bytes()).await.map_err(|error| unreachable(error.to_string()))?;
        show(Direction::Sent, text.as_bytes());
        loop {
            match line.receive().await {
                Received::Message(message) => {
                    show(Direction::Received, &message);
                    return tell(voice, &message);
                }
                Received::Closed(_) => {
                    voice.note("the server closed the connection without an answer");
                    return Ok(());
                }
                Received::Pong => {}
            }
        }
    };
    match tokio::time::timeout(time, exchange).await {
        Ok(outcome) => outcome,
        Err(_) => {
            voice.note(&format!("no answer within {time:?}"));
            Ok(())
        }
    }
}

fn tell(voice: &Voice, answer: &[u8]) -> Result<(), Failure> {
    match Json::parse(answer.to_vec()) {
        Ok(json) => voice.result(&json),
        Err(_) => voice.page(&visible(&String::from_utf8_lossy(answer))),
    }
}
