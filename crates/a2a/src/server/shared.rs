//! What all requests to an agent share.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt as _;
use switchboard_core::{Context, ErrorObject, Name, Reply, ReplyFuture, Service};
use switchboard_layers::store::StoreError;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::AgentOptions;
use super::index::Index;
use super::push::Pusher;
use super::records::{Record, Records, Stored};
use super::turn::{Events, Stopped, Turn, unavailable};
use crate::http::CardSigner;
use crate::model::error::{conform, task_not_found};
use crate::model::{AgentCard, Role, SendMessage, StreamEvent, Task};

pub(crate) struct Shared {
    pub(crate) card: AgentCard,
    pub(crate) extended: Option<AgentCard>,
    pub(super) service: Arc<dyn Service>,
    pub(super) method: Name,
    pub(super) records: Records,
    pub(super) index: Index,
    pub(super) options: AgentOptions,
    pub(super) pusher: Option<Pusher>,
    pub(crate) signer: Option<CardSigner>,
    pub(crate) origin: Option<String>,
    live: Mutex<HashMap<String, Live>>,
    /// Where those listen who wait for what a task does after it has asked its client.
    channels: Mutex<HashMap<String, Events>>,
}

/// A turn whose function runs.
pub(super) struct Live {
    turn: Arc<Turn>,
    work: Option<AbortHandle>,
}

/// A task that belongs to the caller.
pub(super) enum Found {
    /// It is being worked on here.
    Live(Arc<Turn>),
    /// It is not.
    Stored(Box<Stored>),
}

impl Shared {
    pub(super) fn new(
        card: AgentCard,
        extended: Option<AgentCard>,
        service: Arc<dyn Service>,
        method: Name,
        records: Records,
        options: AgentOptions,
    ) -> Shared {
        let index = Index::new(options.tasks);
        Shared {
            card,
            extended,
            service,
            method,
            records,
            index,
            options,
            pusher: None,
            signer: None,
            origin: None,
            live: Mutex::default(),
            channels: Mutex::default(),
        }
    }

