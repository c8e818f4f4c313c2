//! Calls to the observer. None of this runs without one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

use crate::call::Call;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::observer::{
    BatchBegun, BatchEnded, BatchId, Begun, End, Ended, InputKind, Position, Received, Refused,
    SharedObserver,
};
use crate::session::Session;

/// A call that is seen to its end. Dropping it before reports the call as abandoned.
pub(crate) struct ObservedCall {
    observer: SharedObserver,
    /// Without its parameters: the call may last much longer than the frame it came in.
    call: Call,
    began: Instant,
    at: Position,
    bytes_in: usize,
    is_stream: bool,
    is_over: bool,
}

impl ObservedCall {
    /// The call has ended like this, with this error if it failed, and a response or items of so many bytes.
    pub(crate) fn end(mut self: Box<Self>, end: End, error: Option<&ErrorObject>, bytes_out: usize) {
        self.is_over = true;
        self.tell(end, error, bytes_out);
    }

    /// The call is answered with a stream, which begins now.
    pub(crate) fn stream(&mut self) {
        self.is_stream = true;
        let call = &self.call;
        let begun = Begun { method: &call.method, id: call.id(), cx: &call.cx, at: self.at };
        guarded(|| self.observer.streaming(&begun));
    }

    fn tell(&self, end: End, error: Option<&ErrorObject>, bytes_out: usize) {
        let ended = Ended {
            method: self.call.cx.observed_as().unwrap_or(&self.call.method),
            id: self.call.id(),
            cx: &self.call.cx,
            end,
            error,
            began: self.began,
            duration: self.began.elapsed(),
            at: self.at,
            bytes_in: self.bytes_in,
            bytes_out,
            is_stream: self.is_stream,
        };
        guarded(|| self.observer.ended(&ended));
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell(End::Abandoned, None, 0);
        }
    }
}

/// A batch that is seen to its end, which is when this is dropped.
pub(crate) struct ObservedBatch {
    observer: SharedObserver,
    cx: Context,
    id: BatchId,
    entries: usize,
    began: Instant,
}

impl ObservedBatch {
    /// Says that a batch is about to run. None without an observer.
    pub(crate) fn new(
        engine: &Engine,
        cx: &mut Context,
        id: BatchId,
        entries: usize,
    ) -> Option<ObservedBatch> {
        let observer = engine.settings.observer.clone()?;
        guarded(|| observer.batch_begun(cx, &BatchBegun { id, entries }));
        Some(ObservedBatch { observer, cx: cx.clone(), id, entries, began: Instant::now() })
    }
}

impl Drop for ObservedBatch {
    fn drop(&mut self) {
        let ObservedBatch { observer, cx, id, entries, began } = self;
        let ended = BatchEnded { id: *id, entries: *entries, duration: began.elapsed() };
        guarded(|| observer.batch_ended(cx, &ended));
    }
}

/// A call that is about to run and may be done at once.
#[derive(Clone, Copy)]
pub(crate) struct ObservedStart {
    began: Instant,
    at: Position,
}

impl ObservedStart {
    /// Keeps seeing a call that is not done.
    #[cold]
    #[inline(never)]
    pub(crate) fn watch(self, engine: &Engine, call: &Call) -> Option<Box<ObservedCall>> {
        let observer = engine.settings.observer.clone()?;
        let bytes_in = params_len(call);
        let call = call.without_params();
        Some(Box::new(ObservedCall {
            observer,
            call,
            began: self.began,
            at: self.at,
            bytes_in,
            is_stream: false,
            is_over: false,
        }))
    }
}

fn params_len(call: &Call) -> usize {
    call.params.as_ref().map_or(0, |params| params.as_bytes().len())
}

impl Engine {
    /// Reports that a session has opened, and later that it has closed; for transports whose sessions are not connections.
    pub fn note_opened(&self, session: &Session) {
        let Some(observer) = self.settings.observer.clone() else { return };
        guarded(|| observer.opened(session));
        let (id, origin) = (session.id().to_owned(), session.origin().clone());
        session.on_end(move |reason| guarded(|| observer.closed(&id, &origin, reason)));
    }

    /// Says that a message was received.
    #[inline(always)]
    pub(crate) fn note_received(&self, cx: &Context, bytes: usize, kind: InputKind, batch: Option<BatchId>) {
        if let Some(observer) = &self.settings.observer {
            tell_received(observer, cx, Received { bytes, kind, batch });
        }
    }

    /// Says that a call is about to run. None without an observer.
    #[inline(always)]
    pub(crate) fn note_begun(&self, call: &Call, at: Position) -> Option<ObservedStart> {
        let observer = self.settings.observer.as_ref()?;
        Some(tell_begun(observer, call, at))
    }

    /// Says that a call which was ready at once has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_ended(
        &self,
        call: &Call,
        began: ObservedStart,
        end: End,
        error: Option<&ErrorObject>,
        bytes_out: usize,
    ) {
        let Some(observer) = &self.settings.observer else { return };
        let ended = Ended {
            method: call.cx.observed_as().unwrap_or(&call.method),
            id: call.id(),
            cx: &call.cx,
            end,
            error,
            began: began.began,
            duration: began.began.elapsed(),
            at: began.at,
            bytes_in: params_len(call),
            bytes_out,
            is_stream: false,
        };
        guarded(|| observer.ended(&ended));
    }

    /// Says that something was refused before it became a call.
    pub(crate) fn note_refused(&self, cx: &Context, error: &ErrorObject, id: Option<&Id>, at: Position) {
        let Some(observer) = &self.settings.observer else { return };
        let refused = Refused { error, id, method: None, status: None, at };
        guarded(|| observer.refused(cx, &refused));
    }

    /// Says that a call was refused for this reason.
    pub(crate) fn note_refused_call(&self, call: &Call, error: &ErrorObject, at: Position) {
        let Some(observer) = &self.settings.observer else { return };
        let refused = Refused { error, id: call.id(), method: Some(&call.method), status: None, at };
        guarded(|| observer.refused(&call.cx, &refused));
    }

    /// Reports that a transport refused a request with this status before it reached the engine.
    pub fn refused_by_carrier(&self, cx: &Context, error: &ErrorObject, status: u16) {
        let Some(observer) = &self.settings.observer else { return };
        let refused = Refused { error, id: None, method: None, status: Some(status), at: Position::Alone };
        guarded(|| observer.refused(cx, &refused));
    }

    /// A name for a batch, if there is an observer.
    pub(crate) fn name_batch(&self) -> BatchId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        BatchId(if self.settings.observer.is_some() { LAST.fetch_add(1, Relaxed) + 1 } else { 0 })
    }
}

#[cold]
#[inline(never)]
fn tell_received(observer: &SharedObserver, cx: &Context, received: Received) {
    guarded(|| observer.received(cx, &received));
}

#[cold]
#[inline(never)]
fn tell_begun(observer: &SharedObserver, call: &Call, at: Position) -> ObservedStart {
    let began = ObservedStart { began: Instant::now(), at };
    guarded(|| observer.begun(&Begun { method: &call.method, id: call.id(), cx: &call.cx, at }));
    began
}

/// Runs the observer. Its failures do not affect the call.
fn guarded(tell: impl FnOnce()) {
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
    if catch_unwind(AssertUnwindSafe(tell)).is_err() && !HAS_PANICKED.swap(true, Relaxed) {
        tracing::error!("the observer panicked; it stays attached");
    }
}
