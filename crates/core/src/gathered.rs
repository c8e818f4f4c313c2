//! Calls of this side that go out as one batch.

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
use crate::peer::{Peer, Remote, Request, TIMEOUT, decode_result, limit, read};

/// Calls that go out as one batch.
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
#[must_use = "a batch is sent by `send`"]
pub struct Batch {
    peer: Peer,
    calls: Vec<Call>,
    fault: Option<CallError>,
    timeout: Option<Duration>,
}

impl Batch {
    pub(crate) fn new(peer: Peer, timeout: Option<Duration>) -> Batch {
        Batch { peer, calls: Vec::new(), fault: None, timeout }
    }

    /// Adds a call that was made but not awaited, such as those of typed clients. What it gives reads the call's result from what
    /// the batch is answered with.
    ///
    /// The batch's timeout counts, not that of the call; and a batch tells no progress. A call of another peer fails the batch.
    pub fn add<T>(&mut self, request: Request<T>) -> Place<T> {
        let at = self.calls.iter().filter(|call| !call.is_notification()).count();
        match request.into_call_over(&self.peer) {
            Ok(call) => self.calls.push(call),
            Err(error) => self.fault = self.fault.take().or(Some(error)),
        }
        Place { at, result: PhantomData }
    }

    /// Adds a call.
    pub fn call(self, method: impl Into<Name>, params: impl Serialize) -> Batch {
        self.push(&params, |params| Call::new(method, params))
    }

    /// Adds a notification.
    pub fn notify(self, method: impl Into<Name>, params: impl Serialize) -> Batch {
        self.push(&params, |params| Call::notification(method, params))
    }

    /// Waits this long for the answers.
    pub fn timeout(mut self, timeout: Duration) -> Batch {
        self.timeout = Some(timeout);
        self
    }

    /// Says that all that was added so far may reach the far side twice without harm, see [`Call::repeatable`].
    pub fn repeatable(mut self) -> Batch {
        self.calls = self.calls.into_iter().map(Call::repeatable).collect();
        self
    }

    fn push(mut self, params: &impl Serialize, call: impl FnOnce(Option<Json>) -> Call) -> Batch {
        match encode_params(params) {
            Ok(params) => self.calls.push(call(params)),
            Err(error) => self.fault = self.fault.or(Some(error)),
        }
        self
    }

    /// Sends the batch. Gives the outcome of each call in the order they were added; notifications have none. Of an empty one
    /// nothing is sent.
    ///
    /// # Errors
    ///
    /// When nothing could be sent, or the answer did not come in time. What happens to one call stands in its place.
    pub async fn send(mut self) -> Result<Vec<Result<Json, CallError>>, CallError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let deadline = moment_after(self.timeout.unwrap_or(TIMEOUT));
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

/// The place of a call among the outcomes of its batch.
pub struct Place<T> {
    at: usize,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static> Place<T> {
    /// The result of the call, from what [`Batch::send`] gave.
    ///
    /// # Errors
    ///
    /// When the call failed, or its result is no `T`.
    pub fn read(&self, outcomes: &[Result<Json, CallError>]) -> Result<T, CallError> {
        match outcomes.get(self.at) {
            Some(Ok(json)) => decode_result(json),
            Some(Err(error)) => Err(error.clone()),
            None => Err(CallError::Result("these are the outcomes of another batch".into())),
        }
    }
}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.at).finish()
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
    async fn each_call_finds_its_own_outcome() {
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
