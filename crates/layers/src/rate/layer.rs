//! The layer that refuses calls beyond the limits.

use std::sync::Arc;

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
struct Limited {
    limits: RateLimits,
    inner: Arc<dyn Service>,
}

impl Service for Limited {
    fn call(&self, call: &Call) -> ReplyFuture {
        match self.limits.charge(&call.cx, call.method.as_str()) {
            Ok(()) => self.inner.call(call),
            Err(exceeded) => ReplyFuture::ready(self.refuse(call, exceeded)),
        }
    }
}

impl Limited {
    /// Which rule refused stays in the log: its name may say more about the server than callers should know.
    #[inline(never)]
    fn refuse(&self, call: &Call, exceeded: RateExceeded) -> Reply {
        let limits = &self.limits.0;
        if limits.audit.is_on() {
            let rule = limits.rules[exceeded.rule].0.to_string();
            let event = AuditEvent::new(AuditKind::RATE_LIMITED).by(&call.cx);
            limits.audit.record(&event.method(call.method.as_str()).reason(&rule));
        }
        over_limit::reply("rate", "too many calls; try again later", 429, exceeded.wait)
    }
}
