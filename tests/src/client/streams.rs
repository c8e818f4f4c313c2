//! Clients of connections: over sockets of every kind, pipes of a child, and WebSocket.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{CallError, ErrorObject, FrameSink, FrameSource, Json, Peer, Router};
use switchboard_transport::child::{self, Command};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::{self, StreamOptions};
use switchboard_transport::tls::{ClientFiles, ClientTls, Trust};
use switchboard_transport::{Dial, ws};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;

use super::{Client, Verdict, with_id_of};
use crate::carrier::Time;
use crate::secure;

/// A client of a connection, whose server says what it is told to.
pub(super) enum Connecting {
    /// Over a TCP socket.
    Tcp,
    /// Over a TCP socket with TLS.
    Tls,
    /// Over a Unix socket.
    Unix,
    /// Over the pipes of a child.
    Child,
    /// Over a WebSocket.
    Ws,
}

/// What the server calls after its reply: it is heard after whatever the client makes of that.
const MARKER: &str = r#"{"jsonrpc":"2.0","id":"marker","method":"marker"}"#;

impl Client for Connecting {
    fn name(&self) -> &'static str {
        match self {
            Connecting::Tcp => "tcp",
            Connecting::Tls => "tls",
            Connecting::Unix => "unix",
            Connecting::Child => "child",
            Connecting::Ws => "ws",
        }
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        match self {
            Connecting::Tcp => Box::pin(over_tcp(reply)),
            Connecting::Tls => Box::pin(over_tls(reply)),
            Connecting::Unix => Box::pin(over_unix(reply)),
            Connecting::Child => Box::pin(over_pipes(reply)),
            Connecting::Ws => Box::pin(over_websocket(reply)),
        }
    }
}

async fn over_tcp(reply: Bytes) -> Verdict {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let accepting = async { answering(tokio::io::split(listener.accept().await.unwrap().0)) };
    meet(accepting, &url, reply).await
}

async fn over_tls(reply: Bytes) -> Verdict {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let url = format!("tls://{}", listener.local_addr().unwrap());
    let acceptor = secure::acceptor();
    let accepting = async {
        let (tcp, _) = listener.accept().await.unwrap();
        answering(tokio::io::split(acceptor.accept(tcp).await.expect("the client greets")))
    };
    meet(accepting, &url, reply).await
}

async fn over_unix(reply: Bytes) -> Verdict {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("switchboard-client-{}-{count}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).expect("there is room for a socket");
    let accepting = async { answering(tokio::io::split(listener.accept().await.unwrap().0)) };
    let verdict = meet(accepting, &format!("unix:{}", path.display()), reply).await;
    std::fs::remove_file(path).unwrap();
    verdict
}

async fn over_websocket(reply: Bytes) -> Verdict {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let accepting = async {
        let (tcp, _) = listener.accept().await.expect("the client connects");
        let options = ws::WebSocketOptions::default();
        let accepted = ws::accept(tcp, 1 << 20, Duration::from_secs(10), &options, |_| true).await;
        let (source, mut sink, ending) = accepted.expect("the handshake is in order");
        poll_fn(|cx| sink.poll_flush(cx)).await.unwrap();
        (source, sink, ending)
    };
    let (marked, dial) = dial(&url);
    let ((mut source, mut sink, _ending), peer) = tokio::join!(accepting, dial.connect());
    let call = call(peer.expect("the server accepts"), marked);
    tokio::join!(answer(&mut source, &mut sink, &reply), call).1
}

/// A child needs no telling which identifier was chosen: on a new connection it is 1.
async fn over_pipes(reply: Bytes) -> Verdict {
    const SCRIPT: &str = r#"read -r line; printf '%s\n%s\n' "$1" "$2"; cat > /dev/null"#;
    let reply = String::from_utf8(reply.to_vec()).unwrap();
    assert!(!reply.contains('\n'), "a line has no line breaks");
    let command = Command::new("/bin/sh").args(["-c", SCRIPT, "sh", &reply, MARKER]);
    let (marked, service) = marking();
    let options = StreamOptions::new(Framing::Lines);
    let peer = child::connect(&command, std::sync::Arc::new(service), &options).await.unwrap();
    call(peer, marked).await
}

/// A service that tells when the marker comes.
fn marking() -> (mpsc::UnboundedReceiver<()>, Router) {
    let (mark, marked) = mpsc::unbounded_channel();
    let router = Router::builder().method("marker", move |_: Json, _| {
        // Whoever has heard enough is gone.
        let _ = mark.send(());
        Ok::<_, ErrorObject>(())
    });
    (marked, router.build().expect("one name"))
}

fn dial(url: &str) -> (mpsc::UnboundedReceiver<()>, Dial) {
    let (marked, service) = marking();
    let tls = ClientTls::load(&ClientFiles::default().with_trust(Trust::Anybody)).unwrap();
    (marked, Dial::new(url).unwrap().with_service(service).with_tls(tls))
}

type Frames<S> = (stream::StreamSource<tokio::io::ReadHalf<S>>, stream::StreamSink<tokio::io::WriteHalf<S>>);

fn answering<S>((reader, writer): (tokio::io::ReadHalf<S>, tokio::io::WriteHalf<S>)) -> Frames<S>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    stream::frames(reader, writer, &StreamOptions::default())
}

/// Connects a client with the server that is accepting, and lets it call.
async fn meet<A, B>(accepting: impl Future<Output = (A, B)>, url: &str, reply: Bytes) -> Verdict
where
    A: FrameSource,
    B: FrameSink,
{
    let (marked, dial) = dial(url);
    let ((mut source, mut sink), peer) = tokio::join!(accepting, dial.connect());
    let call = call(peer.expect("the server accepts"), marked);
    tokio::join!(answer(&mut source, &mut sink, &reply), call).1
}

/// The server's part: it hears a call and says what it is told to. The ends stay open as long as they are held.
async fn answer(source: &mut impl FrameSource, sink: &mut impl FrameSink, reply: &Bytes) {
    let request = poll_fn(|cx| source.poll_frame(cx)).await.expect("the call is sent").unwrap();
    sink.push(&with_id_of(&request, reply));
    sink.push(MARKER.as_bytes());
    poll_fn(|cx| sink.poll_flush(cx)).await.unwrap();
}

/// The client's part.
async fn call(peer: Peer, mut marked: mpsc::UnboundedReceiver<()>) -> Verdict {
    let mut call = tokio::spawn(async move { peer.call::<Json>("ask", ()).await });
    let outcome = tokio::select! {
        biased;
        outcome = &mut call => outcome,
        Some(()) = marked.recv() => {
            // What the reply did is done; whoever waited for it may still have to be polled.
            tokio::task::yield_now().await;
            if !call.is_finished() {
                call.abort();
                return Verdict::Ignored;
            }
            call.await
        }
    };
    match outcome.expect("the call does not panic") {
        Ok(json) => Verdict::Accepted(json),
        Err(CallError::Rejected(error)) => Verdict::Failed(error),
        Err(_) => Verdict::Closed,
    }
}
