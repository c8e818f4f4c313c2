//! A worker: takes the calls of a service from its queue group, and answers them.

use std::sync::Arc;
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{HeaderMap, Message, Subject, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use switchboard_core::{
    Answer, Arrival, Context, Delivery, Engine, ErrorObject, Exchange, First, Origin, Outputs, Session,
    Settings,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::answering::Answering;
use super::carrier::CONNECTING;
use super::checked::{Checked, Refused, SentTo};
use super::link::Link;
use super::part::{Kind, TIMEOUT, part_headers};
use super::services::{Counted, Services};
use super::subject::{ANY, LONGEST};
use super::{connection, headers};
use crate::server::ConnectionPermit;

/// How many more messages are taken when a worker stops: more than may be on their way. Then fewer, while nothing arrives.
const MARGINS: [u64; 5] = [2048, 256, 32, 4, 1];

/// How many messages the client keeps for a worker at most.
const QUEUE: usize = 1 << 16;

/// How long a worker that stops waits for each of these.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many messages are handled before other work gets its turn.
const TURN: usize = 64;

/// How many bytes a message has beside its body at most.
const HEAD: usize = 4096;

/// A worker of a service.
pub(super) struct Worker {
    link: Arc<Link>,
    engine: Engine,
    session: Session,
    /// The subject of messages that may be about any method.
    any: String,
    permit: ConnectionPermit,
    services: Arc<Services>,
    tasks: JoinSet<()>,
    /// What calls in progress have to know.
    stage: watch::Sender<Stage>,
    /// How many messages this subscription has received.
    received: u64,
}

/// How far a worker is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It takes calls.
    Working,
    /// It takes no more calls, and finishes those that it has. Streams end.
    Draining,
    /// Everything ends.
    Ending,
}

/// What a task needs to answer a call.
struct ForTask {
    engine: Engine,
    link: Arc<Link>,
    stage: watch::Receiver<Stage>,
}

/// A call that may be answered in parts.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all calls are of the large kind, and live for a moment"
)]
enum Begun {
    Whole(Exchange),
    Parts(Outputs, Context),
}

/// Takes the calls of a service from its queue group.
pub(super) async fn subscribe(link: &Link) -> Result<Subscriber, String> {
    let service = &link.address.service;
    let subscribed = link.client().queue_subscribe(format!("{service}.>"), service.clone()).await;
    subscribed.map_err(|error| error.to_string())
}

/// Subscribes again over another connection. An error if the broker refuses that.
async fn renew(link: &Link) -> Result<Subscriber, String> {
    link.renew(CONNECTING).await.map_err(|error| error.text)?;
    let subscription = subscribe(link).await?;
    link.ready().await?;
    Ok(subscription)
}

/// Makes the connection again, which may take many attempts, and subscribes.
async fn subscribe_again(link: &Link) -> Subscriber {
    for attempt in 1.. {
        tokio::time::sleep(connection::pause(attempt)).await;
        match renew(link).await {
            Ok(subscription) => return subscription,
            Err(error) if attempt == 1 => tracing::warn!(error, "trying to connect again until it succeeds"),
            Err(error) => tracing::debug!(error, attempt, "not connected again"),
        }
    }
    unreachable!("attempts do not end")
}

impl Worker {
    pub(super) fn new(link: Arc<Link>, permit: ConnectionPermit) -> Worker {
        let counted = Arc::new(Counted::default());
        let service = Checked { inner: Arc::clone(permit.service()), counted: Arc::clone(&counted) };
        let engine = Engine::new(Arc::new(service), within(permit.settings(), link.client().max_payload()));
        let session = Session::shared(Origin::new("nats"));
        session.set_account(Arc::clone(permit.account()));
        let any = format!("{}.{ANY}", link.address.service);
        let is_open = permit.settings().admission.is_none();
        let services = Services::new(Arc::clone(&link), Arc::clone(permit.service()), counted, is_open);
        Worker {
            link,
            engine,
            session,
            any,
            permit,
            services,
            tasks: JoinSet::new(),
            stage: watch::Sender::new(Stage::Working),
            received: 0,
        }
    }

