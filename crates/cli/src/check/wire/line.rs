//! Messages over a connection that stays open: a stream of bytes with its framing, or a WebSocket.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use switchboard::framing::{FrameDecoder, Framing};
use switchboard::{Direction, Raw, Tap, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::websocket::Frames;
use super::{Carrier, Deaths, Endpoint, Noise, websocket};
use crate::check::shown;

/// How long to wait for the end of a program after the end of its output.
const LINGER: Duration = Duration::from_millis(500);

/// An open connection.
#[derive(Debug)]
pub(crate) struct Line {
    raw: Raw,
    form: Form,
    is_ended: bool,
    is_heard: bool,
    /// Whether the server knows that no more input follows.
    is_finished: bool,
    tap: Option<Tap>,
    deaths: Deaths,
    noise: Option<Noise>,
}

#[derive(Debug)]
enum Form {
    Stream(Framing, FrameDecoder),
    WebSocket(Frames),
}

/// What was received.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message.
    Message(Bytes),
    /// The answer to a ping.
    Pong,
    /// The connection was closed, or its framing can no longer be read. Over WebSocket with the code of the close frame.
    Closed(Option<u16>),
}

impl Line {
    /// Connects.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Line, String> {
        let raw = endpoint.open().await.map_err(|error| error.to_string())?;
        let tap = endpoint.tap.clone();
        if let Some(tap) = &tap {
            tap.show(Direction::Sent, Wire::Carrier("a new connection"));
        }
        let (raw, form) = match endpoint.carrier() {
            Carrier::Stream(framing) => {
                (raw, Form::Stream(framing, FrameDecoder::new(framing, endpoint.limit)))
            }
            Carrier::WebSocket => {
                let (raw, rest) = websocket::shake_hands(raw, endpoint).await?;
                (raw, Form::WebSocket(Frames::new(rest, endpoint.limit)))
            }
            Carrier::Http => {
                return Err("HTTP connections do not carry messages in both directions".to_owned());
            }
        };
        let deaths = endpoint.deaths.clone();
        let noise = endpoint.noise.clone();
        Ok(Line { raw, form, is_ended: false, is_heard: false, is_finished: false, tap, deaths, noise })
    }

    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let bytes = self.framed(message);
        self.send_raw(&bytes).await
    }

    /// The bytes that a message is sent as.
    pub(crate) fn framed(&self, message: &[u8]) -> Vec<u8> {
        match &self.form {
            Form::Stream(Framing::Lines | Framing::JsonStream, _) => {
                // Not with our own framing, which removes line breaks.
                let mut bytes = message.to_vec();
                bytes.push(b'\n');
                bytes
            }
            Form::Stream(framing, _) => {
                let mut bytes = Vec::new();
                framing.encode(message, &mut bytes);
                bytes
            }
            Form::WebSocket(_) => websocket::frame(websocket::TEXT, message),
        }
    }

    /// Sends bytes as they are.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        match (&self.tap, &self.form) {
            (Some(tap), Form::WebSocket(_)) => shown::frames(tap, bytes),
            (Some(tap), Form::Stream(..)) => shown::bytes(tap, Direction::Sent, bytes),
            (None, _) => {}
        }
        self.raw.write_all(bytes).await?;
        self.raw.flush().await
    }

    /// Ends the input of the server.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        self.is_finished = true;
        self.raw.shutdown().await
    }

    /// Whether the server has sent anything yet: until then it may still be starting.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// Looks whether the program behind it has ended.
    pub(crate) fn look(&mut self) {
        if let Some(ended) = self.raw.has_ended() {
            self.deaths.note(&ended, self.is_finished);
        }
    }

    /// The next message or event. Nothing is lost if this is dropped while it waits.
    pub(crate) async fn receive(&mut self) -> Received {
        let mut received = self.read().await;
        while let (Received::Message(line), Some(noise)) = (&received, &self.noise)
            && noise.takes(line)
        {
            received = self.read().await;
        }
        self.is_heard = true;
        match (&self.tap, &received) {
            (Some(tap), Received::Message(message)) => shown::bytes(tap, Direction::Received, message),
            (Some(tap), Received::Closed(_)) => {
                tap.show(Direction::Received, Wire::Carrier("the connection was closed"));
            }
            _ => {}
        }
        received
    }

    async fn read(&mut self) -> Received {
        let mut chunk = BytesMut::new();
        loop {
            match self.next() {
                Ok(Some(received)) => return received,
                Ok(None) if self.is_ended => {
                    if let Ok(Some(ended)) = timeout(LINGER, self.raw.ended()).await {
                        self.deaths.note(&ended, self.is_finished);
                    }
                    return Received::Closed(None);
                }
                Ok(None) => {}
                Err(()) => {
                    self.is_ended = true;
                    return Received::Closed(None);
                }
            }
            chunk.clear();
            chunk.reserve(16 << 10);
            match self.raw.read_buf(&mut chunk).await {
                Ok(1..) => self.feed(&chunk),
                Ok(0) | Err(_) => {
                    self.is_ended = true;
                    if let Form::Stream(_, decoder) = &mut self.form
                        && let Ok(Some(last)) = decoder.finish()
                    {
                        return Received::Message(last);
                    }
                }
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        match &mut self.form {
            Form::Stream(_, decoder) => decoder.feed(bytes),
            Form::WebSocket(frames) => frames.feed(bytes),
        }
    }

    fn next(&mut self) -> Result<Option<Received>, ()> {
        match &mut self.form {
            Form::Stream(_, decoder) => {
                decoder.next_frame().map(|frame| frame.map(Received::Message)).map_err(|_| ())
            }
            Form::WebSocket(frames) => frames.next(),
        }
    }
}

impl Drop for Line {
    /// The program behind it is killed now; if it ended before, that was its own doing.
    fn drop(&mut self) {
        self.look();
    }
}
