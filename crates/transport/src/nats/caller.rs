//! A service behind a broker, to call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_nats::message::OutboundMessage;
use async_nats::{HeaderMap, Message, Subject};
use bytes::Bytes;
use futures_util::future::join_all;
use switchboard_core::codec::{self, Incoming, encode_notification, encode_request};
use switchboard_core::{
    Call, CallError, Context, Engine, ErrorObject, Exchange, Id, ItemCheck, Json, Members, Metadata, Origin,
    Outgoing, Profile, Remote, Reply, ReplyFuture, Service, Session, Settings, Version,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::headers;
use super::inbox::{Opened, is_unheard};
use super::incoming::Parts;
use super::link::Link;
use super::part::{Control, Kind, TIMEOUT, read_part};
use super::subject;
use crate::carrier::ConnectSetup;
use crate::parts::{self, Notifications};

/// The workers of a service, to call.
pub(super) struct Caller(Arc<CallerState>);

struct CallerState {
    link: Arc<Link>,
    settings: Settings,
    /// Takes what handlers send to their caller.
    engine: Engine,
    /// Whether it answers calls of workers.
    is_called_back: bool,
    /// What each message carries.
    common: Metadata,
    version: Version,
    next_id: AtomicU64,
}

impl Caller {
    pub(super) fn new(link: Arc<Link>, setup: &ConnectSetup, common: Metadata) -> Caller {
        // The broker limits messages.
        let limits = setup.settings.limits.clone().with_frame(usize::MAX);
        let settings = Settings::clone(&setup.settings).with_limits(limits);
        Caller(Arc::new(CallerState {
            link,
            engine: Engine::new(Arc::clone(&setup.service), settings.clone()),
            settings,
            is_called_back: setup.is_called_back,
            common,
            version: setup.version,
            next_id: AtomicU64::new(1),
        }))
    }
}

impl Service for Caller {
    fn call(&self, call: &Call) -> ReplyFuture {
        if let Err(error) = self.0.link.check() {
            return ReplyFuture::ready(ErrorObject::from(error));
        }
        let name = call.method.as_str();
        let Some(subject) = subject::encode(&self.0.link.address.service, name) else {
            let text = format!("a method name of {} bytes is too long for a NATS subject", name.len());
            return ReplyFuture::ready(ErrorObject::invalid_request(text));
        };
        match call.is_notification() {
            true => self.0.notify(call, subject.into()),
            false => self.0.call(call, subject.into()),
        }
    }
}

impl Remote for Caller {
    /// Each call goes to its own subject, so that workers share them and the broker checks each one's permission.
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let replies: Vec<_> = calls.iter().map(|call| self.call(call)).collect();
        Box::pin(join_all(replies))
    }

    /// The connection to the broker lasts as long as this.
    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl CallerState {
    fn notify(self: &Arc<CallerState>, call: &Call, subject: Subject) -> ReplyFuture {
        let mut text = Vec::with_capacity(96);
        let (method, params) = (&call.method, call.params.as_ref());
        let members = Members::to_send(&call.cx, &Outgoing::new(self.version, None, method, params));
        encode_notification(&mut text, self.version, method, params, members.as_deref());
        let headers = self.headers(&call.cx);
        let message = OutboundMessage { subject, reply: None, payload: text.into(), headers };
        let done = |sent: Result<(), ErrorObject>| match sent {
            Ok(()) => Reply::value(Json::NULL),
            Err(error) => Reply::error(error),
        };
        match self.link.try_publish(message) {
            Ok(sent) => ReplyFuture::ready(done(sent)),
            Err(message) => {
                let link = Arc::clone(&self.link);
                ReplyFuture::pending(async move { done(link.publish(*message).await) })
            }
        }
    }

    fn call(self: &Arc<CallerState>, call: &Call, subject: Subject) -> ReplyFuture {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let payload = encode(call, number, self.version);
        let opened = self.link.inbox.open(self.mark(&call.cx), subject.clone());
        let (reply, headers) = (Some(opened.subject.clone()), self.headers(&call.cx));
        let sent = self.link.try_publish(OutboundMessage { subject, reply, payload, headers });
        let unsent = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => return ReplyFuture::ready(error),
            Err(message) => Some(message),
        };
        let waiting = Waiting { caller: Arc::clone(self), opened, number, worker: None, is_done: false };
        let wanted = Wanted::of(call);
        ReplyFuture::pending(waiting.reply(unsent, wanted))
    }

    /// What the last token of the reply subject begins with: which answers the caller can read.
    fn mark(&self, cx: &Context) -> &'static str {
        match (self.is_called_back, cx.wants_stream()) {
            (false, false) => "~",
            (false, true) => "~~",
            (true, false) => "!",
            (true, true) => "!!",
        }
    }

    /// The headers of a message, if it has any. Most calls have none, because they cost more than the rest of a message.
    fn headers(&self, cx: &Context) -> Option<HeaderMap> {
        let metadata = cx.outgoing_metadata(&self.settings.inherit);
        let metadata = if self.common.is_empty() { metadata } else { metadata.and(&self.common) };
        if metadata.is_empty() && cx.deadline.is_none() {
            return None;
        }
        let mut map = HeaderMap::new();
        headers::add(&mut map, &metadata);
        if let Some(deadline) = cx.deadline {
            let left = deadline.saturating_duration_since(Instant::now()).as_millis();
            map.insert(TIMEOUT, left.to_string());
        }
        Some(map)
    }
}

