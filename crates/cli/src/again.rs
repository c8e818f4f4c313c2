//! Calls that are sent again where that cannot run anything twice: the same over every carrier.
//!
//! What did not reach the far side goes again. What was under way when the connection broke may have run, so it goes again only
//! if it may run twice: by the word of the caller, or of the far side, which is asked when it matters and not before.
//! All attempts together have the time of the call.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use switchboard::lasting::Backoff;
use switchboard::{Call, CallError, Code, Dial, DialError, Peer, Remote, Reply, ReplyFuture, Service};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::discovery::{self, Found};
use crate::exit::is_too_long;
use crate::layout::visible;
use crate::output;
use crate::session::Line;

/// A far side that is connected to when something is called, and again when the connection broke.
#[derive(Clone)]
pub(crate) struct Again(Arc<Inner>);

struct Inner {
    dial: Dial,
    backoff: Backoff,
    /// Whether the caller says that everything may run twice.
    is_repeatable: bool,
    /// The connection of now. It is made by the first that needs it.
    current: Mutex<Arc<OnceCell<Peer>>>,
    /// What the far side says about itself, once it was asked.
    found: OnceCell<Found>,
    /// The attempt that was told last, of all calls that are lost at once. All of them have the same trouble.
    told: AtomicU32,
    /// Whether a call had all its attempts in vain. Until something is answered others have one each.
    is_hopeless: AtomicBool,
}

impl Again {
    pub(crate) fn new(dial: Dial, backoff: Backoff, is_repeatable: bool) -> Again {
        Again(Arc::new(Inner {
            dial,
            backoff,
            is_repeatable,
            current: Mutex::default(),
            found: OnceCell::new(),
            told: AtomicU32::new(0),
            is_hopeless: AtomicBool::new(false),
        }))
    }

    /// Sends a message as often as it takes and may be.
    async fn send(&self, message: &Message) -> Vec<Reply> {
        let mut delays = self.0.backoff.delays();
        let mut attempt = 1;
        loop {
            let replies = self.0.attempt(message).await;
            let Some(loss) = message.loss(&replies) else {
                self.0.told.store(0, Ordering::Relaxed);
                self.0.is_hopeless.store(false, Ordering::Relaxed);
                return replies;
            };
            let (Loss::Unsent(mut why) | Loss::Broken(mut why)) = loss.clone();
            loop {
                attempt += 1;
                let is_hopeless = self.0.is_hopeless.load(Ordering::Relaxed);
                let Some(delay) = delays.next().filter(|_| !is_hopeless) else {
                    self.0.is_hopeless.store(true, Ordering::Relaxed);
                    return replies;
                };
                let begin = Instant::now() + delay;
                if message.deadline().is_some_and(|deadline| begin >= deadline) {
                    return replies;
                }
                self.tell(&why, attempt);
                tokio::time::sleep_until(begin).await;
                match self.0.may_go_again(message, &loss).await {
                    Ok(true) => break,
                    Ok(false) => return replies,
                    // This attempt reached nobody who could say.
                    Err(error) => why = error,
                }
            }
        }
    }

    fn tell(&self, why: &CallError, attempt: u32) {
        if self.0.told.fetch_max(attempt, Ordering::Relaxed) >= attempt {
            return;
        }
        let all = self.0.backoff.attempts.map_or(String::new(), |all| format!(" of {all}"));
        output::note(&format!("warning: {}; attempt {attempt}{all} follows\n", visible(&why.to_string())));
    }
}

impl Service for Again {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (this, message) = (self.clone(), Message::One(call.clone()));
        ReplyFuture::pending(async move {
            let mut replies = this.send(&message).await;
            replies.pop().unwrap_or_else(|| Reply::Error(CallError::Cancelled.into()))
        })
    }
}

