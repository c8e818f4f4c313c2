//! Servers that do what a test tells them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_core::{
    Call, CallError, Code, Context, ErrorObject, Json, Origin, Outcome, Reply, ReplyFuture, Service, Session,
};
use switchboard_gateway::{Node, Pool};
use tokio::time::Instant;

/// How a fake answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// With its name.
    Answers,
    /// With its name, after this time.
    Takes(Duration),
    /// Never.
    Hangs,
    /// It cannot be reached.
    Refuses,
    /// Its connection breaks when it has got the call.
    Breaks,
    /// With this error.
    Fails(Code),
}

/// A server that answers as it is told, and counts what it is asked. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Fake(Arc<Inner>);

struct Inner {
    name: &'static str,
    mood: Mutex<Mood>,
    /// Calls that reached it.
    asked: AtomicUsize,
    /// Calls that were dropped before they were answered.
    cancelled: AtomicUsize,
}

impl Fake {
    pub(crate) fn new(name: &'static str) -> Fake {
        Fake(Arc::new(Inner {
            name,
            mood: Mutex::new(Mood::Answers),
            asked: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
        }))
    }

    /// One that begins in this mood.
    pub(crate) fn that(name: &'static str, mood: Mood) -> Fake {
        let fake = Fake::new(name);
        fake.set(mood);
        fake
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().unwrap() = mood;
    }

    pub(crate) fn node(&self) -> Node {
        Node::new(self.0.name, self.clone())
    }

    /// How many calls reached it since this was last asked for.
    pub(crate) fn take_asked(&self) -> usize {
        self.0.asked.swap(0, Ordering::SeqCst)
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    fn answer(&self) -> Reply {
        Reply::of(&self.0.name)
    }
}

impl Service for Fake {
    fn call(&self, _: &Call) -> ReplyFuture {
        let mood = *self.0.mood.lock().unwrap();
        if mood == Mood::Refuses {
            return ReplyFuture::ready(ErrorObject::from(CallError::Unreachable("refused".into())));
        }
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let fake = self.clone();
        match mood {
            Mood::Answers | Mood::Refuses => ReplyFuture::ready(self.answer()),
            Mood::Breaks => ReplyFuture::ready(ErrorObject::from(CallError::Closed("broken".into()))),
            Mood::Fails(code) => ReplyFuture::ready(ErrorObject::from_code(code)),
            Mood::Takes(time) => {
                let mut dropped = Dropped { fake, is_answered: false };
                ReplyFuture::pending(async move {
                    tokio::time::sleep_until(Instant::now() + time).await;
                    dropped.is_answered = true;
                    dropped.fake.answer()
                })
            }
            Mood::Hangs => {
                let dropped = Dropped { fake, is_answered: false };
                ReplyFuture::pending(async move {
                    std::future::pending::<()>().await;
                    dropped.fake.answer()
                })
            }
        }
    }
}

/// Counts a call that nobody waits for any more.
struct Dropped {
    fake: Fake,
    is_answered: bool,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if !self.is_answered {
            self.fake.0.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A pool of these nodes that never ejects one.
pub(crate) fn pool(fakes: &[&Fake]) -> Pool {
    fakes.iter().fold(Pool::builder("u").eject(None), |pool, fake| pool.node(fake.node())).build()
}

/// A call of a session of its own.
pub(crate) fn call() -> Call {
    Call::new("m", None)
}

/// A call with these params.
pub(crate) fn call_with(params: &str) -> Call {
    Call::new("m", Some(Json::parse(params.to_owned()).unwrap()))
}

/// A session of one client.
pub(crate) fn session() -> Session {
    Session::new(Origin::default())
}

/// A call in a session.
pub(crate) fn call_in(session: &Session) -> Call {
    call().with_context(Context::default().with_session(session.clone()))
}

/// A call whose caller waits for this long.
pub(crate) fn call_within(time: Duration) -> Call {
    let mut call = call();
    call.cx.deadline = Some(Instant::now() + time);
    call
}

/// Who answered a call.
pub(crate) fn name(reply: &Reply) -> String {
    match &reply.outcome {
        Outcome::Value(value) => value.decode().unwrap(),
        _ => panic!("{reply:?}"),
    }
}

/// The error of a call, if it failed.
pub(crate) fn error(reply: &Reply) -> Option<&ErrorObject> {
    match &reply.outcome {
        Outcome::Error(error) => Some(error),
        _ => None,
    }
}

/// The code of an error.
pub(crate) fn code(reply: &Reply) -> Code {
    error(reply).unwrap_or_else(|| panic!("{reply:?}")).code
}

/// How often a call was sent, as its answer says; once if it says nothing.
pub(crate) fn attempts(reply: &Reply) -> String {
    let metadata = reply.extra.as_ref().and_then(|extra| extra.metadata.text("switchboard-attempts"));
    metadata.map_or_else(|| "1".to_owned(), ToString::to_string)
}

/// Who answers this many calls, one after the other.
pub(crate) async fn answers(service: &impl Service, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(name(&service.call(&call()).await));
    }
    names
}

/// How many of these answers came from this node.
pub(crate) fn share(answers: &[String], node: &str) -> usize {
    answers.iter().filter(|name| *name == node).count()
}
