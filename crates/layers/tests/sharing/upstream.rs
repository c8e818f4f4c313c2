//! A service whose calls are answered by hand.

use std::sync::{Arc, Mutex};

use switchboard_core::{Call, Context, ErrorObject, Json, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::identity::{Identity, Proof};
use tokio::sync::oneshot;

/// Remembers its calls, and answers each when it is told to.
#[derive(Clone, Default)]
pub(crate) struct Upstream(Arc<Mutex<Vec<Pending>>>);

/// A call that was made.
struct Pending {
    call: Call,
    answer: Option<oneshot::Sender<Reply>>,
}

impl Service for Upstream {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (answer, receiver) = oneshot::channel();
        self.0.lock().unwrap().push(Pending { call: call.clone(), answer: Some(answer) });
        ReplyFuture::pending(async move { receiver.await.expect("the call is answered") })
    }
}

impl Upstream {
    /// How many calls were made.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Answers a call, by its number from zero. False if it was cancelled.
    pub(crate) fn answer(&self, number: usize, reply: impl Into<Reply>) -> bool {
        let answer = self.0.lock().unwrap()[number].answer.take().expect("a call is answered once");
        answer.send(reply.into()).is_ok()
    }

    /// Waits until a call was cancelled.
    pub(crate) async fn cancelled(&self, number: usize) {
        let mut answer = self.0.lock().unwrap()[number].answer.take().expect("the call is not answered");
        answer.closed().await;
    }

    /// A call that was made.
    pub(crate) fn call_made(&self, number: usize) -> Call {
        self.0.lock().unwrap()[number].call.clone()
    }
}

/// A call with these params by this caller; by nobody if the name is empty.
pub(crate) fn call(who: &str, method: &str, params: &str) -> Call {
    let mut cx = Context::default();
    if !who.is_empty() {
        Identity::new(who, Proof::Token).attach(&mut cx);
    }
    Call::new(method.to_owned(), Some(Json::parse(params.to_owned()).unwrap())).with_context(cx)
}

/// A reply with this value.
pub(crate) fn value(text: &str) -> Reply {
    Reply::value(Json::parse(text.to_owned()).unwrap())
}

/// A reply with this code.
pub(crate) fn error(code: i64) -> Reply {
    Reply::error(ErrorObject::new(code, "no"))
}

/// The value, or the code of the error.
pub(crate) fn shown(reply: &Reply) -> String {
    match &reply.outcome {
        Outcome::Value(json) => json.to_string(),
        Outcome::Error(error) => error.code.to_string(),
        Outcome::Stream(_) => "stream".to_owned(),
    }
}
