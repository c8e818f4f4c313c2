//! The progress of a call that is watched.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard::reconnect::{ConnectionState, ReconnectingPeer};
use switchboard::{CallError, ErrorObject, Items, Json, Reply, ReplyFuture};
use tokio::time::Instant;

use super::pushes::Push;
use crate::exit::is_too_long;
use crate::session::Line;
use crate::visible::visible;
use crate::{discovery, output};

/// The progress of the call.
pub(super) enum Stage {
    /// The server is asked whether the method can return a stream.
    Learning(Pin<Box<dyn Future<Output = bool> + Send>>),
    /// The method is called.
    Asking(ReplyFuture),
    /// Items arrive.
    Reading(Items),
    /// There is no stream; only notifications arrive.
    Listening,
}

/// Asks the server, once connected, whether this method returns a stream. Without an answer within this short time, the server
/// is treated as plain JSON-RPC.
pub(super) fn learn(client: &ReconnectingPeer, method: &str, time: Duration) -> Stage {
    let (mut states, method) = (client.watch(), method.to_owned());
    let line = Line::new(client.peer(), time);
    Stage::Learning(Box::pin(async move {
        if states.connected().await.is_err() {
            return false;
        }
        let found = discovery::within(&line, time).await;
        found.is_ok_and(|found| found.method(&method).is_some_and(|method| method.is_stream))
    }))
}

/// Waits until then; without end if there is no such time.
pub(super) async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// What happens next.
pub(super) enum Seen {
    Learned(bool),
    Item(Shown),
    Reply(Reply),
    Gap(CallError),
    Failed(ErrorObject),
    Ended,
    /// The connection has changed, or does not change any more.
    State(Option<ConnectionState>),
}

pub(super) enum Shown {
    Item(Json),
    Push(Push),
}

impl Stage {
    /// Waits for the next message. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> Seen {
        match self {
            Stage::Learning(learning) => Seen::Learned(learning.await),
            Stage::Asking(reply) => Seen::Reply(reply.await),
            Stage::Reading(items) => match items.next().await {
                Some(Ok(json)) => Seen::Item(Shown::Item(json)),
                Some(Err(error)) if error.gap().is_some() => Seen::Gap(error.into()),
                Some(Err(error)) => Seen::Failed(error),
                None => Seen::Ended,
            },
            Stage::Listening => std::future::pending().await,
        }
    }
}

/// Reports changes of the connection.
#[derive(Default)]
pub(super) struct News {
    /// Whether the loss of a connection was reported.
    pub(super) is_lost: bool,
}

impl News {
    /// Reports a change; true if there is a new connection.
    pub(super) fn tell(&mut self, state: ConnectionState) -> Result<bool, CallError> {
        match state {
            // Reconnecting would bring the same message, which is too long. The state may change before the call fails.
            ConnectionState::Waiting { reason, .. } if is_too_long(&CallError::Closed(reason.clone())) => {
                Err(CallError::Closed(reason))
            }
            ConnectionState::Waiting { reason, attempt, .. } => {
                output::note(&format!(
                    "warning: connection lost: {}; reconnecting (attempt {attempt})\n",
                    visible(&reason)
                ));
                self.is_lost = true;
                Ok(false)
            }
            ConnectionState::Connected => {
                if std::mem::take(&mut self.is_lost) {
                    output::note("reconnected\n");
                }
                Ok(true)
            }
            ConnectionState::Closed(error) => Err(error),
            _ => Ok(false),
        }
    }
}
