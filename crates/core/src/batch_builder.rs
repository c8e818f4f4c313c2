//! Building a batch: several calls, sent as one message.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, encode_params};
use crate::call_error::CallError;
use crate::engine::moment_after;
use crate::json::Json;
use crate::name::Name;
use crate::peer::{Peer, Remote, TIMEOUT, limit};
use crate::request::{Request, decode_result, read};

/// Collects calls and sends them as one batch. [`Peer::batch`] creates one.
///
/// # Examples
///
/// ```
/// # use switchboard_core::{CallError, Peer};
/// # async fn example(peer: Peer) -> Result<(), CallError> {
/// let mut batch = peer.batch();
/// let sum = batch.add(peer.call::<i64>("math/add", [2, 3]));
/// let name = batch.add(peer.call::<String>("name", ()));
/// let outcomes = batch.send().await?;
/// println!("{} {}", sum.read(&outcomes)?, name.read(&outcomes)?);
/// # Ok(())
/// # }
/// ```
#[must_use = "call `send` to send the batch"]
pub struct BatchBuilder {
    peer: Peer,
    calls: Vec<Call>,
    fault: Option<CallError>,
    timeout: Option<Duration>,
}

impl BatchBuilder {
    pub(crate) fn new(peer: Peer, timeout: Option<Duration>) -> BatchBuilder {
        BatchBuilder { peer, calls: Vec::new(), fault: None, timeout }
    }

    /// Adds a request that was not awaited, for instance one of a typed client. The returned [`BatchResult`] reads its
    /// result from the outcomes of [`send`](BatchBuilder::send).
    ///
    /// The timeout of the batch applies, not the request's, and there is no progress. The request must have been made
    /// with the same peer; otherwise `send` fails.
    pub fn add<T>(&mut self, request: Request<T>) -> BatchResult<T> {
        let at = self.calls.iter().filter(|call| !call.is_notification()).count();
        match request.into_call_over(&self.peer) {
            Ok(call) => self.calls.push(call),
            Err(error) => self.fault = self.fault.take().or(Some(error)),
        }
        BatchResult { at, result: PhantomData }
    }

    /// Adds a call.
    pub fn call(self, method: impl Into<Name>, params: impl Serialize) -> BatchBuilder {
        self.push(&params, |params| Call::new(method, params))
    }

    /// Adds a notification.
    pub fn notify(self, method: impl Into<Name>, params: impl Serialize) -> BatchBuilder {
        self.push(&params, |params| Call::notification(method, params))
    }

    /// Sets how long to wait for the responses.
    pub fn timeout(mut self, timeout: Duration) -> BatchBuilder {
        self.timeout = Some(timeout);
        self
    }

    /// Marks all calls added so far as [repeatable](Call::repeatable).
    pub fn repeatable(mut self) -> BatchBuilder {
        self.calls = self.calls.into_iter().map(Call::repeatable).collect();
        self
    }

    fn push(mut self, params: &impl Serialize, call: impl FnOnce(Option<Json>) -> Call) -> BatchBuilder {
        match encode_params(params) {
            Ok(params) => self.calls.push(self.peer.adopt(call(params))),
            Err(error) => self.fault = self.fault.or(Some(error)),
        }
        self
    }

    /// Sends the batch. Returns the outcome of each call, in the order in which they were added; notifications have none.
    /// An empty batch sends nothing.
    ///
    /// # Errors
    ///
    /// When the batch could not be sent, or timed out. The failure of a single call is its outcome.
    pub async fn send(mut self) -> Result<Vec<Result<Json, CallError>>, CallError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let deadline = moment_after(self.timeout.unwrap_or(TIMEOUT));
        let inherited = self.calls.iter().filter_map(|call| call.cx.deadline).min();
        let deadline = inherited.map_or(deadline, |inherited| inherited.min(deadline));
        let answered: Vec<bool> = self.calls.iter().map(|call| !call.is_notification()).collect();
        if self.timeout.is_some() {
            self.calls.iter_mut().for_each(|call| limit(call, deadline));
        }
        let replies = tokio::time::timeout_at(deadline, Remote::batch(&self.peer, self.calls)).await;
        let replies = replies.map_err(|_| CallError::TimedOut)?;
        let outcomes = replies.into_iter().zip(answered).filter(|(_, answered)| *answered);
        Ok(outcomes.map(|(reply, _)| read(reply)).collect())
    }
}

/// Reads the result of one call from the outcomes of its batch.
pub struct BatchResult<T> {
    at: usize,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static> BatchResult<T> {
    /// The result of the call. `outcomes` is what [`BatchBuilder::send`] returned.
    ///
    /// # Errors
    ///
    /// When the call failed, or its result is not a `T`.
    pub fn read(&self, outcomes: &[Result<Json, CallError>]) -> Result<T, CallError> {
        match outcomes.get(self.at) {
            Some(Ok(json)) => decode_result(json),
            Some(Err(error)) => Err(error.clone()),
            None => Err(CallError::Result("these outcomes belong to another batch".into())),
        }
    }
}

impl<T> fmt::Debug for BatchResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BatchResult").field(&self.at).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorObject;
    use crate::router::Router;

    fn peer() -> Peer {
        let echo = |(value,): (Json,), _| Ok::<_, ErrorObject>(value);
        Peer::local(Router::builder().method("echo", echo).build().unwrap())
    }

    #[tokio::test]
    async fn each_result_is_that_of_its_own_call() {
        let peer = peer();
        let mut batch = peer.batch().call("echo", [0]).notify("echo", [9]);
        let number = batch.add(peer.call::<u8>("echo", [1]));
        let missing = batch.add(peer.call::<u8>("nope", ()));
        let other = batch.add(peer.call::<u8>("echo", ["text"]));
        let text = batch.add(peer.clone().with_timeout(Duration::MAX).call::<String>("echo", ["text"]));
        let outcomes = batch.send().await.unwrap();
        assert_eq!(outcomes.len(), 5);
        assert_eq!(number.read(&outcomes), Ok(1));
        assert!(missing.read(&outcomes).unwrap_err().rejection().is_some());
        assert!(matches!(other.read(&outcomes), Err(CallError::Result(_))));
        assert_eq!(text.read(&outcomes).as_deref(), Ok("text"));
        assert!(matches!(text.read(&[]), Err(CallError::Result(_))));
    }

    #[tokio::test]
    async fn a_call_of_another_peer_fails_the_batch() {
        let mut batch = peer().batch();
        let _ = batch.add(peer().call::<u8>("echo", [1]));
        assert!(matches!(batch.send().await, Err(CallError::Unsupported(_))));
    }
}
