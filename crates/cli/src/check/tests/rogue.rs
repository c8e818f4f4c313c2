//! A server that does what a test says, over every transport; the correct answer is at hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use switchboard::framing::{FrameDecoder, Framing};
use switchboard::internals::ws::{self, Decoded, Role};
use switchboard::{Context, Engine, Origin, Router, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::demo;

/// What a server does about a message.
pub(super) enum Reaction {
    /// It answers this.
    Answer(Vec<u8>),
    /// It answers this, and again.
    Twice(Vec<u8>),
    /// It answers with this HTTP status, without JSON.
    Status(u16),
    /// It says nothing.
    Nothing,
    /// It closes the connection.
    Close,
    /// It closes every connection from now on.
    Die,
}

type Act = Arc<dyn Fn(&[u8], Option<Bytes>) -> Reaction + Send + Sync>;

/// A server that runs until it is dropped.
pub(super) struct Rogue {
    pub(super) url: String,
    task: JoinHandle<()>,
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Rogue {
    /// A server that does this, given a message and the right answer to it. The carrier is `http`, `ws` or a framing.
    pub(super) async fn start(
        carrier: &'static str,
        act: impl Fn(&[u8], Option<Bytes>) -> Reaction + Send + Sync + 'static,
    ) -> Rogue {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = match carrier {
            "http" | "ws" => format!("{carrier}://{address}"),
            framing => format!("tcp://{address}?framing={framing}"),
        };
        let act: Act = Arc::new(act);
        let is_dead = Arc::new(AtomicBool::new(false));
        let router = Arc::new(demo::router().unwrap());
        let task = tokio::spawn(async move {
            let mut guests = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // It writes answers one by one, and none is to wait for the other to be taken notice of.
                stream.set_nodelay(true).unwrap();
                if is_dead.load(Ordering::Relaxed) {
                    continue;
                }
                let (act, router, is_dead) = (Arc::clone(&act), Arc::clone(&router), Arc::clone(&is_dead));
                guests.spawn(async move {
                    let guest = Guest { stream, act, router, is_dead };
                    match carrier {
                        "http" => guest.http().await,
                        "ws" => guest.web_socket().await,
                        framing => guest.frames(framing.parse().unwrap()).await,
                    }
                });
            }
        });
        Rogue { url, task }
    }
}

/// Whether the identifier is one of the valid calls behind cases.
pub(super) fn has_high_id(message: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(message).ok();
    value.is_some_and(|value| value["id"].as_u64().is_some_and(|id| (7_000_000..8_000_000).contains(&id)))
}

/// One connection. Each way to serve it ends when it does.
struct Guest {
    stream: TcpStream,
    act: Act,
    router: Arc<Router>,
    is_dead: Arc<AtomicBool>,
}

impl Guest {
    async fn react(&self, message: &[u8]) -> Reaction {
        let cx = Context::new(Origin::new("test"));
        let engine = Engine::new(self.router.clone(), Settings::default());
        let answer = engine.exchange(Bytes::copy_from_slice(message), &cx).await;
        let reaction = (self.act)(message, answer.into_body());
        if matches!(reaction, Reaction::Die) {
            self.is_dead.store(true, Ordering::Relaxed);
        }
        reaction
    }

    async fn frames(mut self, framing: Framing) {
        let mut decoder = FrameDecoder::new(framing, 16 << 20);
        let mut chunk = BytesMut::new();
        while let Ok(1..) = self.stream.read_buf(&mut chunk).await {
            decoder.feed(&chunk.split());
            while let Ok(Some(message)) = decoder.next_frame() {
                let mut out = Vec::new();
                match self.react(&message).await {
                    Reaction::Answer(answer) => framing.encode(&answer, &mut out),
                    Reaction::Twice(answer) => {
                        framing.encode(&answer, &mut out);
                        framing.encode(&answer, &mut out);
                    }
                    Reaction::Nothing => {}
                    _ => return,
                }
                if self.stream.write_all(&out).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn web_socket(mut self) {
        let mut buffer = BytesMut::new();
        if self.head(&mut buffer).await.is_none() {
            return;
        }
        // Its clients all have the same key.
        let yes = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Accept: 9BxMBvfsfiOnpE0LJjufQdGKURs=\r\n\r\n";
        let _ = self.stream.write_all(yes.as_bytes()).await;
        let mut decoder = ws::MessageDecoder::new(Role::Server, 16 << 20);
        loop {
            let message = match decoder.next(&mut buffer) {
                Ok(Decoded::Message(_, message)) => message,
                Ok(Decoded::More(_)) => match self.stream.read_buf(&mut buffer).await {
                    Ok(1..) => continue,
                    _ => return,
                },
                Ok(_) => continue,
                // It takes what is no frame for a message, and answers.
                Err(_) => buffer.split().freeze(),
            };
            let answer = match self.react(&message).await {
                Reaction::Answer(answer) => answer,
                Reaction::Nothing => continue,
                _ => return,
            };
            let length = u16::try_from(answer.len()).unwrap();
            let mut frame = vec![0x81];
            match length {
                0..=125 => frame.push(answer.len() as u8),
                _ => frame.extend([&[126][..], &length.to_be_bytes()].concat()),
            }
            frame.extend(answer);
            if self.stream.write_all(&frame).await.is_err() {
                return;
            }
        }
    }

    async fn http(mut self) {
        let mut buffer = BytesMut::new();
        let Some(head) = self.head(&mut buffer).await else { return };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
        while buffer.len() < length.unwrap_or(0) {
            if !matches!(self.stream.read_buf(&mut buffer).await, Ok(1..)) {
                return;
            }
        }
        let (status, body) = match self.react(&buffer).await {
            Reaction::Answer(answer) | Reaction::Twice(answer) => (200, answer),
            Reaction::Status(status) => (status, b"this went wrong".to_vec()),
            Reaction::Nothing => (204, Vec::new()),
            Reaction::Close | Reaction::Die => return,
        };
        let length = match status {
            204 => String::new(),
            200 => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
            _ => format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len()),
        };
        let head = format!("HTTP/1.1 {status} X\r\n{length}Connection: close\r\n\r\n");
        let _ = self.stream.write_all(&[head.as_bytes(), &body].concat()).await;
        let _ = self.stream.shutdown().await;
    }

    /// Reads up to the blank line.
    async fn head(&mut self, buffer: &mut BytesMut) -> Option<String> {
        loop {
            if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                return Some(String::from_utf8_lossy(&buffer.split_to(end + 4)).into_owned());
            }
            if !matches!(self.stream.read_buf(buffer).await, Ok(1..)) {
                return None;
            }
        }
    }
}
