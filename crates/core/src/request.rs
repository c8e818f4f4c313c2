//! Calls that are sent when they are awaited, and their results.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use serde::de::DeserializeOwned;

use crate::call::{Call, StreamWanted};
use crate::call_error::CallError;
use crate::json::Json;
use crate::metadata::Metadata;
use crate::name::Name;
use crate::peer::{OnProgress, Peer};
use crate::reply::{Items, Outcome, Reply};
use crate::subscription::Subscription;

/// A call that is sent when it is awaited, and returns its result. [`Peer::call`] and the methods of typed clients return it.
///
/// Set options before awaiting it:
///
/// ```
/// # use std::time::Duration;
/// # use switchboard_core::{CallError, Peer};
/// # async fn example(peer: Peer) -> Result<(), CallError> {
/// let sum: i64 = peer
///     .call("slow/add", [2, 3])
///     .timeout(Duration::from_secs(5))
///     .on_progress(|percent: u8| println!("{percent} %"))
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// It is an [`IntoFuture`]: write `request.into_future()` where a future is required, as by `tokio::spawn`.
///
/// # Cancel safety
///
/// Dropping the future cancels the call on the server, if the transport can send cancellations.
#[must_use = "a call is sent when it is awaited"]
pub struct Request<T> {
    peer: Peer,
    method: Name,
    params: Result<Option<Json>, CallError>,
    timeout: Option<Duration>,
    cap: Option<Duration>,
    progress: Option<OnProgress>,
    is_repeatable: bool,
    metadata: Metadata,
    result: PhantomData<fn() -> T>,
}

impl<T> Request<T> {
    pub(crate) fn new(peer: Peer, method: Name, params: Result<Option<Json>, CallError>) -> Request<T> {
        Request {
            timeout: peer.timeout(),
            peer,
            method,
            params,
            cap: None,
            progress: None,
            is_repeatable: false,
            metadata: Metadata::default(),
            result: PhantomData,
        }
    }

    /// Fails with [`CallError::TimedOut`] if the response takes longer than this. The server knows the timeout, see
    /// [`Peer::with_timeout`].
    pub fn timeout(mut self, timeout: Duration) -> Request<T> {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for progress, and calls `see` with each value that arrives before the answer. Values that are not a `P` are
    /// skipped.
    ///
    /// `see` runs in the task that awaits the call. While it is busy a few values are kept; further ones are dropped.
    pub fn on_progress<P: DeserializeOwned + 'static>(
        mut self,
        mut see: impl FnMut(P) + Send + 'static,
    ) -> Request<T> {
        self.progress = Some(Box::new(move |value| match value.decode() {
            Ok(value) => see(value),
            Err(_) => tracing::debug!("dropped a progress value of an unexpected type"),
        }));
        self
    }

    /// Asks for progress, and restarts the [timeout](Request::timeout) with each value that arrives. The call as a whole
    /// takes no longer than `cap`, which is the timeout sent to the server.
    pub fn reset_on_progress(mut self, cap: Duration) -> Request<T> {
        self.cap = Some(cap);
        self
    }

    /// Adds metadata to the call: a header of the request over HTTP, an entry of its member `metadata` elsewhere, if
    /// [`Profile::call_options`](crate::Profile::call_options) are on. The handler finds it in [`Context::metadata`](crate::Context::metadata).
    ///
    /// Over WebSocket the server must allow names other than those of a trace, see [`Profile::metadata`](crate::Profile::metadata). A
    /// batch over HTTP sends the entries that all its calls have in common.
    ///
    /// Over HTTP, headers that belong to the connection or to the body, such as `Host` and `Content-Length`, are left out.
    pub fn metadata(mut self, name: &str, value: impl Into<Bytes>) -> Request<T> {
        self.metadata.insert(name, value);
        self
    }

    /// Marks the call as [repeatable](Call::repeatable).
    pub fn repeatable(mut self) -> Request<T> {
        self.is_repeatable = true;
        self
    }

