//! What the tests need: connected peers, a raw end to speak byte by byte, and things to watch handlers with.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use switchboard_core::{
    Connection, ConnectionError, Context, Engine, ErrorObject, FrameSink, FrameSource, Json, Limits, Method,
    Origin, Peer, Router, RouterBuilder, Service, Session, Settings,
};
use switchboard_transport::memory;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Bytes that the pipe between two ends holds.
const CAPACITY: usize = 256;

/// One end of a connection, running as a task.
pub(crate) struct End {
    pub(crate) peer: Peer,
    pub(crate) session: Session,
    pub(crate) task: JoinHandle<Result<(), ConnectionError>>,
}

impl End {
    pub(crate) fn start(
        frames: (memory::MemorySource, memory::MemorySink),
        router: RouterBuilder,
        settings: Settings,
    ) -> End {
        End::serve(frames, Arc::new(router.build().unwrap()), settings)
    }

    pub(crate) fn serve(
        (source, sink): (memory::MemorySource, memory::MemorySink),
        service: Arc<dyn Service>,
        settings: Settings,
    ) -> End {
        let engine = Engine::new(service, settings);
        let (peer, connection) = Connection::new(source, sink, engine, Origin::new("memory"));
        End { peer, session: connection.session().clone(), task: tokio::spawn(connection) }
    }
}

/// Two ends that serve these methods to each other.
pub(crate) fn ends(one: RouterBuilder, other: RouterBuilder, limits: Limits) -> (End, End) {
    let (here, there) = memory::pair(CAPACITY);
    let settings = Settings::default().with_limits(limits);
    (End::start(here, one, settings.clone()), End::start(there, other, settings))
}

/// A client without methods of its own, and the server it talks to.
pub(crate) fn client_of(server: RouterBuilder) -> (Peer, End) {
    let (client, server) = ends(Router::builder(), server, Limits::default());
    (client.peer, server)
}

/// An end that is spoken to in frames.
pub(crate) struct Raw {
    source: memory::MemorySource,
    sink: memory::MemorySink,
}

impl Raw {
    pub(crate) fn against(server: RouterBuilder, settings: Settings) -> (Raw, End) {
        let ((source, sink), there) = memory::pair(CAPACITY);
        (Raw { source, sink }, End::start(there, server, settings))
    }

    pub(crate) async fn send(&mut self, frame: &str) {
        self.try_send(frame).await.unwrap();
    }

    pub(crate) async fn try_send(&mut self, frame: &str) -> Result<(), ConnectionError> {
        self.sink.push(frame.as_bytes());
        poll_fn(|cx| self.sink.poll_flush(cx)).await
    }

    /// Sends nothing more, and still reads.
    pub(crate) async fn finish(&mut self) {
        poll_fn(|cx| self.sink.poll_close(cx)).await.unwrap();
    }

    /// The next frame; `None` when the far side has closed.
    pub(crate) async fn receive(&mut self) -> Option<String> {
        let frame = poll_fn(|cx| self.source.poll_frame(cx)).await?.unwrap();
        Some(String::from_utf8(frame.to_vec()).unwrap())
    }

    pub(crate) async fn expect(&mut self, frame: &str) {
        assert_eq!(self.receive().await.as_deref(), Some(frame));
    }
}

/// Lets handlers wait for the test, and the test for handlers.
#[derive(Clone)]
pub(crate) struct Gate {
    entered: Arc<Semaphore>,
    open: Arc<Semaphore>,
    /// How many are inside: started, and neither finished nor dropped.
    pub(crate) inside: Arc<AtomicUsize>,
    pub(crate) most: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            entered: Arc::new(Semaphore::new(0)),
            open: Arc::new(Semaphore::new(0)),
            inside: Arc::default(),
            most: Arc::default(),
        }
    }

    /// Called by a handler: waits until the test lets it pass.
    pub(crate) async fn pass(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        let leaving = Leaving(Arc::clone(&self.inside));
        self.entered.add_permits(1);
        self.open.acquire().await.unwrap().forget();
        drop(leaving);
    }

    /// Called by the test: waits until one more handler has come to the gate.
    pub(crate) async fn entered(&self) {
        self.entered.acquire().await.unwrap().forget();
    }

    pub(crate) fn let_pass(&self, count: usize) {
        self.open.add_permits(count);
    }

    /// Waits until nobody is inside.
    pub(crate) async fn empty(&self) {
        while self.inside.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// A method that waits at the gate and answers true.
    pub(crate) fn method(&self, name: &str) -> Method {
        let gate = self.clone();
        Method::future(name, move |_: Json, _: Context| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok::<_, ErrorObject>(true)
            }
        })
    }
}

struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A method that answers its params.
pub(crate) fn echo() -> Method {
    Method::sync("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
}
