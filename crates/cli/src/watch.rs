//! `switchboard watch`: shows the items of a stream and what the far side pushes, through every connection to come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anstyle::{AnsiColor, Style};
use clap::Args;
use futures_util::StreamExt;
use serde::Serialize;
use switchboard::lasting::{self, State};
use switchboard::{
    Call, CallError, ErrorObject, Items, Json, Peer, Reply, ReplyFuture, Service, StreamWanted, Subscription,
};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::layout::{Layout, visible};
use crate::session::{Line, Session};
use crate::target::Target;
use crate::{exit, output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard watch ws://127.0.0.1:8000 ticks                     # until Ctrl-C
  switchboard watch http://127.0.0.1:8000 ticks count=3
  switchboard watch ws://127.0.0.1:8000 ticks --count 5
  switchboard watch ws://127.0.0.1:8000 watch --notifications      # what the server pushes
  switchboard watch ws://127.0.0.1:8000 --notifications            # without calling anything
  switchboard watch ws://node:8546 eth_subscribe '[\"newHeads\"]'
  switchboard watch ws://node:9944 subscribeHeads --item newHead --unsubscribe unsubscribeHeads";

const LONG: &str = "\
The items of the stream are printed as they come, one JSON text a line in a pipe. With `--notifications` all that the far \
side sends by itself is printed as well, as objects with `method` and `params`.

When the connection breaks it is made again, with growing delays, and the method is called again. Whatever may have been \
missed is told on stderr as a gap. Ctrl-C ends the stream on the far side, too.";

/// Shows the items of a stream or a subscription as they come, and connects again when it must.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Watch {
    #[command(flatten)]
    target: Target,
    /// The method that answers with a stream, or opens a subscription.
    #[arg(required_unless_present = "notifications")]
    method: Option<String>,
    /// The parameters, written as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// End after so many items and notifications.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    count: Option<usize>,
    /// Show all notifications of the far side.
    #[arg(long)]
    notifications: bool,
    /// The notification that carries the items of the subscription, where the far side does not say so itself.
    #[arg(long, value_name = "NAME", requires = "unsubscribe")]
    item: Option<String>,
    /// The method that ends the subscription.
    #[arg(long, value_name = "NAME", requires = "item")]
    unsubscribe: Option<String>,
}

/// As many notifications wait to be shown, at most.
const WAITING: usize = 1024;
/// As many bytes of notifications wait to be shown, at most.
const WAITING_BYTES: usize = 8 << 20;