    /// Answers calls until the server shuts down, and those that were received by then.
    pub(super) async fn run(mut self, mut subscription: Subscriber) {
        let shutdown = Arc::clone(self.permit.shutdown());
        let mut stopping = Box::pin(async move { shutdown.wait().await });
        let mut describing = self.describe();
        let last = loop {
            tokio::select! {
                biased;
                () = &mut stopping => break Some(subscription),
                message = subscription.next() => match message {
                    Some(message) => self.take(message, &mut subscription),
                    // The connection was lost. What had arrived by then is taken.
                    None => {
                        describing.abort_all();
                        tokio::select! {
                            biased;
                            () = &mut stopping => break None,
                            again = subscribe_again(&self.link) => subscription = again,
                        }
                        self.received = 0;
                        describing = self.describe();
                    }
                },
                Some(_) = self.tasks.join_next() => {}
            }
        };
        drop(describing);
        let until = Instant::now() + self.engine.settings().limits.drain_time;
        self.stage.send_replace(Stage::Draining);
        if let Some(subscription) = last {
            drop(timeout_at(until, self.drain(subscription)).await);
        }
        let done = async { while self.tasks.join_next().await.is_some() {} };
        if timeout_at(until, done).await.is_err() {
            self.stage.send_replace(Stage::Ending);
            // Without a connection they would wait longer.
            let done = async { while self.tasks.join_next().await.is_some() {} };
            drop(timeout(PATIENCE * 10, done).await);
        }
        // What was queued is written before the connection ends.
        drop(timeout(PATIENCE * 10, self.link.client().flush()).await);
    }

    /// Answers tools of NATS over this connection, until what this returns is dropped.
    fn describe(&self) -> JoinSet<()> {
        let services = Arc::clone(&self.services);
        let mut describing = JoinSet::new();
        describing.spawn(async move { services.run().await });
        describing
    }

    /// Takes a message, and others that have arrived.
    fn take(&mut self, message: Message, subscription: &mut Subscriber) {
        self.receive(message);
        for _ in 1..TURN {
            let Some(Some(message)) = subscription.next().now_or_never() else { return };
            self.receive(message);
        }
    }

    /// Takes no more messages, without losing any. The broker's client cannot do this: it forgets a subscription before the last message
    /// has arrived. But the server and the client count messages in the same way, so both can stop after the same one. When a client reconnects,
    /// the server counts from the start. So ours does not: each connection has a separate subscription.
    async fn drain(&mut self, mut subscription: Subscriber) {
        for margin in MARGINS {
            // Both count what waits here as well.
            for _ in 0..QUEUE {
                let Some(Some(message)) = subscription.next().now_or_never() else { break };
                self.receive(message);
            }
            if subscription.unsubscribe_after(self.received + margin).await.is_err() {
                return;
            }
            let (before, until) = (self.received, Instant::now() + PATIENCE);
            loop {
                match timeout_at(until, subscription.next()).await {
                    Ok(Some(message)) => self.receive(message),
                    Ok(None) => return,
                    Err(_) => break,
                }
            }
            if self.received == before {
                // A busy server sends what it has for this worker before it answers.
                drop(self.link.confirm(Subject::from_static("")).await);
                while let Some(Some(message)) = subscription.next().now_or_never() {
                    self.receive(message);
                }
            }
            if self.received == before {
                break;
            }
        }
        drop(subscription.drain().await);
        while let Some(message) = subscription.next().await {
            self.receive(message);
        }
    }

    fn receive(&mut self, message: Message) {
        self.received += 1;
        // Those that are done do not count.
        while self.tasks.try_join_next().is_some() {}
        let Message { subject, reply, payload, headers, .. } = message;
        if reply.as_ref().is_some_and(|reply| !self.may_reply_to(reply)) {
            return;
        }
        let cx = self.context(&subject, headers.as_ref());
        if cx.get::<Refused>().is_some() {
            return self.begin(payload, cx, reply);
        }
        match self.engine.admit(&Arrival::request(&cx, "POST", "/", false)) {
            None => self.begin(payload, cx, reply),
            Some(mut admission) => match (&mut admission).now_or_never() {
                Some(Ok(cx)) => self.begin(payload, cx, reply),
                Some(Err(refusal)) => self.begin(payload, refused(cx, refusal.error), reply),
                None => {
                    let with = self.for_task();
                    self.tasks.spawn(async move {
                        let cx = match admission.await {
                            Ok(cx) => cx,
                            Err(refusal) => refused(cx, refusal.error),
                        };
                        let begun = begin(&with.engine, payload, cx, reply.as_ref());
                        answer(begun, with, reply).await;
                    });
                }
            },
        }
    }

