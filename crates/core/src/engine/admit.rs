//! Consulting the admission, if there is one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use crate::admission::{AdmitFuture, Arrival, PendingDecision, Refusal};
use crate::context::Context;
use crate::engine::Engine;
use crate::error::ErrorObject;
use crate::observer::Position;

impl Engine {
    /// Asks the [admission](crate::Settings::admission) about an arrival; `None` if there is none. For HTTP transports: a
    /// [`Connection`](crate::Connection) does this itself.
    ///
    /// The observer sees a refusal.
    #[must_use]
    pub fn admit(&self, arrival: &Arrival<'_>) -> Option<AdmitFuture> {
        let admission = self.settings.admission.as_ref()?;
        let asked = catch_unwind(AssertUnwindSafe(|| admission.admit(arrival)));
        let asked = asked.unwrap_or_else(|_| AdmitFuture::refused(crashed()));
        let cx = arrival.cx();
        Some(match asked.into_ready() {
            Ok(Ok(cx)) => AdmitFuture::admitted(cx),
            Ok(Err(refusal)) => AdmitFuture::refused(self.note_not_admitted(cx, refusal)),
            Err(pending) => AdmitFuture::pending(decide(self.clone(), cx.clone(), pending)),
        })
    }

    fn note_not_admitted(&self, cx: &Context, refusal: Refusal) -> Refusal {
        match refusal.status {
            Some(status) => self.refused_by_carrier(cx, &refusal.error, status),
            None => self.note_refused(cx, &refusal.error, None, Position::Alone),
        }
        refusal
    }
}

/// Waits for a decision, but not for ever.
async fn decide(engine: Engine, cx: Context, pending: PendingDecision) -> Result<Context, Refusal> {
    let decided = AssertUnwindSafe(pending).catch_unwind();
    let refusal = match tokio::time::timeout(engine.settings.limits.call_time, decided).await {
        Ok(Ok(Ok(cx))) => return Ok(cx),
        Ok(Ok(Err(refusal))) => refusal,
        Ok(Err(_)) => crashed(),
        Err(_) => Refusal::new(ErrorObject::timed_out()).with_status(503),
    };
    Err(engine.note_not_admitted(&cx, refusal))
}

fn crashed() -> Refusal {
    Refusal::new(ErrorObject::internal(&"the admission hook panicked")).with_status(500)
}
