//! Connections that send and do not read, or read a byte now and then.

use std::io::{Read, Write};
use std::process::{Child, Stdio as Pipe};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::attacks::Attack;
use crate::program;

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// One after the other, as bare JSON.
    Lines,
    WebSocket,
    /// Pipelined requests.
    Http1,
    /// Pipelined requests that do not announce their length.
    Chunked,
    /// As many requests at once as there may be, without a window for their answers.
    Http2,
    /// A request for an event stream.
    Events,
}

/// A connection that takes no more bytes for this long is stuck.
const STUCK: Duration = Duration::from_millis(700);
/// How long a connection attacks at most.
const LONGEST: Duration = Duration::from_secs(4);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Hostile connections.
pub(crate) struct Hostile(JoinSet<Box<dyn Send>>);

impl Hostile {
    pub(crate) fn start(
        url: &str,
        route: Route,
        attack: Attack,
        connections: usize,
        trust: &Arc<ClientConfig>,
    ) -> Hostile {
        let mut running = JoinSet::new();
        for number in 0..connections {
            let (url, trust) = (url.to_owned(), Arc::clone(trust));
            let reads = number % 2 == 1;
            running.spawn(async move {
                let stream = connect(&url, &trust).await;
                match route {
                    Route::Http2 => Box::new(attack_http2(stream, attack).await) as Box<dyn Send>,
                    route => Box::new(attack_stream(stream, route, attack, reads).await),
                }
            });
        }
        Hostile(running)
    }

    /// Waits until no connection gets anything more across. They are open as long as what this gives.
    pub(crate) async fn until_stuck(mut self) -> Vec<Box<dyn Send>> {
        let mut stuck = Vec::new();
        while let Some(connection) = self.0.join_next().await {
            stuck.push(connection.unwrap());
        }
        stuck
    }
}

async fn connect(url: &str, trust: &Arc<ClientConfig>) -> Box<dyn Duplex> {
    if let Some(path) = url.strip_prefix("unix:") {
        return Box::new(UnixStream::connect(path).await.unwrap());
    }
    let (scheme, address) = url.split_once("://").unwrap();
    let tcp = TcpStream::connect(address.trim_end_matches('/')).await.unwrap();
    if !["tls", "wss"].contains(&scheme) {
        return Box::new(tcp);
    }
    let name = ServerName::try_from("127.0.0.1").unwrap();
    Box::new(TlsConnector::from(Arc::clone(trust)).connect(name, tcp).await.unwrap())
}

/// Sends until nothing more is taken. The connection is given back, open.
async fn attack_stream(
    mut stream: Box<dyn Duplex>,
    route: Route,
    attack: Attack,
    reads: bool,
) -> Box<dyn Duplex> {
    if route == Route::WebSocket {
        upgrade(&mut stream).await;
    }
    let end = tokio::time::Instant::now() + LONGEST;
    for number in 0..attack.messages() {
        let message = wrap(route, &attack.message(number));
        let sent = tokio::time::timeout(STUCK, stream.write_all(&message)).await;
        if !matches!(sent, Ok(Ok(()))) || tokio::time::Instant::now() > end {
            break;
        }
        if reads && number % 100 == 0 {
            let _ = tokio::time::timeout(Duration::from_millis(1), stream.read_u8()).await;
        }
    }
    let _ = tokio::time::timeout(STUCK, stream.flush()).await;
    stream
}

async fn upgrade(stream: &mut Box<dyn Duplex>) {
    let request = "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
}

/// A message as it is sent.
fn wrap(route: Route, message: &str) -> Vec<u8> {
    let post = |accept: &str| {
        let length = message.len();
        format!(
            "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: {accept}\r\n\
             content-length: {length}\r\n\r\n{message}"
        )
    };
    match route {
        Route::Lines | Route::Http2 => [message.as_bytes(), b"\n"].concat(),
        Route::Http1 => post("application/json").into_bytes(),
        Route::Chunked => format!(
            "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n{:x}\r\n{message}\r\n0\r\n\r\n",
            message.len()
        )
        .into_bytes(),
        Route::Events => post("text/event-stream").into_bytes(),
        Route::WebSocket => {
            // A mask of zeros leaves the text as it is.
            let length = message.len();
            let head = match (u8::try_from(length), u16::try_from(length)) {
                (Ok(length @ ..126), _) => vec![0x81, 0x80 | length],
                (_, Ok(length)) => [&[0x81, 0xfe][..], &length.to_be_bytes()].concat(),
                _ => [&[0x81, 0xff][..], &(length as u64).to_be_bytes()].concat(),
            };
            [&head[..], &[0; 4], message.as_bytes()].concat()
        }
    }
}

/// Sends a hundred requests, and opens no window for their answers. The connection is given back, open.
async fn attack_http2(stream: Box<dyn Duplex>, attack: Attack) -> impl Send {
    let mut builder = h2::client::Builder::new();
    let (mut sender, connection) =
        builder.initial_window_size(0).handshake::<_, Bytes>(stream).await.unwrap();
    let driver = tokio::spawn(connection);
    let mut responses = Vec::new();
    for number in 0..attack.messages().min(100) {
        let Ok(Ok(ready)) = tokio::time::timeout(STUCK, sender.clone().ready()).await else { break };
        sender = ready;
        let request = http::Request::post("http://127.0.0.1/").header("content-type", "application/json");
        let Ok((response, mut body)) = sender.send_request(request.body(()).unwrap(), false) else { break };
        // What finds no window waits on this side.
        let _ = body.send_data(Bytes::from(attack.message(number)), true);
        responses.push((response, body));
    }
    // The head of an answer comes when the answer is there.
    let end = tokio::time::Instant::now() + LONGEST;
    for (response, _) in &mut responses {
        let _ = tokio::time::timeout_at(end, response).await;
    }
    (sender, driver, responses)
}

/// `switchboard serve --stdio`, whose output nobody reads. Killed when dropped.
pub(crate) struct Stdio(Child);

impl Stdio {
    pub(crate) fn start(buffers: &str) -> Stdio {
        let mut command = program::program(&["serve", "--stdio", "--max-buffers", buffers]);
        let mut child =
            command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null()).spawn().unwrap();
        let mut ask = |text: &[u8]| child.stdin.as_mut().unwrap().write_all(text).unwrap();
        ask(b"{\"jsonrpc\":\"2.0\",\"method\":\"math/add\",\"params\":[2,3],\"id\":1}\n");
        let mut byte = [0];
        while byte != *b"\n" {
            child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        }
        Stdio(child)
    }

    pub(crate) fn peak_memory(&self) -> usize {
        program::memory(self.0.id(), crate::PEAK)
    }

    /// Sends until nothing more is taken, and tells the most memory that was held.
    pub(crate) fn attack(mut self, attack: Attack) -> usize {
        let mut stdin = self.0.stdin.take().unwrap();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            let _done = done;
            // It fails when the program is killed.
            let _ =
                (0..attack.messages()).try_for_each(|number| writeln!(stdin, "{}", attack.message(number)));
        });
        let _ = is_done.recv_timeout(LONGEST);
        self.peak_memory()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
