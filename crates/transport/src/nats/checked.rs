//! What a call has to pass that came as a message: it must be for the subject that it was sent to, and the worker must accept it.

use std::sync::Arc;
use std::time::Instant;

use async_nats::Subject;
use switchboard_core::{Call, ErrorObject, ReplyFuture, Service};

use super::services::Counted;
use super::subject;

/// The subject of the message that a call came in, in its context. Absent if the message may be about any method.
pub(super) struct SentTo(pub(super) Subject);

/// Why the calls of a message are refused, in their context.
pub(super) struct Refused(pub(super) ErrorObject);

/// A service whose calls are checked first, and counted.
pub(super) struct Checked {
    pub(super) inner: Arc<dyn Service>,
    pub(super) counted: Arc<Counted>,
}

impl Service for Checked {
    fn call(&self, call: &Call) -> ReplyFuture {
        if let Some(Refused(error)) = call.cx.get() {
            return ReplyFuture::ready(error.clone());
        }
        if let Some(SentTo(sent_to)) = call.cx.get()
            && !subject::is_of(sent_to, call.method.as_str())
        {
            return ReplyFuture::ready(mismatch(call.method.as_str(), sent_to));
        }
        let began = Instant::now();
        let reply = self.inner.call(call);
        if let Some(ready) = reply.as_ready() {
            self.counted.count(call.method.as_str(), ready, began.elapsed());
            return reply;
        }
        let (counted, method) = (Arc::clone(&self.counted), call.method.clone());
        reply.map(move |reply| {
            counted.count(method.as_str(), &reply, began.elapsed());
            reply
        })
    }
}

#[cold]
fn mismatch(method: &str, sent_to: &Subject) -> ErrorObject {
    let method = method.chars().take(100).collect::<String>();
    ErrorObject::invalid_request(format!(
        "method {method:?} does not match the subject {:?}",
        sent_to.as_str()
    ))
}
