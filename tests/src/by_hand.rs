//! A client that sends and reads as a test tells it to, over every carrier that goes both ways.
//!
//! Nothing is read unless the test asks for it, and nothing is sent but what it says.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard_core::{Limits, Service, Settings};
use switchboard_transport::framing::{self, Framing};
use switchboard_transport::http;
use switchboard_transport::internals::ws::{Decoded, MessageDecoder};
use switchboard_transport::stream::StreamOptions;
use switchboard_transport::{stdio, ws};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::duplex::{Duplex, equals, socket_path};
use crate::{secure, socket};

/// How long the server waits for a client that takes nothing: long enough for one that is slow, and not for a test to wait for.
pub const SEND_TIME: Duration = Duration::from_secs(5);

/// A client, and what its server lasts for.
pub struct ByHand {
    /// What it sends by.
    pub sending: Sending,
    /// What it reads by.
    pub receiving: Receiving,
    /// The server's URL, if others can connect to it.
    pub url: Option<String>,
    _serving: Serving,
}

/// The way to the server.
pub struct Sending {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    framing: Option<Framing>,
}

/// The way from the server.
pub struct Receiving {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
}

enum Decoder {
    WebSocket(MessageDecoder, BytesMut),
    Stream(framing::FrameDecoder),
}

/// A server in this process, or a child.
struct Serving {
    _tasks: JoinSet<()>,
    child: Option<std::process::Child>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Duplex {
    /// A server of [`equals`] with room for one call and this outbox, and a client by hand.
    ///
    /// # Panics
    ///
    /// When the system has no room for it.
    pub async fn by_hand(self, outbox: usize) -> ByHand {
        let service: Arc<dyn Service> = Arc::new(equals());
        let limits = Limits::default().with_in_flight(1).with_outbox(outbox).with_send_time(SEND_TIME);
        let settings = Settings::default().with_limits(limits);
        match self {
            Duplex::Url(url) => at_url(url, service, settings).await,
            Duplex::Unix => {
                let path = socket_path();
                let (url, serving) = serve(&format!("unix:{}", path.display()), service, settings).await;
                let ends = UnixStream::connect(path).await.unwrap().into_split();
                stream(ends, Framing::default(), Some(url.0), serving)
            }
            Duplex::Stdio => {
                let (to, stdin) = pipe::pipe().unwrap();
                let (stdout, from) = pipe::pipe().unwrap();
                let options = StreamOptions::new(Framing::Lines).with_settings(settings);
                let mut tasks = JoinSet::new();
                // How it ends is seen by the client.
                tasks.spawn(async move { drop(stdio::serve_on(stdin, stdout, service, &options).await) });
                stream((from, to), Framing::Lines, None, Serving { _tasks: tasks, child: None })
            }
            Duplex::Child(program) => {
                let mut command = Command::new(program);
                command.arg(outbox.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
                let mut child = command.stderr(Stdio::null()).spawn().unwrap();
                let stdin = OwnedFd::from(child.stdin.take().expect("it is a pipe"));
                let stdout = OwnedFd::from(child.stdout.take().expect("it is a pipe"));
                let to = pipe::Sender::from_owned_fd(stdin).unwrap();
                let from = pipe::Receiver::from_owned_fd(stdout).unwrap();
                let serving = Serving { _tasks: JoinSet::new(), child: Some(child) };
                stream((from, to), Framing::Lines, None, serving)
            }
        }
    }
}

/// A server's URL, and how a client trusts it.
type Door = (String, Arc<rustls::ClientConfig>);

async fn serve(url: &str, service: Arc<dyn Service>, settings: Settings) -> (Door, Serving) {
    let (server, config) = secure::server_at(url, service, settings).await;
    // A client by hand does not say farewell.
    let websocket = ws::WebSocketOptions::default().with_close_time(Duration::from_millis(100));
    let server = server.with_http(http::EndpointOptions::default().with_websocket(Some(websocket)));
    let url = server.urls().next().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve());
    ((url, config), Serving { _tasks: tasks, child: None })
}

async fn at_url(url: &str, service: Arc<dyn Service>, settings: Settings) -> ByHand {
    let ((url, config), serving) = serve(url, service, settings).await;
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, _) = rest.split_once(['/', '?']).unwrap_or((rest, ""));
    let address: std::net::SocketAddr = host.parse().unwrap();
    let framing = url.split_once("framing=").map_or(Framing::default(), |(_, name)| name.parse().unwrap());
    let tcp = TcpStream::connect(address).await.unwrap();
    tcp.set_nodelay(true).unwrap();
    let mut end: Box<dyn Bytewise> = if matches!(scheme, "wss" | "tls") {
        let name = rustls::pki_types::ServerName::from(address.ip());
        Box::new(TlsConnector::from(config).connect(name, tcp).await.unwrap())
    } else {
        Box::new(tcp)
    };
    if matches!(scheme, "ws" | "wss") {
        let unread = socket::upgrade(&mut end, host, "/rpc/ws", b"").await;
        let (reader, writer) = tokio::io::split(end);
        let decoder = Decoder::WebSocket(socket::decoder(), unread);
        let receiving = Receiving { reader: Box::new(reader), decoder };
        let sending = Sending { writer: Box::new(writer), framing: None };
        return ByHand { sending, receiving, url: Some(url), _serving: serving };
    }
    stream(tokio::io::split(end), framing, Some(url), serving)
}

/// Bytes both ways.
trait Bytewise: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytewise for T {}

fn stream<R, W>((reader, writer): (R, W), framing: Framing, url: Option<String>, serving: Serving) -> ByHand
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let decoder = Decoder::Stream(framing::FrameDecoder::new(framing, 64 << 20));
    let receiving = Receiving { reader: Box::new(reader), decoder };
    let sending = Sending { writer: Box::new(writer), framing: Some(framing) };
    ByHand { sending, receiving, url, _serving: serving }
}

impl Sending {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// When the server takes no more.
    pub async fn send(&mut self, message: &str) -> io::Result<()> {
        let mut bytes = Vec::new();
        match self.framing {
            Some(framing) => framing.encode(message.as_bytes(), &mut bytes),
            None => bytes = socket::frame(0x81, message.as_bytes()),
        }
        self.writer.write_all(&bytes).await?;
        self.writer.flush().await
    }
}

impl Receiving {
    /// The next message; none if the connection ended.
    ///
    /// # Panics
    ///
    /// When the server breaks the protocol.
    pub async fn receive(&mut self) -> Option<Bytes> {
        loop {
            let message = match &mut self.decoder {
                Decoder::Stream(decoder) => decoder.next_frame().expect("the server keeps to the framing"),
                Decoder::WebSocket(decoder, unread) => match decoder.next(unread).expect("it keeps to it") {
                    Decoded::Message(_, message) => Some(message),
                    Decoded::Close(_) => return None,
                    Decoded::More(_) => None,
                    _ => continue,
                },
            };
            if message.is_some() {
                return message;
            }
            let mut chunk = [0; 4 << 10];
            let count @ 1.. = self.reader.read(&mut chunk).await.ok()? else { return None };
            match &mut self.decoder {
                Decoder::Stream(decoder) => decoder.feed(&chunk[..count]),
                Decoder::WebSocket(_, unread) => unread.extend_from_slice(&chunk[..count]),
            }
        }
    }
}
