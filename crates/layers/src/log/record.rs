//! What a line says.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use switchboard_core::observer::{BatchId, End, Ended, Position, Received, Refused};
use switchboard_core::{Code, Context, FromContext as _, Id, Name, Origin, TraceContext};

use super::LogLevel;
use crate::identity::Identity;
use crate::network::network;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    Call,
    Notification,
    Batch,
    Refused,
    Opened,
    Closed,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Event::Call => "call",
            Event::Notification => "notification",
            Event::Batch => "batch",
            Event::Refused => "refused",
            Event::Opened => "opened",
            Event::Closed => "closed",
        }
    }
}

/// What a line says.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) event: Event,
    pub(super) level: LogLevel,
    pub(super) outcome: Option<&'static str>,
    pub(super) code: Option<Code>,
    pub(super) is_slow: bool,
    pub(super) method: Option<&'a Name>,
    pub(super) id: Option<&'a Id>,
    pub(super) duration: Option<Duration>,
    pub(super) bytes_in: Option<usize>,
    pub(super) bytes_out: Option<usize>,
    /// How many items a stream had, or entries a batch.
    pub(super) items: Option<u64>,
    pub(super) status: Option<u16>,
    pub(super) reason: Option<&'a str>,
    pub(super) incident: Option<&'a str>,
    pub(super) who: Option<&'a str>,
    pub(super) transport: Option<&'static str>,
    pub(super) address: Option<SocketAddr>,
    pub(super) session: Option<&'a str>,
    pub(super) batch: Option<BatchId>,
    pub(super) entry: Option<usize>,
    pub(super) trace: Option<TraceContext>,
    /// When it happened, if that is known: so long after this moment. To ask the clock takes as long as to write all this down.
    pub(super) at: Option<(Instant, Duration)>,
}

/// How much of a session's identifier is written: enough to connect lines, and not enough to take over a session.
const SESSION: usize = 8;

impl<'a> Record<'a> {
    #[inline(always)]
    pub(super) fn new(event: Event) -> Record<'a> {
        let level = match event {
            Event::Call | Event::Notification | Event::Batch => LogLevel::Info,
            Event::Refused => LogLevel::Warn,
            Event::Opened | Event::Closed => LogLevel::Debug,
        };
        Record {
            event,
            level,
            outcome: None,
            code: None,
            is_slow: false,
            method: None,
            id: None,
            duration: None,
            bytes_in: None,
            bytes_out: None,
            items: None,
            status: None,
            reason: None,
            incident: None,
            who: None,
            transport: None,
            address: None,
            session: None,
            batch: None,
            entry: None,
            trace: None,
            at: None,
        }
    }

    pub(super) fn of_session(event: Event, id: &'a str, origin: &'a Origin) -> Record<'a> {
        Record {
            session: Some(start(id)),
            transport: Some(origin.transport),
            address: origin.address,
            ..Record::new(event)
        }
    }

    pub(super) fn of_batch(cx: &'a Context, message: &Received, entries: usize) -> Record<'a> {
        let items = Some(entries as u64);
        let record = Record {
            bytes_in: Some(message.bytes),
            items,
            batch: message.batch,
            ..Record::new(Event::Batch)
        };
        record.by(cx)
    }

    pub(super) fn of_refused(cx: &'a Context, refused: &Refused<'a>) -> Record<'a> {
        let record = Record {
            code: Some(refused.error.code),
            method: refused.method,
            id: refused.id,
            status: refused.status,
            reason: Some(&refused.error.message),
            ..Record::new(Event::Refused)
        };
        record.by(cx).at(refused.at)
    }

    #[inline(always)]
    pub(super) fn of_call(call: &Ended<'a>) -> Record<'a> {
        let event = if call.id.is_some() { Event::Call } else { Event::Notification };
        let code = call.end.failure();
        let record = Record {
            level: level(call.end, code),
            outcome: Some(call.end.word()),
            code,
            method: Some(call.method),
            id: call.id,
            duration: Some(call.duration),
            bytes_in: Some(call.bytes_in),
            bytes_out: Some(call.bytes_out),
            items: call.end.items(),
            at: Some((call.began.into_std(), call.duration)),
            ..Record::new(event)
        };
        record.by(call.cx).at(call.at)
    }

    #[inline(always)]
    fn by(self, cx: &'a Context) -> Record<'a> {
        Record {
            who: Identity::from_context(cx).map(|identity| identity.subject.as_str()),
            transport: Some(cx.origin().transport),
            address: cx.origin().address,
            session: Some(start(cx.session().id())),
            trace: cx.trace().or_else(|| TraceContext::of(cx.metadata())),
            ..self
        }
    }

    #[inline(always)]
    fn at(self, at: Position) -> Record<'a> {
        match at {
            Position::Entry { batch, index } => Record { batch: Some(batch), entry: Some(index), ..self },
            _ => self,
        }
    }

    /// What makes lines equal.
    pub(super) fn hash_into(&self, hasher: &mut impl Hasher) {
        let address = self.address.map(|address| network(address.ip()));
        (self.event, self.outcome, self.code, self.status, address, self.who, self.method).hash(hasher);
    }
}

/// The part of a session's identifier that is written.
fn start(session: &str) -> &str {
    session.get(..SESSION).unwrap_or(session)
}

fn level(end: End, code: Option<Code>) -> LogLevel {
    match (end, code) {
        (End::Panicked, _) | (_, Some(Code::INTERNAL_ERROR)) => LogLevel::Error,
        // The caller wanted it so.
        (End::Cancelled, _) | (_, None) => LogLevel::Info,
        _ => LogLevel::Warn,
    }
}
