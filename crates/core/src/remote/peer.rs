//! The peer of a connection, to call.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot};

use crate::call::{Call, ItemCheck, Members, Outgoing};
use crate::call_error::CallError;
use crate::call_options::{self, CallOptions, PROGRESS_WAITING, ProgressSender, ProgressTo};
use crate::codec::{self, members};
use crate::engine::Outlet;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::partial_results as partial;
use crate::peer::Remote;
use crate::progress::{Seen, WithProgress};
use crate::remote::receive_buffer::receive_buffer;
use crate::remote::{Answer, RemoteShared, RemoteState, Waiter};
use crate::reply::{Items, Reply, ReplyFuture};
use crate::service::Service;
use crate::session::Inputs;
use crate::subscription::Subscription;
use crate::text::Text;

/// The room that a call usually takes beside its params.
const ENVELOPE: usize = 96;

/// The peer of a connection.
pub(crate) struct RemotePeer {
    remote: Arc<RemoteShared>,
    /// What the connection lasts for, if this is a handle that it lasts for.
    keep_open: Option<Arc<KeepOpen>>,
    route: Route,
}

/// Where messages to the peer go.
#[derive(Clone)]
pub(crate) enum Route {
    /// To the queue, which the driver of a connection sends.
    Queue,
    /// Into the answer to an input.
    Input(Arc<Outlet>),
    /// Wherever the session can send it now.
    Session(Weak<Inputs>),
}

/// Where one message goes.
enum Way {
    Queue,
    Outlet(Arc<Outlet>),
}

impl Route {
    /// The way that a message takes now.
    fn way(&self) -> Result<Way, CallError> {
        match self {
            Route::Queue => Ok(Way::Queue),
            Route::Input(outlet) => Ok(Way::Outlet(Arc::clone(outlet))),
            Route::Session(inputs) => {
                let inputs =
                    inputs.upgrade().ok_or_else(|| CallError::Closed("the session has ended".into()))?;
                if inputs.is_attached() {
                    return Ok(Way::Queue);
                }
                let outlet = inputs.newest_outlet().map(Way::Outlet);
                outlet.ok_or_else(|| {
                    CallError::Unsupported("the caller has no open stream to send this over".into())
                })
            }
        }
    }
}

/// Drains the connection when the last handle is dropped.
struct KeepOpen(Arc<RemoteShared>);

impl Drop for KeepOpen {
    fn drop(&mut self) {
        self.0.drain();
    }
}

impl RemotePeer {
    /// A handle that the connection does not depend on.
    pub(crate) fn new(remote: Arc<RemoteShared>) -> RemotePeer {
        RemotePeer { remote, keep_open: None, route: Route::Queue }
    }

    /// A handle whose end, with that of all replies and streams that came of it, is the end of the connection.
    pub(crate) fn owning(remote: Arc<RemoteShared>) -> RemotePeer {
        RemotePeer { keep_open: Some(Arc::new(KeepOpen(Arc::clone(&remote)))), remote, route: Route::Queue }
    }

    /// A handle of a session of many inputs.
    pub(crate) fn routed(remote: Arc<RemoteShared>, route: Route) -> RemotePeer {
        RemotePeer { remote, keep_open: None, route }
    }