impl Watch {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let params = params::read(&self.params)?;
        self.target.run(async |session| self.watch(session, params).await)
    }

    async fn watch(&self, session: &Session<'_>, params: Option<Json>) -> Result<(), Failure> {
        let (sender, mut pushed) = mpsc::channel(WAITING);
        let queue = Arc::new(Queue::default());
        let service = Pushes { sender: self.notifications.then_some(sender), queue: Arc::clone(&queue) };
        let lasting = session.last(service, self.options());
        let mut states = lasting.watch();
        let peer = lasting.peer();
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut news = News { is_patient: self.target.backoff().is_some(), ..News::default() };
        let call = self.call(params);
        loop {
            let mut until = self.deadline(&states.state());
            let mut stage = match &call {
                Some(call) => Stage::Asking(Service::call(&peer, call)),
                None if self.is_over_http() => return Err(self.nothing_more()),
                None => Stage::Listening,
            };
            while !matches!(stage, Stage::Lost) {
                let seen = tokio::select! {
                    // What was pushed before a reply is shown before it.
                    biased;
                    Some(push) = pushed.recv() => {
                        queue.leave(&push);
                        Seen::Item(Shown::Push(push))
                    }
                    state = states.next() => Seen::State(state),
                    seen = stage.next() => seen,
                    () = passed(until), if matches!(stage, Stage::Asking(_)) => {
                        return Err(self.target.explain(CallError::TimedOut));
                    }
                };
                match seen {
                    Seen::Item(item) => {
                        left -= 1;
                        if let lost @ 1.. = queue.lost.swap(0, Ordering::Relaxed) {
                            output::note(&format!(
                                "warning: {lost} notifications were lost; they came too fast\n"
                            ));
                        }
                        if !self.show(&item)? || left == 0 {
                            return Ok(());
                        }
                    }
                    Seen::Reply(Reply::Value(json)) => {
                        if !output::result(&json, self.target.format)? || !self.notifications {
                            return Ok(());
                        }
                        if self.is_over_http() {
                            return Err(self.nothing_more());
                        }
                        (stage, news.is_patient) = (Stage::Listening, true);
                    }
                    Seen::Reply(Reply::Stream(items)) => {
                        (stage, news.is_patient) = (Stage::Reading(items), true);
                    }
                    Seen::Gap(error) => output::note(&format!("warning: {error}\n")),
                    Seen::Ended => return Ok(()),
                    Seen::Reply(Reply::Error(error)) => {
                        return Err(self.refused(session, &peer, error).await);
                    }
                    Seen::Failed(error) => return Err(self.target.explain(error.into())),
                    Seen::State(state) => {
                        until = state.as_ref().and_then(|state| self.deadline(state));
                        let is_new = news.tell(state).map_err(|error| self.target.explain(error))?;
                        // What was answered was answered over another connection.
                        if is_new && matches!(stage, Stage::Listening) && call.is_some() {
                            output::note("warning: notifications may have been lost meanwhile\n");
                            stage = Stage::Lost;
                        }
                    }
                }
            }
        }
    }

    /// Why the method was not answered with a stream, and what would have been right.
    async fn refused(&self, session: &Session<'_>, peer: &Peer, error: ErrorObject) -> Failure {
        let line = Line::new(peer.clone(), self.target.timeout);
        session.explain(&line, self.method.as_deref().unwrap_or_default(), error.into()).await
    }

    /// When what is asked over this connection must be answered. Without one that is dialling's to say.
    fn deadline(&self, state: &State) -> Option<Instant> {
        (*state == State::Connected).then(|| Instant::now() + self.target.timeout)
    }

    /// Attempts without end once there was a connection, unless a number of them is given.
    fn options(&self) -> lasting::Options {
        lasting::Options {
            backoff: self.target.backoff().unwrap_or_default(),
            dial_time: self.target.timeout,
            patience: units::LONGEST,
            ..lasting::Options::default()
        }
    }

    fn call(&self, params: Option<Json>) -> Option<Call> {
        let method = self.method.as_deref()?;
        // To call it twice is what reconnecting means here.
        let mut call = Call::new(method, params).repeatable();
        call.cx.insert(StreamWanted);
        let names = match (&self.item, &self.unsubscribe) {
            (Some(item), Some(unsubscribe)) => Some(Subscription::named(item.as_str(), unsubscribe.as_str())),
            _ => Subscription::by_name(&call.method),
        };
        if let Some(names) = names {
            call.cx.insert(Arc::new(names));
        }
        Some(call)
    }

    /// Whether the far side cannot send what nobody asked for.
    fn is_over_http(&self) -> bool {
        self.target.url.starts_with("http")
    }

    fn nothing_more(&self) -> Failure {
        let other = self.target.url.replacen("http", "ws", 1);
        Failure::usage("over HTTP nothing comes but the answer to a call")
            .advise(format!("watch `{}`, if it is served there", visible(&other)))
    }

    /// Shows an item or a notification; tells whether anybody reads on.
    fn show(&self, shown: &Shown) -> Result<bool, Failure> {
        const METHOD: Style = AnsiColor::Yellow.on_default();
        match shown {
            Shown::Item(json) => output::result(json, self.target.format),
            Shown::Push(push) if self.target.format.is_for_people() => {
                let params = push.params.as_ref().map_or(String::new(), |params| Layout::Line.of(params));
                let text = format!("{METHOD}{}{METHOD:#} {}\n", visible(&push.method), visible(&params));
                output::page(&text)
            }
            Shown::Push(push) => {
                let json = Json::encode_ref(push).expect("strings and JSON are JSON");
                output::result(&json, self.target.format)
            }
        }
    }
}

/// How far it is with the call.
enum Stage {
    /// The method is called.
    Asking(ReplyFuture),
    /// Items come.
    Reading(Items),
    /// There is no stream, only what is pushed.
    Listening,
    /// What was called is to be called again.
    Lost,
}

/// Waits until then; without end if there is no such time.
async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// What happens next.
enum Seen {
    Item(Shown),
    Reply(Reply),
    Gap(CallError),
    Failed(ErrorObject),
    Ended,
    State(Option<State>),
}

enum Shown {
    Item(Json),
    Push(Push),
}

impl Stage {
    /// Waits for what comes next. Nothing is lost when this is dropped.
    async fn next(&mut self) -> Seen {
        match self {
            Stage::Asking(reply) => Seen::Reply(reply.await),
            Stage::Reading(items) => match items.next().await {
                Some(Ok(json)) => Seen::Item(Shown::Item(json)),
                Some(Err(error)) if error.gap().is_some() => Seen::Gap(error.into()),
                Some(Err(error)) => Seen::Failed(error),
                None => Seen::Ended,
            },
            Stage::Listening | Stage::Lost => std::future::pending().await,
        }
    }
}

