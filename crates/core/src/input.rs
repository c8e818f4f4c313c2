//! The message that a call came in.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use bytes::Bytes;

use crate::context::Context;
use crate::metadata::Metadata;
use crate::seal::{AnswerHead, RequestHead};

/// The message that a call came in, for layers that decide about a message as a whole: a batch that is signed as one, or an HTTP request
/// whose signature covers its head and its body.
///
/// Only such messages have one: a batch that begins with a call of [`BATCH_SIGNATURE`](Input::BATCH_SIGNATURE), and an HTTP request
/// with the header `Signature-Input`. It lasts until all calls of the message have started.
pub struct Input {
    text: Bytes,
    head: Option<RequestHead>,
    is_in_parts: bool,
    /// What was decided about the message, by the layer that decided it.
    decided: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    seal: OnceLock<Box<SealAnswer>>,
}

/// Gives the headers to add to a response.
type SealAnswer = dyn Fn(&AnswerHead<'_>) -> Metadata + Send + Sync;

/// In the context of a call. The engine or the transport holds the message itself, so a call that lasts does not keep it.
struct Attached(Weak<Input>);

impl Input {
    /// The method of a batch's first entry that signs the whole batch.
    pub const BATCH_SIGNATURE: &str = "rpc.signature";

    /// A message with this text and, over HTTP, this head.
    #[must_use]
    pub fn new(text: Bytes, head: Option<RequestHead>) -> Arc<Input> {
        Arc::new(Input { text, head, is_in_parts: false, decided: Mutex::default(), seal: OnceLock::new() })
    }

    /// An HTTP request with this text and head, whose answer may be an event stream.
    #[must_use]
    pub fn in_parts(text: Bytes, head: RequestHead) -> Arc<Input> {
        let (decided, seal) = (Mutex::default(), OnceLock::new());
        Arc::new(Input { text, head: Some(head), is_in_parts: true, decided, seal })
    }

    /// A batch with this text, attached to this context. Over HTTP the request may have been attached before.
    #[cold]
    pub(crate) fn of_batch(text: &Bytes, cx: &mut Context) -> Arc<Input> {
        Input::of(cx).unwrap_or_else(|| {
            let input = Input::new(text.clone(), None);
            input.attach(cx);
            input
        })
    }

    /// The message that a call with this context came in.
    #[must_use]
    pub fn of(cx: &Context) -> Option<Arc<Input>> {
        cx.get::<Attached>()?.0.upgrade()
    }

    /// Lets calls with this context see the message, for as long as the caller holds it.
    pub fn attach(self: &Arc<Input>, cx: &mut Context) {
        cx.insert(Attached(Arc::downgrade(self)));
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// The head, over HTTP.
    #[must_use]
    pub fn head(&self) -> Option<&RequestHead> {
        self.head.as_ref()
    }

    /// Whether the answer may be an event stream, of which headers cover nothing.
    #[must_use]
    pub fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    /// What was decided about the message: decided for its first call, and the same for all others.
    pub fn decide<T: Send + Sync + 'static>(&self, decide: impl FnOnce() -> T) -> Arc<T> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = decided.iter().find_map(|known| Arc::clone(known).downcast().ok()) {
            return found;
        }
        let new = Arc::new(decide());
        decided.push(Arc::clone(&new) as Arc<dyn Any + Send + Sync>);
        new
    }

    /// Adds these headers to the HTTP response, once its body is known. The first caller decides.
    pub fn seal_answer(&self, seal: impl Fn(&AnswerHead<'_>) -> Metadata + Send + Sync + 'static) {
        let _ = self.seal.set(Box::new(seal));
    }

    /// The headers to add to this response; for HTTP transports.
    #[must_use]
    pub fn answer_headers(&self, answer: &AnswerHead<'_>) -> Metadata {
        self.seal.get().map_or_else(Metadata::default, |seal| seal(answer))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("bytes", &self.text.len())
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_decided_about_once_and_is_not_kept_by_its_calls() {
        let input = Input::new(Bytes::from_static(b"[]"), None);
        let mut cx = Context::default();
        input.attach(&mut cx);
        let seen = Input::of(&cx).unwrap();
        assert_eq!((*seen.decide(|| 1_u8), *seen.decide(|| 2_u8), *seen.decide(|| "text")), (1, 1, "text"));
        drop((seen, input));
        assert!(Input::of(&cx).is_none());
    }
}
