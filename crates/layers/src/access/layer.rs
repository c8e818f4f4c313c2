//! The layer that refuses what the rules do not allow.

use std::sync::Arc;

use serde::Serialize;
use switchboard_core::{Call, ErrorObject, FromContext as _, Layer, Reply, ReplyFuture, Service};

use super::{Access, Decision};
use crate::audit::{AuditEvent, AuditKind};
use crate::identity::Identity;

/// The method that tells what may be called. It shows each caller what it may call, so it needs no rule.
const DISCOVER: &str = "rpc.discover";

impl Layer for Access {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Guarded { access: self.clone(), inner })
    }
}

/// A service behind [`Access`].
struct Guarded {
    access: Access,
    inner: Arc<dyn Service>,
}

impl Service for Guarded {
    fn call(&self, call: &Call) -> ReplyFuture {
        match self.decide(call) {
            Decision::Allowed { .. } => self.inner.call(call),
            decision => self.not_allowed(call, decision),
        }
    }
}

impl Guarded {
    /// A separate function, so that calls which are allowed need none of the room that refusals do.
    #[inline(never)]
    fn decide(&self, call: &Call) -> Decision {
        self.access.decide(&call.cx, &call.method, call.params.as_ref())
    }

    #[cold]
    #[inline(never)]
    fn not_allowed(&self, call: &Call, decision: Decision) -> ReplyFuture {
        match call.method.as_bytes() == DISCOVER.as_bytes() {
            true => self.inner.call(call),
            false => ReplyFuture::ready(self.refuse(call, decision)),
        }
    }

    /// Strangers get the same bytes whether the method exists or not. Callers with an identity learn that it is forbidden; which
    /// rule decided stays in the log.
    fn refuse(&self, call: &Call, decision: Decision) -> Reply {
        #[derive(Serialize)]
        struct Data<'a> {
            method: &'a str,
            incident: &'a str,
        }
        let rule = match decision {
            Decision::Denied { rule } => self.access.rules()[rule].name.as_deref().unwrap_or("unnamed"),
            _ => "none",
        };
        let incident = incident();
        let reason = if rule == "none" { "no rule allows it" } else { rule };
        let event = AuditEvent::new(AuditKind::DENIED).by(&call.cx).method(call.method.as_str());
        self.access.0.audit.record(&event.reason(reason).incident(&incident));
        let Some(identity) = Identity::from_context(&call.cx) else {
            return Reply::error(ErrorObject::unauthorized())
                .with_status(401)
                .with_metadata("www-authenticate", "Bearer");
        };
        let method = call.method.as_str();
        tracing::warn!(
            incident,
            who = %identity.subject.escape_debug(),
            method = %method.escape_debug(),
            rule = %rule.escape_debug(),
            "a call was denied"
        );
        let mut error = ErrorObject::unauthorized();
        error.data = switchboard_core::Json::encode_ref(&Data { method, incident: &incident }).ok();
        Reply::error(error).with_status(403)
    }
}

fn incident() -> String {
    let mut bytes = [0; 8];
    // Without random numbers the log and the answer have the same zeros.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    format!("{:016x}", u64::from_be_bytes(bytes))
}
