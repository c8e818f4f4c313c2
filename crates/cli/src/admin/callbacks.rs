//! What methods call at their callers, for the timeline of a call.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use switchboard::gateway::Routed;
use switchboard::{Call, CallError, Id, Outcome, Peer, Remote, Reply, ReplyFuture, Service, Session};

use super::calls::{Calls, TEXT, shortened};
use super::health::milliseconds;

/// Calls back that are remembered for each call.
const REMEMBERED: usize = 50;

/// A call back, or a notification, to the caller of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Callback {
    pub(super) method: String,
    /// When it began, in milliseconds since 1970.
    pub(super) began: f64,
    /// When it ended, and how. None if it has not ended.
    pub(super) ended: Option<(f64, String)>,
}

/// The calls back of one call, the first of them, and where a gateway sent it. It may make some after it has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Callbacks {
    calls: Arc<Mutex<Vec<Callback>>>,
    pub(super) routed: Routed,
    /// What a cache did with it.
    pub(super) cache: Arc<OnceLock<String>>,
}

impl Callbacks {
    pub(super) fn list(&self) -> Vec<Callback> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Callback>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call back begins.
    fn begin(&self, call: &Call) -> Conclusion {
        let mut list = self.lock();
        let at = (list.len() < REMEMBERED).then_some(list.len());
        if at.is_some() {
            let method = shortened(call.method.as_str(), TEXT);
            list.push(Callback { method, began: milliseconds(SystemTime::now()), ended: None });
        }
        Conclusion { list: self.clone(), at, is_notification: call.id().is_none() }
    }
}

/// A call back that has not ended. Dropping it cancels it.
struct Conclusion {
    list: Callbacks,
    /// Where it is in the list. None if it is not there, or has ended.
    at: Option<usize>,
    is_notification: bool,
}

impl Conclusion {
    fn end(mut self, reply: &Reply) {
        let outcome = match &reply.outcome {
            Outcome::Error(error) => format!("error {}", error.code.0),
            _ if self.is_notification => "sent".to_owned(),
            _ => "ok".to_owned(),
        };
        self.note(outcome);
    }

    fn note(&mut self, outcome: String) {
        if let Some(at) = self.at.take() {
            self.list.lock()[at].ended = Some((milliseconds(SystemTime::now()), outcome));
        }
    }
}

impl Drop for Conclusion {
    fn drop(&mut self) {
        self.note("cancelled".to_owned());
    }
}

/// The calls back of calls that have not ended, by their session and identifier.
#[derive(Default)]
pub(super) struct Expected {
    calls: Mutex<HashMap<(String, Option<Id>), Callbacks>>,
    count: AtomicUsize,
}

impl Expected {
    fn add(&self, call: &Call) -> Callbacks {
        let callbacks = Callbacks::default();
        let mut calls = self.lock();
        calls.insert(key(call.cx.session(), call.id()), callbacks.clone());
        self.count.store(calls.len(), Ordering::Relaxed);
        callbacks
    }

    /// The calls back of a call that has ended, if it was watched.
    pub(super) fn take(&self, session: &Session, id: Option<&Id>) -> Option<Callbacks> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut calls = self.lock();
        let found = calls.remove(&key(session, id));
        self.count.store(calls.len(), Ordering::Relaxed);
        found
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Option<Id>), Callbacks>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(session: &Session, id: Option<&Id>) -> (String, Option<Id>) {
    (session.id().to_owned(), id.map(Id::detached))
}

/// Notes what methods call at their callers, while the calls are watched.
pub(super) struct CallsBack {
    pub(super) calls: Calls,
    pub(super) inner: Arc<dyn Service>,
}

