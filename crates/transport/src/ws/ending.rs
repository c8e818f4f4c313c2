//! How a connection ends: the close frames in both directions, within a timeout.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use switchboard_core::{CloseReason, ConnectionError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::close::CloseCode;
use super::decoder::{Decoded, MessageDecoder};
use super::frame::{self, Opcode, Role};
use super::masks::Masks;
use super::shared::{Control, DuplexIo, Shared};

/// The rest of a connection after its halves are dropped: enough to close it gracefully.
#[derive(Debug)]
pub struct Ending<S> {
    shared: Arc<Shared<S>>,
    time: Duration,
}

/// As much is read, and dropped, while the peer's close frame is awaited.
const AMOUNT: usize = 32 << 20;

impl<S: DuplexIo> Ending<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, time: Duration) -> Ending<S> {
        Ending { shared, time }
    }

    /// Sends the reason for the end, from the outcome of its driver. Waits for the peer's close frame, up to [`close_time`](super::WebSocketOptions::close_time). The source and the sink must be dropped before.
    pub async fn finish(self, outcome: &Result<(), ConnectionError>) {
        self.finish_for(outcome, None).await;
    }

    /// Like [`finish`](Ending::finish), for the [reason](switchboard_core::Session::close_reason) that the session was closed with, if it was.
    pub async fn finish_for(self, outcome: &Result<(), ConnectionError>, reason: Option<CloseReason>) {
        let role = self.shared.role;
        let Some(shared) = Arc::into_inner(self.shared) else { return };
        let (io, mut control) = shared.into_parts();
        if let Some(payload) = last_words(role, &mut control, outcome, reason.as_ref()) {
            let closing = close(io, role, control, &payload);
            // However it ends, the connection is closed by dropping it.
            let _ = tokio::time::timeout(self.time, closing).await;
        }
    }
}

/// The payload of our close frame; none if the peer is gone.
fn last_words(
    role: Role,
    control: &mut Control,
    outcome: &Result<(), ConnectionError>,
    reason: Option<&CloseReason>,
) -> Option<Vec<u8>> {
    if let Some(closed) = &control.closed {
        // The same code goes back (RFC 6455, section 5.5.1).
        return Some(closed.as_ref().map_or(Vec::new(), |close| frame::close_payload(close.code, "")));
    }
    if let Some((code, reason)) = control.verdict.take() {
        return Some(frame::close_payload(code, &reason));
    }
    if let Some(reason) = reason.filter(|_| !matches!(outcome, Err(ConnectionError::Io(_)))) {
        let code = reason.code.map(CloseCode).filter(|code| code.is_sendable()).unwrap_or(CloseCode::NORMAL);
        return Some(frame::close_payload(code, &reason.text));
    }
    let (code, reason) = match outcome {
        Ok(()) if role == Role::Client => (CloseCode::NORMAL, ""),
        Ok(()) => (CloseCode::GOING_AWAY, ""),
        Err(ConnectionError::Io(_)) => return None,
        Err(ConnectionError::FrameTooLong { .. }) => (CloseCode::TOO_BIG, "message too long"),
        Err(ConnectionError::Framing(_)) => (CloseCode::PROTOCOL, ""),
        Err(ConnectionError::SlowReader { .. } | ConnectionError::Stalled { .. }) => {
            (CloseCode::POLICY, "reading too slowly")
        }
        Err(_) => (CloseCode::INTERNAL, ""),
    };
    Some(frame::close_payload(code, reason))
}

async fn close<S: DuplexIo>(mut io: S, role: Role, control: Control, payload: &[u8]) -> io::Result<()> {
    let mut out = control.unsent;
    let mask = (role == Role::Client).then(|| Masks::default().next());
    frame::write(&mut out, Opcode::Close, mask, payload);
    io.write_all(&out).await?;
    io.flush().await?;
    if control.closed.is_none()
        && let Some((decoder, unread)) = control.unread
    {
        await_close(&mut io, decoder, unread).await?;
    }
    // The server closes first (RFC 6455, section 7.1.1); a client waits for it.
    if role == Role::Server {
        io.shutdown().await?;
    }
    // What is unread when a socket is dropped makes the system take back our last words.
    drop_rest(&mut io).await
}

/// Reads until the peer's close frame, and drops everything before it.
async fn await_close<S: DuplexIo>(
    io: &mut S,
    mut decoder: MessageDecoder,
    mut unread: BytesMut,
) -> io::Result<()> {
    let mut total = 0;
    loop {
        match decoder.next(&mut unread) {
            Ok(Decoded::Close(_)) | Err(_) => return Ok(()),
            Ok(Decoded::More(_)) => {}
            Ok(_) => continue,
        }
        match io.read_buf(&mut unread).await? {
            0 => return Ok(()),
            count => total += count,
        }
        if total > AMOUNT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

async fn drop_rest<S: DuplexIo>(io: &mut S) -> io::Result<()> {
    let mut dropped = vec![0; 4 << 10];
    let mut total = 0;
    while total < AMOUNT {
        match io.read(&mut dropped).await? {
            0 => break,
            count => total += count,
        }
    }
    Ok(())
}