    /// The call, to be sent over this peer, which has to be the one that it was made for.
    pub(crate) fn into_call_over(self, peer: &Peer) -> Result<Call, CallError> {
        if self.peer.is_same(peer) {
            return self.to_call();
        }
        Err(CallError::Unsupported("the batch contains a call of another peer".into()))
    }

    fn to_call(&self) -> Result<Call, CallError> {
        let mut call = self.peer.adopt(Call::new(self.method.clone(), self.params.clone()?));
        for (name, value) in self.metadata.entries() {
            call.cx.send_metadata(name, Bytes::copy_from_slice(value));
        }
        Ok(if self.is_repeatable { call.repeatable() } else { call })
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for Request<T> {
    type Output = Result<T, CallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let call = self.to_call()?;
            if self.progress.is_none() && self.cap.is_none() {
                return read(self.peer.ask(call, self.timeout).await?);
            }
            read(self.peer.ask_watching(call, self.timeout, self.cap, self.progress).await?)
        })
    }
}

/// A call of a method that returns a stream. It is sent when it is awaited, and then returns the [`Values`].
#[must_use = "a call is sent when it is awaited"]
pub struct StreamRequest<T> {
    request: Request<T>,
    names: Option<Subscription>,
}

impl<T> StreamRequest<T> {
    pub(crate) fn new(request: Request<T>, names: Option<Subscription>) -> StreamRequest<T> {
        StreamRequest { request, names }
    }

    /// Fails with [`CallError::TimedOut`] if the stream takes longer than this to begin.
    pub fn timeout(mut self, timeout: Duration) -> StreamRequest<T> {
        self.request = self.request.timeout(timeout);
        self
    }

    /// Adds metadata to the call, see [`Request::metadata`].
    pub fn metadata(mut self, name: &str, value: impl Into<Bytes>) -> StreamRequest<T> {
        self.request = self.request.metadata(name, value);
        self
    }

    /// Marks the call as [repeatable](Call::repeatable).
    pub fn repeatable(mut self) -> StreamRequest<T> {
        self.request = self.request.repeatable();
        self
    }
}

impl<T> fmt::Debug for StreamRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRequest").field("method", &self.request.method).finish_non_exhaustive()
    }
}

impl<T: 'static> IntoFuture for StreamRequest<T> {
    type Output = Result<Values<T>, CallError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let StreamRequest { request, names } = self;
            let mut call = request.to_call()?;
            call.cx.insert(StreamWanted);
            if let Some(names) = names {
                call.cx.insert(Arc::new(names));
            }
            let items = match request.peer.ask(call, request.timeout).await?.outcome {
                Outcome::Stream(items) => items,
                Outcome::Value(json) => Items::new(futures_util::stream::iter([Ok(json)])),
                Outcome::Error(error) => return Err(error.into()),
            };
            Ok(Values { items, item: PhantomData })
        })
    }
}

pub(crate) fn read<T: DeserializeOwned + 'static>(reply: Reply) -> Result<T, CallError> {
    match reply.outcome {
        Outcome::Value(json) => decode_result(&json),
        Outcome::Error(error) => Err(error.into()),
        Outcome::Stream(_) => Err(CallError::Result("expected one value, found a stream".into())),
    }
}

pub(crate) fn decode_result<T: DeserializeOwned + 'static>(json: &Json) -> Result<T, CallError> {
    json.decode().map_err(|error| CallError::Result(error.to_string().into()))
}

/// The items of a stream, as typed values. Dropping it ends the stream on the server.
///
/// An error is the last item, except [`CallError::Gap`], which marks missing items, and
/// [`CallError::Result`], which replaces an item that is not a `T`.
pub struct Values<T> {
    items: Items,
    item: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values(..)")
    }
}

impl<T: DeserializeOwned + 'static> Stream for Values<T> {
    type Item = Result<T, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.items)
            .poll_next(cx)
            .map(|next| next.map(|item| item.map_err(CallError::from).and_then(|json| decode_result(&json))))
    }
}
