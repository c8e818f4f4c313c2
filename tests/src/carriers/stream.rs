//! Every framing over a stream of bytes, and the sockets and pipes that carry such streams.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{ConnectionError, FrameSink, FrameSource, Origin, Service, Settings, Versions};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::{self, StreamOptions};
use switchboard_transport::{stdio, tcp, unix};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream, unix::pipe};
use tokio::task::JoinSet;

use super::markers::{self, Messages};
use crate::carrier::{Carrier, Heard, Kind, Line, Time};

/// A stream of bytes with this framing.
#[derive(Debug)]
pub struct Stream {
    /// What carries the bytes.
    pub over: Over,
    /// What tells messages apart.
    pub framing: Framing,
}

/// What carries bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// A buffer inside the process.
    Memory,
    /// A TCP socket.
    Tcp,
    /// A TCP socket with TLS, accepted by a server of ours.
    Tls,
    /// A Unix socket.
    Unix,
    /// Two pipes, as a program has for its standard input and output.
    Stdio,
}

impl Carrier for Stream {
    fn name(&self) -> &'static str {
        match self.over {
            Over::Memory => self.framing.name(),
            Over::Tcp => "tcp",
            Over::Tls => "tls",
            Over::Unix => "unix",
            Over::Stdio => "stdio",
        }
    }

    fn kind(&self) -> Kind {
        Kind::Duplex
    }

    fn time(&self) -> Time {
        if self.over == Over::Memory { Time::Paused } else { Time::Real }
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async move {
            let versions = settings.profile.versions;
            let options = StreamOptions::new(self.framing).with_settings(settings);
            let mut serving = JoinSet::new();
            let pace = if self.over == Over::Memory { Pace::Quiet } else { Pace::Markers(versions) };
            match self.over {
                Over::Memory => {
                    let (here, there) = tokio::io::duplex(1 << 20);
                    let there = tokio::io::split(there);
                    serving.spawn(stream::connection(there, service, Origin::new("memory"), &options));
                    open(tokio::io::split(here), &options, pace, serving)
                }
                Over::Tcp => {
                    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
                    let here = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
                    let (there, _) = listener.accept().await.unwrap();
                    serving.spawn(tcp::connection(there, service, &options).unwrap());
                    open(here.into_split(), &options, pace, serving)
                }
                Over::Tls => {
                    let url = format!("tls://127.0.0.1:0?framing={}", self.framing.name());
                    let settings = Settings::clone(&options.settings);
                    let (server, door) = crate::secure::server(&url, service, settings).await;
                    serving.spawn(async move {
                        server.serve().await;
                        Ok(())
                    });
                    open(tokio::io::split(door.connect().await), &options, pace, serving)
                }
                Over::Unix => {
                    let (here, there) = UnixStream::pair().unwrap();
                    serving.spawn(unix::connection(there, service, &options));
                    open(here.into_split(), &options, pace, serving)
                }
                Over::Stdio => {
                    let (to, stdin) = pipe::pipe().unwrap();
                    let (stdout, from) = pipe::pipe().unwrap();
                    let theirs = options.clone();
                    serving.spawn(async move { stdio::serve_on(stdin, stdout, service, &theirs).await });
                    open((from, to), &options, pace, serving)
                }
            }
        })
    }
}

type Serving = JoinSet<Result<(), ConnectionError>>;

fn open<R, W>(ends: (R, W), options: &StreamOptions, pace: Pace, serving: Serving) -> Box<dyn Line>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (source, sink) = stream::frames(ends.0, ends.1, options);
    Box::new(Open { source, sink, framing: options.framing, pace, _serving: serving })
}

/// How to tell that all is said.
#[derive(Clone, Copy)]
enum Pace {
    /// Time is paused: it passes only when nothing is left to do.
    Quiet,
    /// Markers are answered and bring nothing else, several in a row.
    Markers(Versions),
}

struct Open<R, W> {
    source: stream::StreamSource<R>,
    sink: stream::StreamSink<W>,
    framing: Framing,
    pace: Pace,
    /// Ends the server when the line is dropped.
    _serving: Serving,
}

const QUIET: Duration = Duration::from_millis(1);

impl<R, W> Line for Open<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            if let Some(why) = cannot_carry(self.framing, &message) {
                return Heard::Unable(why);
            }
            if self.write(&message).await.is_none() {
                return Heard::Refused;
            }
            let all = match self.pace {
                Pace::Quiet => self.hear_until_quiet().await,
                Pace::Markers(versions) => markers::hear_all(self, versions).await,
            };
            all.map_or(Heard::Refused, Heard::Messages)
        })
    }
}

impl<R, W> Messages for Open<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn write<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, Option<()>> {
        Box::pin(async move {
            self.sink.push(message);
            poll_fn(|cx| self.sink.poll_flush(cx)).await.ok()
        })
    }

    fn read(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async { poll_fn(|cx| self.source.poll_frame(cx)).await?.ok() })
    }
}

impl<R, W> Open<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    async fn hear_until_quiet(&mut self) -> Option<Vec<Bytes>> {
        let mut messages = Vec::new();
        while let Ok(frame) = tokio::time::timeout(QUIET, self.read()).await {
            messages.push(frame?);
        }
        Some(messages)
    }
}

/// Why a message cannot go over this framing as one message.
fn cannot_carry(framing: Framing, message: &[u8]) -> Option<&'static str> {
    let is_blank = message.trim_ascii().is_empty();
    let has_breaks = message.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    let mut values =
        serde_json::Deserializer::from_slice(message).into_iter::<&serde_json::value::RawValue>();
    let first = values.next().unwrap_or(Err(serde::de::Error::custom("blank")));
    let has_more = values.byte_offset() < message.trim_ascii_end().len();
    let is_structure = matches!(message.trim_ascii_start().first(), Some(b'{' | b'['));
    match framing {
        Framing::Lines | Framing::JsonStream if is_blank => Some("a blank line is no message"),
        Framing::Lines if has_breaks => Some("a line has no line breaks"),
        Framing::JsonStream => match first {
            Ok(_) if is_structure && has_more => Some("what follows is a message of its own"),
            Err(error) if error.is_eof() => Some("what follows belongs to a message that has no end"),
            Err(_) if has_breaks => Some("garbage ends with its line"),
            _ => None,
        },
        _ => None,
    }
}
