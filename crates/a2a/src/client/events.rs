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

use super::{Client, encoded, name};
use crate::model::error::{TASK_NOT_FOUND, UNSUPPORTED_OPERATION};
use crate::model::methods::Method;
use crate::model::{GetTask, StreamEvent};

/// How long the first attempt to resume a stream waits; each further one twice as long.
const PAUSE: Duration = Duration::from_millis(100);

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
    /// How often it may still be resumed without an event in between.
    resumes: u32,
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
        let resumes = client.0.resumes;
        let following = Following {
            client: client.clone(),
            values: Some(values),
            is_task: method == Method::Subscribe,
            task: None,
            resumes,
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
            let Some(task) = self.task.clone().filter(|_| self.resumes > 0) else {
                self.values = None;
                return Some(Err(failure));
            };
            if let Some(event) = self.resume(&task).await {
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
        (self.resumes, self.pause) = (self.client.0.resumes, PAUSE);
    }

    /// Subscribes to the task. Gives an event if nothing follows it.
    async fn resume(&mut self, task: &str) -> Option<Result<StreamEvent, CallError>> {
        self.resumes -= 1;
        tokio::time::sleep(self.pause).await;
        self.pause *= 2;
        match open(&self.client, Method::Subscribe, &GetTask::new(task)).await {
            Ok(values) => self.values = Some(values),
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
            // The next attempt is made when there is nothing to read.
            Err(_) => {}
        }
        None
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
