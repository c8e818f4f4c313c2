//! Questions of a server that are passed on to the client whose call it works on, whichever era each of them belongs to.
//!
//! | | server with sessions | server without |
//! |---|---|---|
//! | client with a session | is asked by a request, while the server's request waits | is asked by requests; the server's call is made again with the answers |
//! | client without | the server's call is [parked](Parked) until the client comes back with answers | is asked in rounds, as the server asks |

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use switchboard_core::{Context, ErrorObject, Reply};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::ask::seal::random_id;
use crate::ask::{AskError, Caller};
use crate::client::forwarded::Forwarded;
use crate::client::rounds::Request;
use crate::client::{Client, complete};
use crate::server::principal;

/// How many calls of one caller are parked at most. Then the oldest ends.
const PARKED: usize = 32;

/// How long a call is parked: as long as the state of a round is valid.
const PARKING_TIME: Duration = Duration::from_secs(600);

/// Calls that wait for a client without a session to come back. The state that the client has names its call by a random handle, so
/// it ends with this process, and the client starts over.
#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, Arc<Conversation>>>);

/// A call that a server with sessions works on, for a client without one.
struct Conversation {
    forwarded: Arc<Forwarded>,
    owner: String,
    state: Mutex<State>,
    work: AbortHandle,
}

#[derive(Default)]
struct State {
    reply: Option<Reply>,
    parked: Option<Instant>,
}

impl Conversation {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parked(&self) -> Option<Instant> {
        self.state().parked
    }
}

impl Parked {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Arc<Conversation>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call, or goes on with the one that the client was asked for.
    pub(super) async fn converse(
        self: Arc<Self>,
        client: Client,
        request: Request,
        cx: Context,
        caller: Caller,
    ) -> Reply {
        let owner = principal(&cx);
        let begun = async { Ok::<_, ErrorObject>(self.begin(&client, &request, &cx, owner.clone())) };
        let handle: String = match caller.once("call", begun).await {
            Ok(handle) => handle,
            Err(error) => return error.into(),
        };
        let Some(conversation) = self.resume(&handle, &owner) else { return caller.forget_state().into() };
        conversation.forwarded.resume(&cx);
        let _leaving = Leaving { parked: &self, handle: &handle, caller: &caller };
        let forwarded = &conversation.forwarded;
        let (mut asked, mut asks) = (Vec::new(), FuturesUnordered::new());
        loop {
            let mut changed = std::pin::pin!(forwarded.changed());
            changed.as_mut().enable();
            if let Some(reply) = conversation.state().reply.take() {
                return complete(reply);
            }
            for (key, question) in forwarded.open_questions() {
                if !asked.contains(&key) {
                    asked.push(key.clone());
                    let ask = caller.relay(question);
                    asks.push(async move { (key, ask.await) });
                }
            }
            tokio::select! {
                () = changed => {}
                Some((key, answer)) = asks.next() => match answer {
                    // The client has the question, and comes back.
                    Err(AskError::Ended) => return ErrorObject::from(AskError::Ended).into(),
                    answer => forwarded.answer(&key, answer.map_err(ErrorObject::from)),
                },
            }
        }
    }

    /// Sends a request, and gives the handle of its conversation.
    fn begin(self: &Arc<Self>, client: &Client, request: &Request, cx: &Context, owner: String) -> String {
        let forwarded = client.begin(cx);
        let (headers, features) = (request.headers.clone(), crate::spoken::Features::default());
        let reply = client.forward(&request.method, request.params(), headers, &forwarded, cx, features);
        let handle = random_id();
        let (sender, begun) = tokio::sync::oneshot::channel::<Arc<Conversation>>();
        let (table, key) = (Arc::downgrade(self), handle.clone());
        let work = tokio::spawn(async move {
            let Ok(conversation) = begun.await else { return };
            tokio::select! {
                reply = reply => {
                    conversation.state().reply = Some(reply);
                    conversation.forwarded.wake();
                }
                () = expired(&conversation) => {
                    if let Some(table) = table.upgrade() {
                        table.calls().remove(&key);
                    }
                }
            }
        });
        let work = work.abort_handle();
        let conversation = Arc::new(Conversation { forwarded, owner, state: Mutex::default(), work });
        let _ = sender.send(Arc::clone(&conversation));
        self.calls().insert(handle.clone(), conversation);
        handle
    }

    /// The call with this handle, if it belongs to this caller.
    fn resume(&self, handle: &str, owner: &str) -> Option<Arc<Conversation>> {
        let conversation = self.calls().get(handle).filter(|found| found.owner == owner).cloned()?;
        conversation.state().parked = None;
        Some(conversation)
    }

    /// Keeps a call for when its client comes back.
    fn park(&self, handle: &str) {
        let mut calls = self.calls();
        let Some(conversation) = calls.get(handle).cloned() else { return };
        conversation.state().parked = Some(Instant::now());
        conversation.forwarded.wake();
        let of_owner = calls.iter().filter(|(_, other)| other.owner == conversation.owner);
        let mut parked: Vec<_> =
            of_owner.filter_map(|(key, call)| Some((call.parked()?, key.clone()))).collect();
        if parked.len() > PARKED {
            parked.sort();
            if let Some(oldest) = calls.remove(&parked[0].1) {
                oldest.work.abort();
            }
        }
    }

    /// Ends a call.
    fn end(&self, handle: &str) {
        if let Some(conversation) = self.calls().remove(handle) {
            conversation.work.abort();
        }
    }
}

/// Done when a conversation was parked for too long.
async fn expired(conversation: &Conversation) {
    loop {
        let changed = conversation.forwarded.changed();
        match conversation.parked() {
            None => changed.await,
            Some(since) => tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(since + PARKING_TIME) => {
                    if conversation.parked() == Some(since) {
                        return;
                    }
                }
            },
        }
    }
}

/// The end of a round: the call is parked if its client has been asked, and ends otherwise.
struct Leaving<'a> {
    parked: &'a Parked,
    handle: &'a str,
    caller: &'a Caller,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        match self.caller.is_asking_in_rounds() {
            true => self.parked.park(self.handle),
            false => self.parked.end(self.handle),
        }
    }
}