impl Service for CallsBack {
    fn call(&self, call: &Call) -> ReplyFuture {
        if !self.calls.is_watched() {
            return self.inner.call(call);
        }
        let callbacks = self.calls.expected().add(call);
        let mut call = call.clone();
        call.cx.insert(callbacks.routed.clone());
        let cache = Arc::clone(&callbacks.cache);
        let peer = Peer::new(WatchedPeer { peer: call.cx.peer().clone(), callbacks });
        call.cx = call.cx.with_peer(peer);
        self.inner.call(&call).map(move |reply| {
            if let Some(said) = reply.extra.as_ref().and_then(|extra| extra.metadata.text("cache")) {
                let _ = cache.set(said.to_owned());
            }
            reply
        })
    }
}

/// The caller of a call, and what is called there.
struct WatchedPeer {
    peer: Peer,
    callbacks: Callbacks,
}

impl Service for WatchedPeer {
    fn call(&self, call: &Call) -> ReplyFuture {
        let ending = self.callbacks.begin(call);
        Service::call(&self.peer, call).map(move |reply| {
            ending.end(&reply);
            reply
        })
    }
}

impl Remote for WatchedPeer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let endings: Vec<_> = calls.iter().map(|call| self.callbacks.begin(call)).collect();
        let replies = Remote::batch(&self.peer, calls);
        Box::pin(async move {
            let replies = replies.await;
            endings.into_iter().zip(&replies).for_each(|(ending, reply)| ending.end(reply));
            replies
        })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Remote::closed(&self.peer)
    }

    fn wrapped(&self) -> Option<&Peer> {
        Some(&self.peer)
    }
}

#[cfg(test)]
mod tests {
    use switchboard::{
        Connection, Context, Engine, ErrorObject, Layer as _, Origin, Router, Settings, memory,
    };

    use super::*;

    /// Calls its caller twice, tells it something, and leaves a call unfinished.
    async fn ask((): (), cx: Context) -> Result<(), CallError> {
        let peer = cx.peer();
        peer.call::<String>("name", ()).await?;
        assert!(peer.call::<String>("nothing", ()).await.is_err());
        peer.notify("told", ()).await?;
        let forever = peer.call::<()>("forever", ()).into_future();
        assert!(futures_util::poll!(std::pin::pin!(forever)).is_pending());
        Ok(())
    }

    async fn observed(is_watched: bool) -> Vec<(String, String)> {
        let calls = Calls::default();
        let watch = is_watched.then(|| calls.watch());
        let router = Router::builder().async_method("ask", ask).build().unwrap();
        let settings = Settings::default().with_observer(Some(calls.clone().into()));
        let server = Engine::new(calls.layer(Arc::new(router)), settings);
        let client = Router::builder()
            .method("name", |(): (), _| Ok::<_, ErrorObject>("Ann"))
            .async_method("forever", |(): (), _| std::future::pending::<Result<(), ErrorObject>>())
            .build()
            .unwrap();
        let (near, far) = memory::pair(1 << 16);
        let connection =
            |(source, sink), engine| Connection::new(source, sink, engine, Origin::new("memory")).1;
        tokio::spawn(connection(far, server));
        let client = connection(near, Engine::new(Arc::new(client), Settings::default()));
        let peer = client.owning_peer();
        tokio::spawn(client);
        peer.call::<()>("ask", ()).await.unwrap();
        drop(watch);
        assert_eq!(calls.expected().lock().len(), 0);
        let (past, _) = calls.follow();
        let list = past.first().map(|call| call.callbacks.list()).unwrap_or_default();
        list.into_iter().map(|call| (call.method, call.ended.map(|(_, outcome)| outcome).unwrap())).collect()
    }

    #[tokio::test]
    async fn calls_back_are_remembered_while_somebody_watches() {
        let found = observed(true).await;
        let expected =
            [("name", "ok"), ("nothing", "error -32601"), ("told", "sent"), ("forever", "cancelled")];
        assert_eq!(found, expected.map(|(method, outcome)| (method.to_owned(), outcome.to_owned())));
        assert_eq!(observed(false).await, []);
    }
}
