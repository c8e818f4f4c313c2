//! The layer that refuses calls beyond the limits.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Layer, Reply, ReplyFuture, Service};

use super::shared::Shared;
use super::{Caller, RateExceeded, RateLimits};
use crate::audit::{AuditEvent, AuditKind};
use crate::over_limit;

impl Layer for RateLimits {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Limited { limits: self.clone(), inner })
    }
}

/// A service behind [`RateLimits`].
#[derive(Clone)]
struct Limited {
    limits: RateLimits,
    inner: Arc<dyn Service>,
}

impl Service for Limited {
    fn call(&self, call: &Call) -> ReplyFuture {
        match self.charge(call) {
            Ok(()) => match &self.limits.0.shared {
                None => self.inner.call(call),
                Some(shared) => self.count(call, shared),
            },
            Err(exceeded) => self.refused(call, exceeded),
        }
    }
}

impl Limited {
    /// A separate function, so that calls which pass need none of the room that refusals do.
    #[inline(never)]
    fn charge(&self, call: &Call) -> Result<(), RateExceeded> {
        self.limits.charge(&call.cx, &call.method)
    }

    /// Counts a call in the store, and passes it on if there is room.
    #[inline(never)]
    fn count(&self, call: &Call, shared: &Shared) -> ReplyFuture {
        let (mut counted, mut waiting) = (Vec::new(), Vec::new());
        for counting in self.limits.0.count(shared, &call.cx, call.method.as_bytes()) {
            match counting.into_ready() {
                Ok(count) => counted.push(count),
                Err(counting) => waiting.push(counting),
            }
        }
        if waiting.is_empty() {
            return self.conclude(call, shared.decide(&counted));
        }
        let (this, call, shared) = (self.clone(), call.clone(), shared.clone());
        ReplyFuture::pending(async move {
            for counting in waiting {
                counted.push(counting.counted().await);
            }
            this.conclude(&call, shared.decide(&counted)).await
        })
    }

    fn conclude(&self, call: &Call, decision: Result<(), RateExceeded>) -> ReplyFuture {
        match decision {
            Ok(()) => self.inner.call(call),
            Err(exceeded) => {
                let limits = &*self.limits.0;
                limits.refund(&mut Caller::new(limits, &call.cx), call.method.as_bytes(), limits.rules.len());
                self.refused(call, exceeded)
            }
        }
    }

    /// Which rule refused stays in the log: its name may say more about the server than callers should know.
    #[cold]
    #[inline(never)]
    fn refused(&self, call: &Call, exceeded: RateExceeded) -> ReplyFuture {
        let limits = &self.limits.0;
        if limits.audit.is_on() {
            let rule = limits.rules[exceeded.rule].rule.to_string();
            let event = AuditEvent::new(AuditKind::RATE_LIMITED).by(&call.cx);
            limits.audit.record(&event.method(call.method.as_str()).reason(&rule));
        }
        ReplyFuture::ready(too_many(exceeded.wait))
    }
}

/// The answer to a call that may be made after this time.
pub(super) fn too_many(wait: Duration) -> Reply {
    over_limit::reply("rate", "too many calls; try again later", 429, wait)
}
