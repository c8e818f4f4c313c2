//! The stream of messages that belong to no request, in a session (MCP-HTTP-08 to MCP-HTTP-11).

use std::time::Duration;

use http::StatusCode;
use switchboard_core::CallError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::answer::{LONG_PAUSE, PAUSE, Reading, is_events};
use super::{Link, SILENCE};

/// Where the stream is.
#[derive(Default)]
struct Place {
    last: String,
    retry: Option<Duration>,
    was_open: bool,
    /// Whether the session was begun again, and its stream has not opened since.
    is_renewed: bool,
    beginning: Option<oneshot::Sender<()>>,
}

impl Link {
    /// Listens again and again, until the server says that it has no such stream. It has begun when the sender is dropped.
    pub(in super::super) async fn listen(self, beginning: oneshot::Sender<()>) {
        let (mut place, mut pause) = (Place { beginning: Some(beginning), ..Place::default() }, PAUSE);
        loop {
            let since = Instant::now();
            if matches!(self.listen_once(&mut place).await, Ok(false)) {
                return;
            }
            pause = if since.elapsed() > LONG_PAUSE { PAUSE } else { (pause * 2).min(LONG_PAUSE) };
            tokio::time::sleep(place.retry.take().unwrap_or(pause).min(LONG_PAUSE)).await;
        }
    }

    /// Reads the stream once. False if the server has none.
    async fn listen_once(&self, place: &mut Place) -> Result<bool, CallError> {
        let session = self.0.session.load_full();
        let response = self.0.open(&place.last).await;
        place.beginning = None;
        let response = response?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session.is_some() {
            // A server that does not know the new session either has no such stream.
            if std::mem::replace(&mut place.is_renewed, true) {
                return Ok(false);
            }
            place.last.clear();
            self.0.begin_again(session).await?;
            place.retry = Some(Duration::ZERO);
            return Ok(true);
        }
        if status.is_client_error() && !place.last.is_empty() {
            // It cannot go on there, but it may have another stream.
            place.last.clear();
            return Ok(true);
        }
        if !status.is_success() || !is_events(&response) {
            return Ok(status.is_server_error());
        }
        if place.last.is_empty() {
            self.0.listener.missed(place.was_open).await;
        }
        (place.was_open, place.is_renewed) = (true, false);
        let mut body = response.into_body();
        let mut reading = Reading::new(&self.0, None);
        loop {
            let message = reading.next(&mut body, SILENCE).await;
            place.retry = body.retry().or(place.retry);
            if !body.last_event_id().is_empty() {
                place.last = body.last_event_id().to_owned();
            }
            // Nothing here was asked for, so responses belong to nothing.
            if message?.is_none() {
                return Ok(true);
            }
        }
    }
}
