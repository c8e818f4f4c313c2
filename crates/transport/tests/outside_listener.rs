//! A transport that is written outside of the crate: the server counts its connections, refuses them, bounds their memory and
//! drains them like its own.
#![cfg(feature = "stream")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use switchboard_core::{CallError, Code, ErrorObject, Limits, Origin, Peer, Router, Settings};
use switchboard_transport::carrier::{Carrier, Carriers, ConnectSetup, ListenSetup, Url};
use switchboard_transport::framing::Framing;
use switchboard_transport::server::{
    Accepted, BoxFuture, ConnectionPermit, Handle, ListenError, Listener, Server, ServerOptions, Shutdown,
};
use switchboard_transport::{Dial, DialError, running, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// `pipe:NAME` URLs: streams inside the process. Clones share their names.
#[derive(Clone, Default)]
struct Pipes(Arc<Mutex<HashMap<String, mpsc::Sender<DuplexStream>>>>);

impl Pipes {
    async fn open(&self, name: &str) -> Option<DuplexStream> {
        let sender = self.0.lock().unwrap().get(name)?.clone();
        let (here, there) = tokio::io::duplex(64 << 10);
        sender.send(there).await.ok()?;
        Some(here)
    }
}

impl Carrier for Pipes {
    fn schemes(&self) -> &'static [&'static str] {
        &["pipe"]
    }

    fn listen(&self, url: Url, _: ListenSetup) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        let (sender, streams) = mpsc::channel(8);
        self.0.lock().unwrap().insert(url.text().unwrap().to_owned(), sender);
        let listener = PipeListener { url, streams: Mutex::new(streams) };
        Box::pin(async move { Ok(Box::new(listener) as Box<dyn Listener>) })
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        let pipes = self.clone();
        Box::pin(async move {
            let name = url.text().unwrap();
            let nothing = || DialError::Unreachable(format!("nothing is listening on {name}"));
            let stream = pipes.open(name).await.ok_or_else(nothing)?;
            let options = setup.stream_options(Framing::Lines);
            let halves = tokio::io::split(stream);
            Ok(running::run(stream::connection(halves, setup.service, Origin::new("pipe"), &options)))
        })
    }
}

struct PipeListener {
    url: Url,
    streams: Mutex<mpsc::Receiver<DuplexStream>>,
}

impl Listener for PipeListener {
    fn url(&self) -> String {
        self.url.to_string()
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        match ready!(self.streams.lock().unwrap().poll_recv(cx)) {
            Some(stream) => Poll::Ready(Ok(Box::new(Pipe(stream)))),
            None => Poll::Pending,
        }
    }
}

struct Pipe(DuplexStream);

impl Accepted for Pipe {
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        let options = stream::StreamOptions::new(Framing::Lines).within(&permit);
        let (halves, service) = (tokio::io::split(self.0), Arc::clone(permit.service()));
        let connection = stream::connection(halves, service, Origin::new("pipe"), &options);
        Box::pin(async move { permit.run(connection).await })
    }

    fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        stream::refuse(self.0, error, Framing::Lines, shutdown)
    }
}

struct Running {
    pipes: Pipes,
    handle: Handle,
    task: JoinHandle<()>,
    /// Tells of each `hold` that has begun, and ends it.
    held: mpsc::Receiver<oneshot::Sender<()>>,
}

async fn start(options: ServerOptions, drain_time: Duration) -> Running {
    let (holds, held) = mpsc::channel(8);
    let router = Router::builder()
        .method("length", |(text,): (String,), cx: switchboard_core::Context| {
            Ok::<_, ErrorObject>((text.len(), cx.origin().transport))
        })
        .async_method("hold", move |(): (), _| {
            let holds = holds.clone();
            async move {
                let (end, ended) = oneshot::channel();
                holds.send(end).await.unwrap();
                let _ = ended.await;
                Ok::<_, ErrorObject>("done")
            }
        })
        .build()
        .unwrap();
    let pipes = Pipes::default();
    let limits = Limits::default().with_drain_time(drain_time);
    let mut server = Server::new(router)
        .with_carrier(pipes.clone())
        .with_options(options)
        .with_settings(Settings::default().with_limits(limits));
    server.listen("pipe:here").await.unwrap();
    assert_eq!(server.urls().collect::<Vec<_>>(), ["pipe:here"]);
    let handle = server.handle();
    Running { pipes, handle, task: tokio::spawn(server.serve()), held }
}

