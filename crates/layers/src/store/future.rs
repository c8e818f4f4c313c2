//! The result of an operation, which may be ready.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::StoreError;

/// The result of an operation on a store. One that is ready costs no allocation.
#[must_use = "the result is known when the future is awaited"]
pub struct StoreFuture<T>(State<T>);

enum State<T> {
    Ready(Option<Result<T, StoreError>>),
    Pending(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>),
}

impl<T> StoreFuture<T> {
    /// A result that is ready.
    pub fn ready(result: Result<T, StoreError>) -> StoreFuture<T> {
        StoreFuture(State::Ready(Some(result)))
    }

    /// A result from a future.
    pub fn pending(future: impl Future<Output = Result<T, StoreError>> + Send + 'static) -> StoreFuture<T> {
        StoreFuture(State::Pending(Box::pin(future)))
    }

    /// The result if it is ready, the future otherwise.
    ///
    /// # Errors
    ///
    /// Returns the future if the result is not ready.
    pub fn into_ready(self) -> Result<Result<T, StoreError>, StoreFuture<T>> {
        match self.0 {
            State::Ready(Some(result)) => Ok(result),
            other => Err(StoreFuture(other)),
        }
    }
}

impl<T: Unpin> Future for StoreFuture<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => {
                Poll::Ready(result.take().expect("a finished future is not polled again"))
            }
            State::Pending(future) => future.as_mut().poll(cx),
        }
    }
}

impl<T> fmt::Debug for StoreFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "StoreFuture(ready)",
            State::Pending(_) => "StoreFuture(pending)",
        })
    }
}
