//! A server that a client can lose: its connections are cut, and connecting to it can be made to fail.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use switchboard_core::reconnect::{Backoff, ReconnectOptions, ReconnectingPeer};
use switchboard_core::{
    Call, CallError, CloseReason, Connection, ConnectionError, Engine, FrameSink, FrameSource, Origin, Peer,
    Remote, Reply, ReplyFuture, Router, RouterBuilder, Service, Session, Settings, service_fn,
};
use switchboard_transport::memory;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// What a client dials.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    router: Arc<dyn Service>,
    cuts: Mutex<Vec<Cut>>,
    sessions: Mutex<Vec<Session>>,
    refuse: Mutex<Option<CallError>>,
    is_broken: AtomicBool,
    dialled: AtomicUsize,
    dials: mpsc::UnboundedSender<tokio::time::Instant>,
}

impl Server {
    /// A server, and the moments at which it is dialled.
    pub(crate) fn new(router: RouterBuilder) -> (Server, mpsc::UnboundedReceiver<tokio::time::Instant>) {
        let (dials, moments) = mpsc::unbounded_channel();
        let router = Arc::new(router.build().unwrap());
        let (cuts, sessions, refuse) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (is_broken, dialled) = (AtomicBool::new(false), AtomicUsize::new(0));
        (Server(Arc::new(Inner { router, cuts, sessions, refuse, is_broken, dialled, dials })), moments)
    }

    /// A client of it.
    pub(crate) fn client(&self, options: ReconnectOptions) -> ReconnectingPeer {
        let server = self.clone();
        ReconnectingPeer::with_options(move || std::future::ready(server.dial()), options)
    }

    /// A client of it as over HTTP: each call finds out by itself whether the server is there.
    pub(crate) fn client_without_connections(&self, options: ReconnectOptions) -> ReconnectingPeer {
        let server = self.clone();
        let connect = move || {
            let server = server.clone();
            let send = service_fn(move |call| match server.dial() {
                Ok(peer) => {
                    let reply = Service::call(&peer, call);
                    ReplyFuture::pending(async move {
                        let reply = reply.await;
                        drop(peer);
                        reply
                    })
                }
                Err(error) => ReplyFuture::pending(async move { Reply::error(error.into()) }),
            });
            std::future::ready(Ok::<_, CallError>(Peer::local(send)))
        };
        ReconnectingPeer::with_options(connect, options)
    }

    pub(crate) fn dial(&self) -> Result<Peer, CallError> {
        let inner = &self.0;
        inner.dialled.fetch_add(1, Ordering::SeqCst);
        // Nobody may listen.
        let _ = inner.dials.send(tokio::time::Instant::now());
        if let Some(error) = inner.refuse.lock().unwrap().clone() {
            return Err(error);
        }
        let cut = Cut::default();
        let ((here, here_sink), (there, there_sink)) = memory::pair(1 << 16);
        let (_, connection) = Connection::new(
            Cuttable(there, cut.clone()),
            Cuttable(there_sink, cut.clone()),
            Engine::new(inner.router.clone(), Settings::default()),
            Origin::new("memory"),
        );
        inner.sessions.lock().unwrap().push(connection.session().clone());
        tokio::spawn(connection);
        let nothing = Arc::new(Router::builder().build().unwrap());
        let (peer, connection) = Connection::new(
            Cuttable(here, cut.clone()),
            Cuttable(here_sink, cut.clone()),
            Engine::new(nothing, Settings::default()),
            Origin::new("memory"),
        );
        let task = tokio::spawn(connection).abort_handle();
        if inner.is_broken.swap(false, Ordering::SeqCst) {
            cut.now();
        }
        inner.cuts.lock().unwrap().push(cut);
        Ok(Peer::new(Owned { peer, task }))
    }

    /// Cuts all connections there are.
    pub(crate) fn cut(&self) {
        for cut in self.0.cuts.lock().unwrap().drain(..) {
            cut.now();
        }
    }

    /// Cuts the next connection as soon as it is there.
    pub(crate) fn break_at_once(&self) {
        self.0.is_broken.store(true, Ordering::SeqCst);
    }

    /// Ends all connections there are in good order.
    pub(crate) fn drain(&self) {
        for session in self.0.sessions.lock().unwrap().drain(..) {
            session.close(CloseReason::shutting_down());
        }
    }

    /// Makes attempts to connect fail, or not any more.
    pub(crate) fn refuse(&self, error: Option<CallError>) {
        *self.0.refuse.lock().unwrap() = error;
    }

    pub(crate) fn dialled(&self) -> usize {
        self.0.dialled.load(Ordering::SeqCst)
    }
}

/// A failure that may heal.
pub(crate) fn nobody_listens() -> Option<CallError> {
    Some(CallError::Unreachable("nobody listens".into()))
}

/// Options with which a client reconnects at once.
pub(crate) fn at_once() -> ReconnectOptions {
    let backoff = Backoff::default().with_first(std::time::Duration::from_millis(1)).with_seed(Some(1));
    ReconnectOptions::default().with_backoff(backoff)
}

/// A peer whose connection ends when it is dropped.
struct Owned {
    peer: Peer,
    task: AbortHandle,
}

impl Service for Owned {
    fn call(&self, call: &Call) -> ReplyFuture {
        Service::call(&self.peer, call)
    }
}

impl Remote for Owned {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        Remote::batch(&self.peer, calls)
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Remote::closed(&self.peer)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Cuts a connection in both directions at once: what is on its way is lost.
#[derive(Clone, Default)]
struct Cut(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Cut {
    fn now(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        state.1.drain(..).for_each(Waker::wake);
    }

    fn check(&self, cx: &mut Context<'_>) -> Result<(), ConnectionError> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into());
        }
        if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.1.push(cx.waker().clone());
        }
        Ok(())
    }
}

struct Cuttable<T>(T, Cut);

impl FrameSource for Cuttable<memory::MemorySource> {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        match self.1.check(cx) {
            Ok(()) => self.0.poll_frame(cx),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}

impl FrameSink for Cuttable<memory::MemorySink> {
    fn push(&mut self, frame: &[u8]) {
        self.0.push(frame);
    }

    fn queued(&self) -> usize {
        self.0.queued()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.1.check(cx)?;
        self.0.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        self.1.check(cx)?;
        self.0.poll_close(cx)
    }
}
