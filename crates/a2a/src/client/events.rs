//! The events of a task, resumed when the connection breaks (A2A-S-07).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use serde::Serialize;
use switchboard_core::{CallError, Values};
use tokio::time::Instant;

use super::{Client, encoded, name};
use crate::model::error::{TASK_NOT_FOUND, UNSUPPORTED_OPERATION};
use crate::model::methods::Method;
use crate::model::{GetTask, StreamEvent};

/// How long the first attempt to resume a stream waits; each further one twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an attempt waits at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What happens to a task, until it ends or waits for its client.
///
/// If the connection breaks, the stream goes on with the whole task as it is then, and with what follows.
pub struct Events(BoxStream<'static, Result<StreamEvent, CallError>>);

/// A stream that is being read.
struct Following {
    client: Client,
    values: Option<Values<StreamEvent>>,
    /// Whether it goes on when the task asks its client.
    is_task: bool,
    /// Known after the first event.
    task: Option<String>,
    /// Since when attempts to resume it have failed.
    cut: Option<Instant>,
    pause: Duration,
}

impl Events {
    /// Begins a stream.
    pub(super) async fn begin(
        client: &Client,
        method: Method,
        params: &impl Serialize,
    ) -> Result<Events, CallError> {
        let values = open(client, method, params).await?;
        let following = Following {
            client: client.clone(),
            values: Some(values),
            is_task: method == Method::Subscribe,
            task: None,
            cut: None,
            pause: PAUSE,
        };
        let events = stream::unfold(following, |mut following| async move {
            let event = following.next().await?;
            Some((event, following))
        });
        Ok(Events(events.boxed()))
    }

    /// One event: the answer of an agent that has no streams.
    pub(super) fn of(event: StreamEvent) -> Events {
        Events(stream::once(std::future::ready(Ok(event))).boxed())
    }
}

async fn open(
    client: &Client,
    method: Method,
    params: &impl Serialize,
) -> Result<Values<StreamEvent>, CallError> {
    client.0.peer.stream(name(method), encoded(params)?).await
}

impl Following {
    async fn next(&mut self) -> Option<Result<StreamEvent, CallError>> {
        loop {
            let failure = match self.values.as_mut()?.next().await {
                Some(Ok(event)) => {
                    self.note(&event);
                    return Some(Ok(event));
                }
                Some(Err(error @ CallError::Rejected(_))) => {
                    self.values = None;
                    return Some(Err(error));
                }
                Some(Err(error)) => error,
                None => CallError::Closed("the stream ended before the task".into()),
            };
            let task = self.task.clone().filter(|_| !self.client.0.resume_time.is_zero());
            let Some(task) = task else {
                self.values = None;
                return Some(Err(failure));
            };
            if let Some(event) = self.resume(&task, failure).await {
                return Some(event);
            }
        }
    }

    /// What an event says about what follows it.
    fn note(&mut self, event: &StreamEvent) {
        let is_last = match event.state() {
            Some(state) => state.is_terminal() || !self.is_task && state.is_interrupted(),
            None => matches!(event, StreamEvent::Message(_)),
        };
        if is_last {
            self.values = None;
        }
        self.task = event.task_id().map(str::to_owned);
        (self.cut, self.pause) = (None, PAUSE);
    }

    /// Subscribes to the task until that succeeds or its time is over. Gives an event if nothing follows it.
    async fn resume(&mut self, task: &str, mut failure: CallError) -> Option<Result<StreamEvent, CallError>> {
        let cut = *self.cut.get_or_insert_with(Instant::now);
        while cut.elapsed() < self.client.0.resume_time {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            match open(&self.client, Method::Subscribe, &GetTask::new(task)).await {
                Ok(values) => {
                    self.values = Some(values);
                    return None;
                }
                Err(CallError::Rejected(error)) => {
                    // It has ended meanwhile.
                    self.values = None;
                    return Some(match error.code {
                        UNSUPPORTED_OPERATION | TASK_NOT_FOUND => {
                            self.client.get(task).await.map(StreamEvent::Task)
                        }
                        _ => Err(CallError::Rejected(error)),
                    });
                }
                Err(error) => failure = error,
            }
        }
        self.values = None;
        Some(Err(failure))
    }
}

impl Stream for Events {
    type Item = Result<StreamEvent, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events(..)")
    }
}