    /// Queues calls as one frame. The way that has no room for it now, if there is none.
    fn send(&self, calls: &[Call], is_batch: bool) -> Result<Vec<ReplyFuture>, Way> {
        let remote = &self.remote;
        let fail = |reason: &CallError| {
            Ok(calls.iter().map(|_| ReplyFuture::ready(ErrorObject::from(reason.clone()))).collect())
        };
        let way = match self.route.way() {
            Ok(way) => way,
            Err(reason) => return fail(&reason),
        };
        remote.locked(|state| {
            if let Some(reason) = &state.closed
                && !(state.still_reads && calls.iter().all(Call::is_notification))
            {
                return fail(reason);
            }
            let has_room = match &way {
                Way::Queue => remote.has_room(state),
                Way::Outlet(outlet) => match outlet.has_room() {
                    Ok(has_room) => has_room,
                    Err(reason) => return fail(&reason),
                },
            };
            if !has_room {
                return Err(way);
            }
            let frame = state.pending.next_id();
            let sizes =
                calls.iter().map(|call| call.params.as_ref().map_or(0, |params| params.as_bytes().len()));
            let mut text = Vec::with_capacity(calls.len() * ENVELOPE + sizes.sum::<usize>());
            let mut replies = Vec::with_capacity(calls.len());
            for call in calls {
                if is_batch {
                    text.push(if text.is_empty() { b'[' } else { b',' });
                }
                replies.push(self.encode(&mut text, state, frame, call, &way));
            }
            if is_batch {
                text.push(b']');
            }
            match way {
                Way::Queue => remote.queue(state, |out| out.extend_from_slice(&text)),
                // If it came too late, the session or the caller's patience ends the wait for an answer.
                Way::Outlet(outlet) => drop(outlet.push(Bytes::from(text))),
            }
            Ok(replies)
        })
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        state: &mut RemoteState,
        frame: u64,
        call: &Call,
        way: &Way,
    ) -> ReplyFuture {
        let (remote, version) = (&self.remote, self.remote.version());
        let profile = &remote.settings.profile;
        let metadata = || call.cx.outgoing_metadata(&remote.settings.inherit).to_json();
        let metadata = profile.call_options.then(metadata).flatten();
        if call.is_notification() {
            let outgoing = Outgoing::new(version, None, &call.method, call.params.as_ref());
            let members = Members::to_send(&call.cx, &outgoing);
            let with_options =
                call_options::add(members.as_deref(), &CallOptions { metadata, ..CallOptions::default() });
            codec::notification(out, version, &call.method, call.params.as_ref(), with_options.as_ref());
            return ReplyFuture::ready(Reply::value(Json::NULL));
        }
        let names = self.expected(call);
        let progress = call.cx.get::<ProgressSender>().cloned();
        let wants_progress = progress.is_some();
        let id = state.pending.next_id();
        let wants_stream = call.cx.wants_stream();
        let options = match profile.call_options {
            // A server with names for its streams knows of them by those.
            true => CallOptions {
                left: call.cx.time_left(),
                progress: wants_progress,
                stream: wants_stream && names.is_none(),
                metadata,
            },
            false => CallOptions::default(),
        };
        let member = profile.progress.param.filter(|_| wants_progress);
        let with_token = member.and_then(|member| add_token(call.params.as_ref(), member, "call", id));
        let params = with_token.as_ref().or(call.params.as_ref());
        let member = profile.streams.partial.filter(|_| wants_stream);
        let in_parts = member.and_then(|member| add_token(params, member, partial::PREFIX, id));
        let params = in_parts.as_ref().or(params);
        let sent_id = Id::from(id);
        let outgoing = Outgoing::new(version, Some(&sent_id), &call.method, params);
        let members = Members::to_send(&call.cx, &outgoing);
        let with_options = call_options::add(members.as_deref(), &options);
        codec::request(out, version, &sent_id, &call.method, params, with_options.as_ref());
        let outlet = match way {
            Way::Queue => None,
            Way::Outlet(outlet) => Some(Arc::downgrade(outlet)),
        };
        let (answer, reply) = if in_parts.is_some() { self.parts(id) } else { self.whole(id) };
        let check = call.cx.get::<ItemCheck>().cloned();
        state.pending.insert(frame, Waiter { answer, names: names.clone(), outlet, progress, check });
        if let Some(names) = names {
            remote.has_named.store(true, Ordering::Release);
            state.expected.push((id, names));
        }
        reply
    }

    /// An answer that comes as a whole.
    fn whole(&self, id: u64) -> (Answer, ReplyFuture) {
        let (answer, receiver) = oneshot::channel();
        let (remote, keep_open) = (Arc::clone(&self.remote), self.keep_open.clone());
        let reply = ReplyFuture::pending(Awaited { remote, keep_open, id, receiver, is_done: false });
        (Answer::Whole(answer), reply)
    }

    /// An answer that comes in parts, which are the items of a stream.
    fn parts(&self, id: u64) -> (Answer, ReplyFuture) {
        let remote = Arc::clone(&self.remote);
        let (buffer, reader) =
            receive_buffer(&self.remote.settings.limits, &self.remote.backpressure, move || {
                remote.give_up(id);
            });
        let items = Items::new(reader);
        let items = match self.keep_open.clone() {
            Some(keep_open) => items.through(|items| KeepingOpen { items, _keep_open: keep_open }),
            None => items,
        };
        (Answer::Parts(buffer), ReplyFuture::pending(partial::begin(items)))
    }

    /// The names of the subscription that the call opens, if they are known before the answer.
    fn expected(&self, call: &Call) -> Option<Arc<Subscription>> {
        if let Some(names) = call.cx.get::<Arc<Subscription>>() {
            return Some(Arc::clone(names));
        }
        let streams = &self.remote.settings.profile.streams;
        streams.by_name.then(|| Subscription::by_name(&call.method).map(Arc::new)).flatten()
    }