    /// Starts the calls of a message. What is ready is answered at once.
    fn begin(&mut self, payload: Bytes, cx: Context, reply: Option<Subject>) {
        let mut begun = begin(&self.engine, payload, cx, reply.as_ref());
        let ready = match &mut begun {
            Begun::Whole(exchange) => exchange.now_or_never(),
            Begun::Parts(outputs, _) => match outputs.first().now_or_never() {
                Some(First::Whole(answer)) => Some(answer),
                _ => None,
            },
        };
        let Some(answer_ready) = ready else {
            self.tasks.spawn(answer(begun, self.for_task(), reply));
            return;
        };
        let Some(reply) = reply else { return };
        let message = match begun {
            Begun::Whole(_) => for_tools(reply, answer_ready),
            Begun::Parts(..) => whole(reply, answer_ready.into_body()),
        };
        if let Err(message) = self.link.try_publish(message).map(report) {
            let link = Arc::clone(&self.link);
            self.tasks.spawn(async move { report(link.publish(*message).await) });
        }
    }

    fn for_task(&self) -> ForTask {
        ForTask { engine: self.engine.clone(), link: Arc::clone(&self.link), stage: self.stage.subscribe() }
    }

    /// The context of the calls of a message.
    fn context(&self, subject: &Subject, headers: Option<&HeaderMap>) -> Context {
        let mut cx = Context::from(self.session.clone());
        if **subject != *self.any {
            cx.insert(SentTo(subject.clone()));
        }
        if let Some(headers) = headers {
            cx = cx.with_metadata(headers::metadata(headers));
            let timeout = headers::find(headers, TIMEOUT).and_then(|value| value.parse().ok());
            if let Some(timeout) = timeout {
                cx.expect_within(Duration::from_millis(timeout));
            }
            let kind = headers::find(headers, "content-type").map(str::to_ascii_lowercase);
            if kind.is_some_and(|kind| !kind.starts_with("application/json")) {
                cx = refused(cx, ErrorObject::invalid_request("the content type must be application/json"));
            }
        }
        let most = self.permit.options().connections;
        if self.tasks.len() >= most {
            let text = format!("this worker runs {most} calls already; try again");
            cx = refused(cx, ErrorObject::over_limit("connections", text));
        }
        cx
    }

    /// Whether a caller may ask for an answer there. A subject of the server, of this service, of topics or jobs would let it act with our permissions,
    /// and the server ends the connection of those who send a subject that is too long.
    fn may_reply_to(&self, reply: &Subject) -> bool {
        let service = &self.link.address.service;
        let is_own = reply.strip_prefix(&**service).is_some_and(|rest| rest.starts_with('.'));
        let is_ours = reply.starts_with("_SB");
        let is_allowed = !reply.starts_with('$') && !is_own && !is_ours && reply.len() <= LONGEST;
        if !is_allowed {
            tracing::warn!(
                length = reply.len(),
                "dropped a message: its answers may not go to the subject that it names"
            );
        }
        is_allowed
    }
}

/// Settings with limits for answers that the broker takes, with room for headers; and with the options of calls that our client sends.
fn within(settings: &Settings, max_payload: usize) -> Settings {
    let most = max_payload.saturating_sub(HEAD);
    let limits = settings.limits.clone();
    let (reply, batch_reply) = (limits.reply.min(most), limits.batch_reply.min(most));
    let profile = settings.profile.clone().with_call_options(true);
    settings.clone().with_profile(profile).with_limits(limits.with_reply(reply).with_batch_reply(batch_reply))
}

fn refused(mut cx: Context, error: ErrorObject) -> Context {
    cx.insert(Refused(error));
    cx
}

/// Starts the calls of a message, in parts if its sender can read them.
fn begin(engine: &Engine, payload: Bytes, cx: Context, reply: Option<&Subject>) -> Begun {
    let last = reply.and_then(|reply| reply.rsplit('.').next()).unwrap_or_default();
    let cx = match last.as_bytes().first() {
        Some(b'~') => cx,
        // The handler may call its caller, so each call is a session.
        Some(b'!') => session_of(engine, cx),
        _ => return Begun::Whole(engine.exchange(payload, &cx)),
    };
    let wants_stream = last.as_bytes().get(1) == last.as_bytes().first();
    Begun::Parts(engine.outputs(payload, &cx, Delivery::Either { wants_stream }), cx)
}

