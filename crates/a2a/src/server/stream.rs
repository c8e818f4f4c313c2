//! The events of a task as the items of a stream (A2A-S-01 to A2A-S-05).

use std::sync::Arc;

use futures_util::stream;
use switchboard_core::{ErrorObject, Items, Json, Reply};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::following::Following;
use super::turn::Turn;
use crate::model::{StreamEvent, Version, v03};

/// An event as a version writes it.
pub(super) fn written(event: &StreamEvent, version: Version) -> Result<Json, ErrorObject> {
    let internal = |error: serde_json::Error| ErrorObject::internal(&error);
    match version {
        Version::V1_0 => Json::encode_ref(event).map_err(internal),
        Version::V0_3 => {
            let mut value = serde_json::to_value(event).map_err(internal)?;
            v03::lower::event(&mut value);
            Json::encode(&value).map_err(internal)
        }
    }
}

/// A stream of one event.
pub(super) fn once(event: &StreamEvent, version: Version) -> Reply {
    let item = written(event, version);
    Reply::items(Items::new(stream::once(std::future::ready(item))))
}

/// Where the events of a stream come from.
pub(super) enum Source {
    /// The work on one message: the stream ends when that has ended.
    Turn(Arc<Turn>),
    /// A task: the stream ends when that has ended, also if it asks its client meanwhile.
    Task(Following),
}

struct Reading {
    source: Source,
    /// Sent before the others.
    first: Option<StreamEvent>,
    events: Option<Receiver<Arc<StreamEvent>>>,
}

/// The events of a turn or a task until it ends. A reader that is too slow gets the whole task instead of what it missed.
pub(super) fn events(
    source: Source,
    first: Option<StreamEvent>,
    events: Option<Receiver<Arc<StreamEvent>>>,
    version: Version,
) -> Reply {
    let reading = Reading { source, first, events };
    let items = stream::unfold(reading, move |mut reading| async move {
        let event = reading.next().await?;
        Some((written(&event, version), reading))
    });
    Reply::items(Items::new(items))
}

impl Reading {
    async fn next(&mut self) -> Option<Arc<StreamEvent>> {
        if let Some(first) = self.first.take() {
            return Some(Arc::new(first));
        }
        let event = match self.receive().await {
            Ok(event) => event,
            Err(RecvError::Closed) => return None,
            Err(RecvError::Lagged(_)) => self.again().await?,
        };
        let is_last = event.state().is_some_and(|state| match self.source {
            Source::Turn(_) => state.is_terminal() || state.is_interrupted(),
            Source::Task(..) => state.is_terminal(),
        });
        if is_last {
            self.events = None;
        }
        Some(event)
    }

    async fn receive(&mut self) -> Result<Arc<StreamEvent>, RecvError> {
        let events = self.events.as_mut().ok_or(RecvError::Closed)?;
        match &mut self.source {
            Source::Turn(turn) => tokio::select! {
                biased;
                event = events.recv() => event,
                _ = turn.ended() => match events.try_recv() {
                    Ok(event) => Ok(event),
                    Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                    Err(_) => Err(RecvError::Closed),
                },
            },
            Source::Task(following) => following.receive(events).await,
        }
    }

    /// The whole task, and the events from there on.
    async fn again(&mut self) -> Option<Arc<StreamEvent>> {
        let turn = match &self.source {
            Source::Turn(turn) => Some(Arc::clone(turn)),
            Source::Task(following) => following.turn(),
        };
        let task = match (turn, &self.source) {
            (Some(turn), _) => {
                let (task, events) = turn.subscribe();
                self.events = events.or_else(|| self.events.take());
                task?
            }
            (None, Source::Task(following)) => following.stored().await?,
            (None, Source::Turn(_)) => return None,
        };
        Some(Arc::new(StreamEvent::Task(task)))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.events = None;
        if let Source::Task(following) = &self.source {
            following.release();
        }
    }
}