impl Running {
    async fn connect(&self) -> Peer {
        let carriers = Carriers::of_this_build().with(self.pipes.clone());
        Dial::with_carriers("pipe:here", &carriers).unwrap().connect().await.unwrap()
    }

    async fn stop(self) {
        self.handle.shutdown();
        self.task.await.unwrap();
    }
}

const LONG: Duration = Duration::from_secs(10);

#[tokio::test]
async fn calls_are_answered_over_it() {
    let server = start(ServerOptions::default(), LONG).await;
    let peer = server.connect().await;
    assert_eq!(peer.call::<(usize, String)>("length", ["abc"]).await.unwrap(), (3, "pipe".to_owned()));
    server.stop().await;
}

#[tokio::test]
async fn its_connections_are_counted_and_one_too_many_is_refused_with_an_error() {
    let options = ServerOptions::default().with_connections(1);
    let server = start(options, LONG).await;
    let first = server.connect().await;
    assert_eq!(first.call::<(usize, String)>("length", ["abc"]).await.unwrap().0, 3);
    let mut second = server.pipes.open("here").await.unwrap();
    let mut refusal = String::new();
    second.read_to_string(&mut refusal).await.unwrap();
    assert!(refusal.contains("-32005") && refusal.contains("too many connections"), "{refusal}");
    drop(second);
    // The end of the first connection frees its slot.
    drop(first);
    loop {
        let mut next = server.pipes.open("here").await.unwrap();
        next.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"length\",\"params\":[\"\"],\"id\":1}\n")
            .await
            .unwrap();
        next.shutdown().await.unwrap();
        let mut answer = String::new();
        next.read_to_string(&mut answer).await.unwrap();
        if answer.contains("\"result\":[0,") {
            break;
        }
        assert!(answer.contains("too many connections"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn shutting_down_waits_for_its_calls_and_accepts_no_more() {
    let mut server = start(ServerOptions::default(), LONG).await;
    let peer = server.connect().await;
    let call = tokio::spawn(peer.call::<String>("hold", ()).into_future());
    let end = server.held.recv().await.unwrap();
    server.handle.shutdown();
    // The connection is draining when it refuses a call.
    loop {
        match peer.call::<(usize, String)>("length", ["abc"]).await {
            Ok(_) => {}
            Err(CallError::Rejected(error)) if error.code == Code::SHUTTING_DOWN => break,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(!server.task.is_finished());
    end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), "done");
    server.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_longer_than_the_drain_time_is_cancelled() {
    let mut server = start(ServerOptions::default(), Duration::from_secs(2)).await;
    let peer = server.connect().await;
    let call = tokio::spawn(peer.call::<String>("hold", ()).into_future());
    let mut end = server.held.recv().await.unwrap();
    server.stop().await;
    end.closed().await;
    assert!(call.await.unwrap().is_err());
}

#[tokio::test]
async fn its_long_messages_count_against_the_budget_of_the_server() {
    let options = ServerOptions::default().with_buffers(200 << 10);
    let server = start(options, LONG).await;
    let length = async |text: String| {
        let peer = server.connect().await;
        peer.call::<(usize, String)>("length", [text]).await.map(|(length, _)| length)
    };
    let mut unfinished = server.pipes.open("here").await.unwrap();
    // All but 64 KiB of it have been read when this returns.
    unfinished.write_all(format!("[\"{}", "x".repeat(250 << 10)).as_bytes()).await.unwrap();
    assert_eq!(length("x".repeat(60 << 10)).await.unwrap(), 60 << 10, "short messages are not counted");
    let refused = length("x".repeat(150 << 10)).await;
    assert!(refused.is_err(), "{refused:?}");
    drop(unfinished);
    while length("x".repeat(150 << 10)).await.is_err() {}
    server.stop().await;
}
