//! The fast path for plain calls over HTTP/1.1: the counterpart of [`plain`](super::plain) on the side of the client.
//!
//! Nearly every call is a short POST, and its response a short body whose length is known. Such a call does not need hyper, and
//! takes far fewer instructions here: its future owns the connection while it lasts, so there is no task for a connection,
//! and nothing to wake but the caller. A request that is not plain never comes here. A response that is not plain (an event stream, a
//! redirect, a long body in chunks, or something that is not HTTP) is left to hyper from its first byte on, so rejections have one implementation.

mod exchange;
mod handover;
mod pool;
mod request;
mod response;

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use http::{Response, Uri};
use hyper::body::Incoming;
use switchboard_core::{AllowedNames, CallError, Metadata};
use tokio::time::Instant;

use self::exchange::{Ended, Exchange};
use self::pool::{Pool, Taken};
pub(super) use self::request::Message;
use self::request::RequestHead;
use super::client_options::HttpClientOptions;
#[cfg(feature = "tls")]
use super::connector::Refusal;
use super::connector::{Connector, Wire};
use super::explained;
use super::interim;
use super::outcome::Received;
use crate::parts;

/// How many calls hyper makes after a response that was not plain: the next ones may be alike, and hyper keeps their connections.
const DETOUR: u32 = 100;

/// A server that speaks HTTP/2 has no plain responses.
const FOREVER: u32 = u32::MAX;

/// Makes the plain calls of a client.
pub(super) struct PlainCalls {
    head: RequestHead,
    pool: Pool,
    reply_metadata: AllowedNames,
    /// How many calls are left to hyper.
    detour: AtomicU32,
    target: String,
    connect_time: Duration,
    #[cfg(feature = "tls")]
    refusal: Refusal,
}

/// What became of a call.
pub(super) enum Answered {
    /// A response was read to its end.
    Whole(Received),
    /// A response has begun, and hyper reads it.
    Begun(Response<Incoming>),
}

impl PlainCalls {
    /// None if an option affects every call.
    pub(super) fn new(
        uri: &Uri,
        target: &str,
        options: &HttpClientOptions,
        connector: &Connector,
    ) -> Option<PlainCalls> {
        Some(PlainCalls {
            head: RequestHead::new(uri, options)?,
            pool: Pool::new(connector.clone(), uri.clone(), options.idle_time),
            reply_metadata: options.reply_metadata.clone(),
            detour: AtomicU32::new(0),
            target: target.to_owned(),
            connect_time: options.connect_time,
            #[cfg(feature = "tls")]
            refusal: connector.refusal(),
        })
    }

    /// A call with the body that `encode` writes.
    pub(super) fn message(
        &self,
        deadline: Option<Instant>,
        metadata: Metadata,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Message {
        self.head.message(deadline, metadata, encode)
    }

    /// Makes a call whose response has a body of at most `limit` bytes. The caller limits the time. None if hyper has to make
    /// the call; nothing was sent then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub(super) async fn send(&self, message: &Message, limit: usize) -> Result<Option<Answered>, CallError> {
        let Some(request) = message.plain().filter(|_| !self.makes_detour()) else { return Ok(None) };
        loop {
            let Taken { wire, is_reused } =
                self.pool.take().await.map_err(|error| self.unreachable(&*error))?;
            if wire.is_http2() {
                self.detour.store(FOREVER, Relaxed);
                return Ok(None);
            }
            let ended = Exchange::new(wire, request, limit, &self.reply_metadata).run().await;
            // A connection that waited may have been closed just now.
            if !(is_reused && matches!(ended, Ended::Unsent(_))) {
                return self.answered(ended, limit).await.map(Some);
            }
        }
    }

    /// Whether hyper makes this call.
    fn makes_detour(&self) -> bool {
        let left = self.detour.load(Relaxed);
        // Calls at the same time may count as one.
        if left != 0 && left != FOREVER {
            self.detour.store(left - 1, Relaxed);
        }
        left != 0
    }

    async fn answered(&self, ended: Ended, limit: usize) -> Result<Answered, CallError> {
        Err(match ended {
            Ended::Answered { head, body, wire } => {
                if let Some(wire) = wire {
                    self.pool.put(wire);
                }
                let received =
                    Received { status: head.status, body, location: None, metadata: head.metadata };
                return Ok(Answered::Whole(received));
            }
            // Boxed, because it is rare and would make the future of every call larger.
            Ended::Other(wire, begun) => return Box::pin(self.hand_over(wire, begun)).await,
            Ended::TooLarge => parts::too_large(limit),
            Ended::TooManyInterim => interim::too_many(&self.target),
            Ended::Incomplete => explained::incomplete(&self.target),
            // As hyper says it.
            Ended::Closed => {
                let target = &self.target;
                CallError::Closed(format!("{target}: connection closed before message completed").into())
            }
            Ended::Unsent(error) | Ended::Broken(error) => self.failed(&error),
        })
    }

    async fn hand_over(&self, wire: Wire, begun: Vec<u8>) -> Result<Answered, CallError> {
        self.detour.store(DETOUR, Relaxed);
        match handover::read_by_hyper(wire, begun).await {
            Some(Ok(response)) => Ok(Answered::Begun(response)),
            Some(Err(error)) => Err(self.failed(&error)),
            None => Err(interim::too_many(&self.target)),
        }
    }

    fn unreachable(&self, error: &(dyn Error + 'static)) -> CallError {
        #[cfg(feature = "tls")]
        if let Some(refused) = explained::refused(error, &self.refusal) {
            return refused;
        }
        explained::unreachable(error, &self.target, self.connect_time)
    }

    fn failed(&self, error: &(dyn Error + 'static)) -> CallError {
        #[cfg(feature = "tls")]
        if let Some(refused) = explained::refused(error, &self.refusal) {
            return refused;
        }
        explained::broken(error, &self.target)
    }
}