    /// Sends calls as one frame, now or when there is room.
    fn send_later(
        &self,
        calls: Vec<Call>,
        is_batch: bool,
    ) -> impl Future<Output = Vec<ReplyFuture>> + Send + use<> {
        let (remote, keep_open, route) =
            (Arc::clone(&self.remote), self.keep_open.clone(), self.route.clone());
        let this = RemotePeer { remote, keep_open, route };
        async move {
            loop {
                match this.send(&calls, is_batch) {
                    Ok(replies) => return replies,
                    Err(Way::Queue) => this.remote.wait_for_room().await,
                    Err(Way::Outlet(outlet)) => outlet.wait_for_room().await,
                }
            }
        }
    }
}

impl Service for RemotePeer {
    fn call(&self, call: &Call) -> ReplyFuture {
        if !call.is_notification() && call.cx.time_left().is_some_and(|left| left.is_zero()) {
            return ReplyFuture::ready(ErrorObject::from(CallError::TimedOut));
        }
        match relay(call) {
            None => self.send_one(call),
            Some((watched, relay)) => ReplyFuture::pending(pass_on(self.send_one(&watched), relay)),
        }
    }
}

impl RemotePeer {
    fn send_one(&self, call: &Call) -> ReplyFuture {
        let Ok(mut replies) = self.send(std::slice::from_ref(call), false) else {
            let sent = self.send_later(vec![call.clone()], false);
            return ReplyFuture::pending(
                async move { sent.await.pop().expect("one call has one reply").await },
            );
        };
        replies.pop().expect("one call has one reply")
    }
}

impl Remote for RemotePeer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        if calls.is_empty() {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let sent = self.send(&calls, true).ok();
        let later = sent.is_none().then(|| self.send_later(calls, true));
        Box::pin(async move {
            let replies = match (sent, later) {
                (Some(replies), _) => replies,
                (None, Some(later)) => later.await,
                (None, None) => Vec::new(),
            };
            join_all(replies).await
        })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        let remote = Arc::clone(&self.remote);
        Box::pin(async move { remote.closed().await })
    }
}

/// A call that was sent. Dropping it before the answer cancels it there.
struct Awaited {
    remote: Arc<RemoteShared>,
    keep_open: Option<Arc<KeepOpen>>,
    id: u64,
    receiver: oneshot::Receiver<Reply>,
    is_done: bool,
}

impl Future for Awaited {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        Pin::new(&mut self.receiver).poll(cx).map(|answer| {
            self.is_done = true;
            match (answer, self.keep_open.take()) {
                (Ok(reply), Some(keep_open)) => reply
                    .map_items(|items| items.through(|items| KeepingOpen { items, _keep_open: keep_open })),
                (Ok(reply), _) => reply,
                (Err(_), _) => Reply::error(CallError::Cancelled.into()),
            }
        })
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.remote.give_up(self.id);
    }
}

/// A stream that its connection lasts for.
struct KeepingOpen {
    items: Items,
    _keep_open: Arc<KeepOpen>,
}

impl Stream for KeepingOpen {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.items).poll_next(cx)
    }
}

/// The params with a token for something about this call; none if they are not an object or have one already.
fn add_token(params: Option<&Json>, member: &str, prefix: &str, id: u64) -> Option<Json> {
    let inside = match params.map(Json::as_bytes) {
        None => &b""[..],
        Some([b'{', inside @ .., b'}']) => inside,
        Some(_) => return None,
    };
    let mut names = params.into_iter().flat_map(|params| members(params.as_bytes()));
    if names.any(|(name, _)| *name == *member.as_bytes()) {
        return None;
    }
    let separator = if inside.trim_ascii().is_empty() { "" } else { "," };
    let mut text = b"{".to_vec();
    text.extend_from_slice(inside);
    text.extend_from_slice(format!("{separator}\"{member}\":\"{prefix}-{id}\"}}").as_bytes());
    Some(Json::from_text(Text::from_vec(text)))
}

/// What is needed to forward progress to the original caller.
type Relay = (mpsc::Receiver<Json>, crate::context::Context);

/// Requests progress of a call if its original caller wants it and this side does not. Returns the call to make.
fn relay(call: &Call) -> Option<(Call, Relay)> {
    if call.cx.get::<ProgressTo>().is_none() || call.cx.get::<ProgressSender>().is_some() {
        return None;
    }
    let (sender, receiver) = mpsc::channel(PROGRESS_WAITING);
    let mut watched = call.clone();
    watched.cx.insert(ProgressSender(sender));
    Some((watched, (receiver, call.cx.clone())))
}

/// Waits for a reply and passes progress on meanwhile.
async fn pass_on(reply: ReplyFuture, (receiver, cx): Relay) -> Reply {
    let mut watched = WithProgress::new(reply, receiver);
    loop {
        match watched.next().await {
            Seen::Progress(value) => cx.progress(&value).await,
            Seen::Reply(reply) => return reply,
        }
    }
}