/// The text of a call with this identifier.
fn encode(call: &Call, number: u64, version: Version) -> Bytes {
    let mut text = Vec::with_capacity(96 + call.params.as_ref().map_or(0, |params| params.as_bytes().len()));
    let (id, method, params) = (Id::from(number), &call.method, call.params.as_ref());
    let members = Members::to_send(&call.cx, &Outgoing::new(version, Some(&id), method, params));
    let with_progress = call.cx.wants_progress().then(|| {
        let inside = members.as_deref().map(Json::as_str).and_then(|object| object.strip_suffix('}'));
        let text = match inside {
            Some("{") | None => "{\"progress\":true}".to_owned(),
            Some(inside) => format!("{inside},\"progress\":true}}"),
        };
        Json::parse(text).expect("members of an object are an object")
    });
    let members = with_progress.as_ref().or(members.as_deref());
    encode_request(&mut text, version, &id, method, params, members);
    text.into()
}

/// What the caller of a method wants to hear.
struct Wanted {
    /// The context that takes progress.
    progress: Option<Context>,
    check: Option<ItemCheck>,
}

impl Wanted {
    fn of(call: &Call) -> Wanted {
        Wanted {
            progress: call.cx.wants_progress().then(|| call.cx.clone()),
            check: call.cx.get::<ItemCheck>().cloned(),
        }
    }
}

/// A call that waits for its answer. Dropping it before its end cancels the call.
pub(super) struct Waiting {
    caller: Arc<CallerState>,
    pub(super) opened: Opened,
    /// The identifier of the call.
    pub(super) number: u64,
    /// Where to control the call, once its worker is known.
    pub(super) worker: Option<Subject>,
    pub(super) is_done: bool,
}

impl Waiting {
    async fn reply(mut self, unsent: Option<Box<OutboundMessage>>, wanted: Wanted) -> Reply {
        if let Some(message) = unsent
            && let Err(error) = self.caller.link.publish(*message).await
        {
            self.is_done = true;
            return Reply::error(error);
        }
        let first = match self.opened.mailbox.next().await {
            Ok(first) => first,
            Err(error) => return self.end(Err(error)),
        };
        match read_part(first.headers.as_ref()) {
            None if is_unheard(&first) => {
                let error = self.unheard();
                self.end(Err(error))
            }
            None => {
                let reply = self.whole(&first);
                self.end(reply)
            }
            Some(Ok((_, Kind::Nothing))) => self.end(Ok(Reply::value(Json::NULL))),
            // Boxed, because it is large and rare.
            Some(_) => Box::pin(self.parts(first, wanted)).await,
        }
    }

    fn end(&mut self, reply: Result<Reply, CallError>) -> Reply {
        self.is_done = true;
        reply.unwrap_or_else(|error| Reply::error(error.into()))
    }

    async fn parts(self, first: Message, wanted: Wanted) -> Reply {
        let number = self.number;
        let notifications = Notifications {
            // Workers understand our options in every dialect.
            profile: Profile::default(),
            // Whatever arrives belongs to this call.
            progress: wanted.progress.map(|cx| (None, cx)),
            service: Some(Arc::clone(self.caller.engine.service())),
        };
        let parts = Parts::new(self, first, notifications);
        parts::announced(parts, number, wanted.check).await
    }

    /// The reply in an answer that is one message.
    fn whole(&self, answer: &Message) -> Result<Reply, CallError> {
        let broken = |why: &str| Err(CallError::Protocol(why.to_owned().into()));
        match codec::decode(&answer.payload, &self.caller.settings) {
            Ok(Incoming::Single(codec::Message::Response(mut response))) => {
                if !parts::is_fault(&response) && response.id.as_u64() != Some(self.number) {
                    return broken("the response has the identifier of another call");
                }
                let extra = response.take_extra();
                let reply = parts::whole(response.outcome)?;
                Ok(Reply { extra, ..reply })
            }
            Ok(_) => broken("the answer is not a response object"),
            Err(_) => broken("the answer is not JSON-RPC, or exceeds a limit of this client"),
        }
    }

    /// The broker knows no worker, so the call was certainly not executed.
    fn unheard(&self) -> CallError {
        let address = &self.caller.link.address;
        let text = format!(
            "no worker serves {} at {address}; start one with `switchboard serve --listen {address}`",
            address.service
        );
        CallError::Unreachable(text.into())
    }

    /// A message to the worker about the call, once the worker is known.
    pub(super) fn control(&self, control: Control) -> Option<OutboundMessage> {
        let (subject, headers) = (self.worker.clone()?, Some(control.headers()));
        Some(OutboundMessage { subject, reply: None, payload: Bytes::new(), headers })
    }

    /// Tells the worker something about the call.
    pub(super) fn tell(&self, control: Control) {
        let Some(message) = self.control(control) else { return };
        if let Err(message) = self.caller.link.try_publish(message) {
            let link = self.link();
            // If the runtime has ended, so has the connection.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { drop(link.publish(*message).await) });
            }
        }
    }

    pub(super) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.caller.link)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.caller.settings
    }

    /// Answers a call of the handler.
    pub(super) fn answer(&self, message: Bytes) -> Exchange {
        let session = Session::shared(Origin::new("nats"));
        self.caller.engine.exchange(message, &Context::from(session))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        match &self.worker {
            Some(_) => self.tell(Control::Cancel),
            None => self.opened.cancel(),
        }
    }
}