/// What is told of the connection.
#[derive(Default)]
struct News {
    /// Whether a connection that is not there is waited for: after it was there, or if that is asked for.
    is_patient: bool,
    /// Whether the loss of a connection was told.
    is_lost: bool,
}

impl News {
    /// Tells of a change; true if there is a new connection.
    fn tell(&mut self, state: Option<State>) -> Result<bool, CallError> {
        match state {
            Some(State::Waiting { reason, .. }) if !self.is_patient => Err(CallError::Unreachable(reason)),
            Some(State::Waiting { reason, attempt, .. }) => {
                output::note(&format!(
                    "warning: no connection: {}; attempt {attempt} follows\n",
                    visible(&reason)
                ));
                self.is_lost = true;
                Ok(false)
            }
            Some(State::Connected) => {
                if std::mem::take(&mut self.is_lost) {
                    output::note("connected again\n");
                }
                self.is_patient = true;
                Ok(true)
            }
            Some(State::Closed(error)) => Err(error),
            Some(_) => Ok(false),
            None => Err(CallError::Closed("nobody keeps the connection any more".into())),
        }
    }
}

/// A notification of the far side.
#[derive(Serialize)]
struct Push {
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Json>,
}

impl Push {
    fn size(&self) -> usize {
        self.method.len() + self.params.as_ref().map_or(0, |params| params.as_bytes().len())
    }
}

/// What is known of the notifications that wait.
#[derive(Default)]
struct Queue {
    /// Their bytes.
    bytes: AtomicUsize,
    /// How many came for which there was no room.
    lost: AtomicU64,
}

impl Queue {
    /// Takes room for a notification; false if there is none. One that is longer than all of it has room alone.
    fn enter(&self, push: &Push) -> bool {
        let before = self.bytes.fetch_add(push.size(), Ordering::Relaxed);
        let has_room = before == 0 || before.saturating_add(push.size()) <= WAITING_BYTES;
        if !has_room {
            self.leave(push);
        }
        has_room
    }

    /// Gives the room of a notification back.
    fn leave(&self, push: &Push) {
        self.bytes.fetch_sub(push.size(), Ordering::Relaxed);
    }
}

/// Takes the notifications of the far side, if anybody wants to see them.
struct Pushes {
    sender: Option<mpsc::Sender<Push>>,
    queue: Arc<Queue>,
}

impl Service for Pushes {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(sender) = self.sender.as_ref().filter(|_| call.is_notification()) else {
            return ReplyFuture::ready(ErrorObject::method_not_found());
        };
        let push = Push { method: call.method.to_string(), params: call.params.clone() };
        let is_kept = self.queue.enter(&push)
            && sender.try_send(push).inspect_err(|refused| self.queue.leave(unsent(refused))).is_ok();
        if !is_kept {
            self.queue.lost.fetch_add(1, Ordering::Relaxed);
        }
        ReplyFuture::ready(Reply::Value(Json::NULL))
    }
}

fn unsent(refused: &TrySendError<Push>) -> &Push {
    match refused {
        TrySendError::Full(push) | TrySendError::Closed(push) => push,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_that_wait_are_bounded_by_their_bytes_and_their_number() {
        let check = |size: usize, kept: usize| {
            let (sender, mut pushed) = mpsc::channel(WAITING);
            let service = Pushes { sender: Some(sender), queue: Arc::default() };
            let params = Json::encode(&["x".repeat(size)]).unwrap();
            let send = || drop(Service::call(&service, &Call::notification("m", Some(params.clone()))));
            (0..kept + 3).for_each(|_| send());
            assert_eq!((pushed.len(), service.queue.lost.load(Ordering::Relaxed)), (kept, 3), "{size}");
            // What is shown makes room.
            service.queue.leave(&pushed.try_recv().unwrap());
            send();
            assert_eq!((pushed.len(), service.queue.lost.load(Ordering::Relaxed)), (kept, 3), "{size}");
            while let Ok(push) = pushed.try_recv() {
                service.queue.leave(&push);
            }
            assert_eq!(service.queue.bytes.load(Ordering::Relaxed), 0, "{size}");
        };
        check(1, WAITING);
        check((1 << 20) - 100, 8);
        check(WAITING_BYTES, 1);
    }
}