    pub(super) fn live(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn turn(&self, id: &str) -> Option<Arc<Turn>> {
        self.live().get(id).map(|live| Arc::clone(&live.turn))
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<String, Events>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of a task that goes on.
    pub(super) fn channel(&self, id: &str) -> Events {
        self.channels().entry(id.to_owned()).or_insert_with(|| Events::new(self.options.behind)).clone()
    }

    /// Keeps the channel of a task that may go on, if a stream reads it.
    pub(super) fn keep_channel(&self, id: &str, channel: Events) {
        if channel.receiver_count() > 0 {
            self.channels().entry(id.to_owned()).or_insert(channel);
        } else {
            self.release_channel(id);
        }
    }

    /// Forgets a channel that no stream reads.
    pub(super) fn release_channel(&self, id: &str) {
        let mut channels = self.channels();
        if channels.get(id).is_some_and(|channel| channel.receiver_count() == 0) {
            channels.remove(id);
        }
    }

    /// Ends the streams of a task that is not being worked on, with this event.
    pub(super) fn close_channel(&self, id: &str, last: Option<StreamEvent>) {
        if let (Some(channel), Some(last)) = (self.channels().remove(id), last) {
            // They may have gone meanwhile.
            let _ = channel.send(Arc::new(last));
        }
    }

    /// Stores a new task. If there is no room, the oldest tasks that have ended make some.
    pub(super) async fn add(&self, mut record: Record) -> Result<(Record, Bytes), ErrorObject> {
        // Those of an earlier life count, too.
        self.index.load_first(&self.records).await.map_err(|error| unavailable(&error))?;
        // How many tasks may go for one: a large one may need the room of several.
        for _ in 0..32 {
            if let Some((number, id)) = self.index.surplus() {
                self.remove(number, &id).await?;
            }
            match self.insert(&mut record).await {
                Ok(bytes) => return Ok((record, bytes)),
                Err(StoreError::Full { .. }) => {
                    let Some((number, id)) = self.index.oldest_ended() else { break };
                    self.remove(number, &id).await?;
                }
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(conform(ErrorObject::over_limit(
            "tasks",
            "the agent has no room for another task; try again later",
        )))
    }

    async fn insert(&self, record: &mut Record) -> Result<Bytes, StoreError> {
        if self.index.is_full_of_work() {
            return Err(StoreError::Full { wait: std::time::Duration::ZERO });
        }
        record.number = self.records.enlist(&record.task.id).await?;
        let bytes = self.records.write(record, None).await?;
        let bytes = bytes.ok_or_else(|| StoreError::Unavailable("the identifier is taken".to_owned()))?;
        self.index.note(record);
        Ok(bytes)
    }

    async fn remove(&self, number: u64, id: &str) -> Result<(), ErrorObject> {
        self.index.forget(number);
        self.close_channel(id, None);
        self.records.remove(id, number).await.map_err(|error| unavailable(&error))
    }

    /// The task with this identifier, if it belongs to this caller. One that a process worked on when it ended goes on.
    pub(super) async fn find(
        self: &Arc<Self>,
        id: &str,
        owner: &str,
        cx: &Context,
    ) -> Result<Found, ErrorObject> {
        if let Some(turn) = self.turn(id) {
            return match turn.owner == owner {
                true => Ok(Found::Live(turn)),
                false => Err(task_not_found(id)),
            };
        }
        let stored = self.records.read(id).await.map_err(|error| unavailable(&error))?;
        let stored =
            stored.filter(|stored| stored.record.owner == owner).ok_or_else(|| task_not_found(id))?;
        let state = stored.record.task.status.state;
        let is_active = !state.is_terminal() && !state.is_interrupted();
        match is_active && stored.record.until < self.records.now().0 {
            true => self.take_over(stored, cx).await,
            false => Ok(Found::Stored(Box::new(stored))),
        }
    }

    /// Goes on with a task that is no longer being worked on.
    async fn take_over(self: &Arc<Self>, stored: Stored, cx: &Context) -> Result<Found, ErrorObject> {
        let mut record = stored.record.clone();
        record.until = self.records.lease();
        let written = self.records.write(&record, Some(&stored.bytes)).await;
        let Some(bytes) = written.map_err(|error| unavailable(&error))? else {
            // Another process was faster.
            return Ok(Found::Stored(Box::new(stored)));
        };
        let last = record.task.history.iter().rev().find(|message| message.role == Role::User);
        let Some(message) = last.cloned() else { return Ok(Found::Stored(Box::new(stored))) };
        let (mut request, mut cx) = (SendMessage::new(message), cx.clone());
        record.request.restore(&mut request, &mut cx);
        let turn = Arc::new(Turn::on(self, record, bytes, true));
        let reply = turn.call(self, &request, cx);
        self.run(&turn, reply);
        Ok(Found::Live(turn))
    }

    /// The task as it is in the store.
    pub(super) async fn stored(&self, id: &str) -> Option<Task> {
        self.records.read(id).await.ok()?.map(|stored| stored.record.task)
    }

    /// Whether the agent works on as many tasks as it may.
    pub(super) fn is_busy(&self) -> bool {
        self.live().len() >= self.options.working
    }

    /// Forgets a turn that has ended.
    pub(super) fn deregister(&self, turn: &Arc<Turn>) {
        let mut live = self.live();
        if live.get(&turn.id).is_some_and(|known| Arc::ptr_eq(&known.turn, turn)) {
            live.remove(&turn.id);
        }
    }

    /// Runs a function until it has replied, apart from the request that called it.
    pub(super) fn run(self: &Arc<Self>, turn: &Arc<Turn>, reply: ReplyFuture) {
        self.live().insert(turn.id.clone(), Live { turn: Arc::clone(turn), work: None });
        let (shared, turn_of_work) = (Arc::downgrade(self), Arc::clone(turn));
        let (until, renewal) = (Instant::now() + self.options.work_time, self.options.lease / 3);
        let work = tokio::spawn(async move {
            let watched = AssertUnwindSafe(watch(&turn_of_work, reply, until, renewal)).catch_unwind().await;
            let stopped = watched.unwrap_or_else(|_| {
                Stopped::Replied(Reply::error(ErrorObject::internal(&"the function of the agent panicked")))
            });
            turn_of_work.conclude(stopped).await;
            if let Some(shared) = shared.upgrade() {
                shared.deregister(&turn_of_work);
            }
        });
        if let Some(live) = self.live().get_mut(&turn.id) {
            live.work = Some(work.abort_handle());
        }
    }
}

/// Waits for a function, and tells other processes that it is being waited for.
async fn watch(turn: &Turn, reply: ReplyFuture, until: Instant, renewal: std::time::Duration) -> Stopped {
    let mut reply = std::pin::pin!(reply);
    let renewal = renewal.max(std::time::Duration::from_millis(10));
    loop {
        tokio::select! {
            biased;
            () = turn.cancelled() => return Stopped::Cancelled,
            reply = &mut reply => return Stopped::Replied(reply),
            () = tokio::time::sleep_until(until) => return Stopped::TimedOut,
            () = tokio::time::sleep(renewal) => turn.renew().await,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for live in self.live().values() {
            if let Some(work) = &live.work {
                work.abort();
            }
        }
    }
}