impl Remote for Again {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (this, message) = (self.clone(), Message::Many(calls));
        Box::pin(async move { this.send(&message).await })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl Inner {
    /// Sends a message once. A connection over which it was lost is not used again.
    async fn attempt(&self, message: &Message) -> Vec<Reply> {
        let line = self.line();
        let replies = match self.peer(&line).await {
            Ok(peer) => message.send(peer).await,
            Err(error) => message.fail(&error),
        };
        if message.loss(&replies).is_some() {
            self.give_up(&line);
        }
        replies
    }

    fn line(&self) -> Arc<OnceCell<Peer>> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn give_up(&self, line: &Arc<OnceCell<Peer>>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, line) {
            *current = Arc::default();
        }
    }

    async fn peer<'a>(&self, line: &'a OnceCell<Peer>) -> Result<&'a Peer, CallError> {
        let connect = async || self.dial.clone().connect().await;
        line.get_or_try_init(connect).await.map_err(|error| match error {
            DialError::Unreachable(what) => CallError::Unreachable(what.into()),
            other => CallError::Unsupported(other.to_string().into()),
        })
    }

    /// Whether what was lost like this may go again.
    ///
    /// # Errors
    ///
    /// When the far side has to be asked, and cannot be.
    async fn may_go_again(&self, message: &Message, loss: &Loss) -> Result<bool, CallError> {
        let is_known = match loss {
            Loss::Unsent(_) => true,
            Loss::Broken(_) => self.is_repeatable || message.calls().iter().all(Call::is_repeatable),
        };
        if is_known || message.calls().iter().any(Call::is_notification) {
            return Ok(is_known);
        }
        let line = self.line();
        let ask = async || {
            let peer = self.peer(&line).await?;
            discovery::of(&Line::new(peer.clone(), discovery::BRIEFLY)).await
        };
        match self.found.get_or_try_init(ask).await {
            Ok(found) => Ok(message.calls().iter().all(|call| found.is_repeatable(call.method.as_str()))),
            Err(error @ (CallError::Unreachable(_) | CallError::Closed(_))) => {
                self.give_up(&line);
                Err(error)
            }
            // It does not say.
            Err(_) => Ok(false),
        }
    }
}

/// What is sent at once.
enum Message {
    One(Call),
    Many(Vec<Call>),
}

/// How a message was lost, and why.
#[derive(Clone, Debug, PartialEq)]
enum Loss {
    /// It did not reach the far side, or was refused before anything ran.
    Unsent(CallError),
    /// The connection broke before all of it was answered, so it may have run.
    Broken(CallError),
}