/// A context whose calls are a session, within the memory of the worker.
fn session_of(engine: &Engine, cx: Context) -> Context {
    let session = Session::stateful(Origin::new("nats"), engine);
    if let Some(account) = cx.session().account() {
        session.set_account(Arc::clone(account));
    }
    cx.with_session(session)
}

/// Waits for an answer, and sends it.
async fn answer(begun: Begun, with: ForTask, reply: Option<Subject>) {
    let ForTask { engine, link, stage } = with;
    match (begun, reply) {
        (Begun::Whole(exchange), reply) => {
            let answer = exchange.await;
            let Some(reply) = reply else { return };
            report(link.publish(for_tools(reply, answer)).await);
        }
        (Begun::Parts(outputs, cx), Some(reply)) => {
            let send_time = engine.settings().limits.send_time;
            Answering::new(link, engine, cx, outputs, reply).run(send_time, stage).await;
        }
        (Begun::Parts(..), None) => {}
    }
}

/// An answer in one message.
pub(super) fn whole(to: Subject, body: Option<Bytes>) -> OutboundMessage {
    let headers = body.is_none().then(|| part_headers(0, Kind::Nothing));
    OutboundMessage { subject: to, reply: None, payload: body.unwrap_or_default(), headers }
}

/// The same for a client that may not know JSON-RPC: headers say that it is an error, as tools of NATS expect.
fn for_tools(to: Subject, answer: Answer) -> OutboundMessage {
    let code = match &answer {
        Answer::Single { code, .. } => *code,
        _ => None,
    };
    let mut message = whole(to, answer.into_body());
    if let Some(code) = code {
        message.headers = Some(headers::of_error(code, &message.payload));
    }
    message
}

fn report(sent: Result<(), ErrorObject>) {
    if let Err(error) = sent {
        tracing::debug!(%error, "an answer was not sent");
    }
}

#[cfg(test)]
#[path = "../../../../tests/support/broker.rs"]
mod broker;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::address::Address;
    use super::broker::Broker;
    use super::*;

    /// The configuration of a broker: what clients may subscribe to.
    struct Allowed(PathBuf);

    impl Allowed {
        fn set(&self, subjects: &str) {
            let user =
                format!("user: u, password: p, permissions: {{publish: \">\", subscribe: {subjects}}}");
            fs::write(&self.0, format!("authorization {{users: [{{{user}}}]}}\nno_auth_user: u\n")).unwrap();
        }
    }

    impl Drop for Allowed {
        fn drop(&mut self) {
            drop(fs::remove_file(&self.0));
        }
    }

    #[tokio::test]
    async fn a_subscription_that_is_refused_after_the_connection_was_lost_is_tried_again() {
        let name = format!("switchboard-allowed-{}.conf", std::process::id());
        let allowed = Allowed(std::env::temp_dir().join(name));
        allowed.set("[\">\"]");
        let mut broker = Broker::start(&["--config", allowed.0.to_str().unwrap()]);
        let url: crate::carrier::Url = format!("{}/math", broker.url()).parse().unwrap();
        let address = Address::of(&url).unwrap();
        let link = Link::open_renewed(address, CONNECTING).await.map_err(|error| error.text).unwrap();
        let mut lost = subscribe(&link).await.unwrap();
        link.ready().await.unwrap();
        broker.kill();
        assert!(lost.next().await.is_none());
        allowed.set("[\"_INBOX.>\"]");
        broker.restart();
        for _ in 0..3 {
            // The end of the connection before is not taken for that of this one.
            let refused = renew(&link).await.unwrap_err();
            assert!(refused.contains("refused a subscription"), "{refused}");
        }
        broker.kill();
        allowed.set("[\">\"]");
        broker.restart();
        let mut subscription = subscribe_again(&link).await;
        link.client().publish("math.one", "".into()).await.unwrap();
        assert_eq!(subscription.next().await.unwrap().subject.as_str(), "math.one");
    }
}
