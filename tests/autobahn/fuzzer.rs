//! Plays a case, and judges what the peer did as Autobahn does.

use std::fmt;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::case::{Case, Event, Step};
use crate::frame::{Frame, Side};
use crate::results::Outcome;

/// A peer that sends nothing for this long, while time is paused, has nothing left to send.
const SILENCE: Duration = Duration::from_secs(1);
const CLOSE: u8 = 0x88;

/// What the peer did.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    events: Vec<Event>,
    /// The code of its close frame, if it sent one, and if that held one.
    close: Option<Option<u16>>,
    has_closed_first: bool,
    has_ended: bool,
}

/// Plays a case as this side over a connection whose handshake is done.
pub(crate) async fn play(case: &Case, side: Side, stream: DuplexStream) -> Observed {
    let (unread, message, observed) = (Vec::new(), None, Observed::default());
    let mut fuzzer = Fuzzer { side, stream, unread, message, sent: 0, has_closed: false, observed };
    for round in 1..=case.rounds {
        for step in &case.steps {
            if fuzzer.is_over() {
                break;
            }
            fuzzer.act(step).await;
        }
        if case.rounds > 1 {
            while fuzzer.observed.events.len() < round && fuzzer.hear().await {}
        }
    }
    fuzzer.end(case).await;
    fuzzer.observed
}

struct Fuzzer {
    side: Side,
    stream: DuplexStream,
    unread: Vec<u8>,
    /// The message of the peer that has begun.
    message: Option<(u8, Vec<u8>)>,
    /// How many bytes of the frame that was begun are sent.
    sent: usize,
    has_closed: bool,
    observed: Observed,
}

impl Fuzzer {
    fn is_over(&self) -> bool {
        self.observed.has_ended || self.observed.close.is_some()
    }

    async fn act(&mut self, step: &Step) {
        match step {
            Step::Send { first, payload, frames_of, writes_of } => {
                self.has_closed |= *first == CLOSE;
                let bytes = self.frames(*first, payload, *frames_of);
                for part in bytes.chunks(writes_of.unwrap_or(bytes.len())) {
                    self.write(part).await;
                    if writes_of.is_some() {
                        tokio::task::yield_now().await;
                    }
                }
            }
            Step::Head { first, length } => {
                self.sent = 0;
                self.write(&self.side.head(*first, *length)).await;
            }
            Step::Bytes(bytes) => {
                self.write(&self.side.masked(bytes, self.sent)).await;
                self.sent += bytes.len();
            }
            Step::Flush => tokio::task::yield_now().await,
            Step::Pause => while self.hear().await {},
            Step::Watch => {
                while self.hear().await {}
                if !self.is_over() {
                    self.observed.events.push(Event::Quiet);
                }
            }
        }
    }

    fn frames(&self, first: u8, payload: &[u8], frames_of: Option<usize>) -> Vec<u8> {
        let Some(size) = frames_of else { return self.side.frame(first, payload) };
        let (count, mut out) = (payload.len().div_ceil(size), Vec::new());
        for (index, part) in payload.chunks(size).enumerate() {
            let opcode = if index == 0 { first & 0x0f } else { 0 };
            let fin = if index + 1 == count { 0x80 } else { 0 };
            out.extend(self.side.frame(fin | opcode, part));
        }
        out
    }

    /// A peer that has gone takes nothing, which is seen when reading.
    async fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Waits for a frame; whether one came before a silence, the close frame or the end.
    async fn hear(&mut self) -> bool {
        while !self.is_over() {
            if let Some(frame) = self.side.take(&mut self.unread) {
                self.note(frame).await;
                return !self.is_over();
            }
            match tokio::time::timeout(SILENCE, self.stream.read_buf(&mut self.unread)).await {
                Ok(Ok(0) | Err(_)) => self.observed.has_ended = true,
                Ok(Ok(_)) => {}
                Err(_) => return false,
            }
        }
        false
    }

    async fn note(&mut self, frame: Frame) {
        match frame.opcode {
            8 => {
                self.observed.close = Some(frame.payload.first_chunk().map(|code| u16::from_be_bytes(*code)));
                if !self.has_closed {
                    self.observed.has_closed_first = true;
                    self.write(&self.side.frame(CLOSE, &frame.payload)).await;
                }
            }
            9 => self.write(&self.side.frame(0x8a, &frame.payload)).await,
            10 => self.observed.events.push(Event::Pong(frame.payload)),
            opcode => {
                let (kind, mut payload) = self.message.take().unwrap_or((opcode, Vec::new()));
                payload.extend(frame.payload);
                match (frame.is_final, kind) {
                    (false, _) => self.message = Some((kind, payload)),
                    (true, 1) => self.observed.events.push(Event::Text(payload)),
                    (true, _) => self.observed.events.push(Event::Binary(payload)),
                }
            }
        }
    }

    /// Hears what is left to come, closes if the case says so, and waits for the end.
    async fn end(&mut self, case: &Case) {
        let is_done = |events: &[Event]| !case.close.is_by_peer && events == case.ok;
        while !is_done(&self.observed.events) && self.hear().await {}
        if !self.is_over() && !self.has_closed && !case.close.is_by_peer {
            self.has_closed = true;
            self.write(&self.side.frame(CLOSE, &1000_u16.to_be_bytes())).await;
        }
        while self.hear().await {}
        if self.side == Side::Server {
            // The server closes first (RFC 6455, section 7.1.1).
            let _ = self.stream.shutdown().await;
        }
        let mut rest = Vec::new();
        let end = tokio::time::timeout(SILENCE, self.stream.read_to_end(&mut rest)).await;
        self.observed.has_ended |= end.is_ok() && rest.is_empty();
    }
}

impl Observed {
    /// The result of the case.
    pub(crate) fn judge(&self, case: &Case) -> Outcome {
        let closing = &case.close;
        let has_right_code = match self.close {
            None => !closing.is_clean && !closing.is_by_peer,
            Some(None) => true,
            Some(Some(code)) => closing.codes.contains(&code),
        };
        if !self.has_ended || !has_right_code || self.has_closed_first != closing.is_by_peer {
            Outcome::Failed
        } else if self.events == case.ok {
            Outcome::Ok
        } else if case.non_strict.as_ref() == Some(&self.events) {
            Outcome::NonStrict
        } else {
            Outcome::Failed
        }
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Observed { events, close, has_closed_first, has_ended } = self;
        write!(
            f,
            "events {events:?}, close {close:?}, peer closed first: {has_closed_first}, ended: {has_ended}"
        )
    }
}