impl Message {
    fn calls(&self) -> &[Call] {
        match self {
            Message::One(call) => std::slice::from_ref(call),
            Message::Many(calls) => calls,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.calls().iter().filter_map(|call| call.cx.deadline).min()
    }

    async fn send(&self, peer: &Peer) -> Vec<Reply> {
        match self {
            Message::One(call) => vec![Service::call(peer, call).await],
            Message::Many(calls) => Remote::batch(peer, calls.clone()).await,
        }
    }

    fn fail(&self, error: &CallError) -> Vec<Reply> {
        self.calls().iter().map(|_| Reply::Error(error.clone().into())).collect()
    }

    /// How the message was lost; nothing if any part of it was answered. Notifications have no answers, so those beside calls do
    /// not count.
    fn loss(&self, replies: &[Reply]) -> Option<Loss> {
        let has_calls = self.calls().iter().any(|call| !call.is_notification());
        let mut counting =
            self.calls().iter().zip(replies).filter(|(call, _)| !has_calls || !call.is_notification());
        let first = loss(counting.next()?.1)?;
        counting.try_fold(first, |so_far, (_, reply)| match (so_far, loss(reply)?) {
            (Loss::Unsent(_), broken @ Loss::Broken(_)) => Some(broken),
            (so_far, _) => Some(so_far),
        })
    }
}

/// How one call was lost, if it was.
fn loss(reply: &Reply) -> Option<Loss> {
    let Reply::Error(error) = reply else { return None };
    match CallError::from(error.clone()) {
        // It would come again as it came.
        error if is_too_long(&error) => None,
        error @ CallError::Unreachable(_) => Some(Loss::Unsent(error)),
        error @ CallError::Closed(_) => Some(Loss::Broken(error)),
        // A server that shuts down runs nothing any more.
        CallError::Rejected(error) if error.code == Code::SHUTTING_DOWN => Some(Loss::Unsent(error.into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::{ErrorObject, Json};

    fn unreachable() -> CallError {
        CallError::Unreachable("nobody".into())
    }

    fn gone() -> CallError {
        CallError::Closed("gone".into())
    }

    fn failed(error: CallError) -> Reply {
        Reply::Error(error.into())
    }

    #[test]
    fn what_was_not_sent_is_told_from_what_may_have_run() {
        let check = |error: CallError, expected: Option<Loss>| assert_eq!(loss(&failed(error)), expected);
        check(unreachable(), Some(Loss::Unsent(unreachable())));
        check(gone(), Some(Loss::Broken(gone())));
        let refused = CallError::Rejected(ErrorObject::from_code(Code::SHUTTING_DOWN));
        check(refused.clone(), Some(Loss::Unsent(refused)));
        check(CallError::TimedOut, None);
        check(CallError::Protocol("odd".into()), None);
        check(CallError::Rejected(ErrorObject::from_code(Code::METHOD_NOT_FOUND)), None);
        assert_eq!(loss(&Reply::Value(Json::NULL)), None);
    }

    #[test]
    fn a_batch_is_lost_if_no_call_of_it_was_answered() {
        let (call, notification) = (Call::new("a", None), Call::notification("b", None));
        let check = |calls: &[&Call], replies: &[Reply], expected: Option<Loss>| {
            let message = Message::Many(calls.iter().map(|call| (*call).clone()).collect());
            assert_eq!(message.loss(replies), expected);
        };
        let done = || Reply::Value(Json::NULL);
        check(&[&call, &call], &[failed(unreachable()), failed(gone())], Some(Loss::Broken(gone())));
        check(&[&call, &call], &[failed(gone()), done()], None);
        check(&[&call, &notification], &[failed(gone()), done()], Some(Loss::Broken(gone())));
        check(&[&notification], &[failed(unreachable())], Some(Loss::Unsent(unreachable())));
        check(&[&notification], &[done()], None);
        check(&[], &[], None);
    }

    #[tokio::test(start_paused = true)]
    async fn after_attempts_in_vain_other_calls_have_one_each() {
        let dial = Dial::new("unix:/nowhere/at/all").unwrap();
        let backoff = Backoff { attempts: Some(4), jitter: 0.0, ..Backoff::default() };
        let again = Again::new(dial, backoff, false);
        let time = async || {
            let begin = Instant::now();
            assert!(loss(&Service::call(&again, &Call::new("a", None)).await).is_some());
            begin.elapsed().as_millis()
        };
        assert_eq!(time().await, 700);
        assert_eq!(time().await, 0);
        again.0.is_hopeless.store(false, Ordering::Relaxed);
        assert_eq!(time().await, 700);
    }

    #[tokio::test]
    async fn what_may_have_run_goes_again_only_if_it_may_run_twice() {
        // Nobody is there to be asked.
        let dial = Dial::new("unix:/nowhere/at/all").unwrap();
        let check = async |call: Call, loss: Loss, is_any: bool, expected: Option<bool>| {
            let again = Again::new(dial.clone(), Backoff::default(), is_any);
            assert_eq!(again.0.may_go_again(&Message::One(call), &loss).await.ok(), expected, "{loss:?}");
        };
        let (call, notification) = (|| Call::new("a", None), || Call::notification("a", None));
        check(call(), Loss::Unsent(unreachable()), false, Some(true)).await;
        check(notification(), Loss::Unsent(unreachable()), false, Some(true)).await;
        check(call().repeatable(), Loss::Broken(gone()), false, Some(true)).await;
        check(call(), Loss::Broken(gone()), true, Some(true)).await;
        check(call(), Loss::Broken(gone()), false, None).await;
        check(notification(), Loss::Broken(gone()), false, Some(false)).await;
    }
}
