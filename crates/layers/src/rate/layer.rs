//! The layer that refuses calls beyond the limits.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, Layer, Reply, ReplyFuture, Service};

use super::{RateExceeded, RateLimits};
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
            Ok(()) => self.inner.call(call),
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
