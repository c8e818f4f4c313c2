//! The reply to a call.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;

use crate::codec::{append_members, members, written_members};
use crate::error::{ErrorObject, IntoError};
use crate::json::Json;
use crate::metadata::Metadata;
use crate::subscription::Subscription;
use crate::text::Text;

/// The reply to one call. It has no identifier: the engine adds it.
pub struct Reply {
    /// A result, an error or a stream.
    pub outcome: Outcome,
    /// What travels beside it, if anything.
    pub extra: Option<Box<Extra>>,
}

/// The outcome of a call.
pub enum Outcome {
    /// A result.
    Value(Json),
    /// An error.
    Error(ErrorObject),
    /// A result in parts, pulled when there is room to send them.
    Stream(Items),
}

impl Outcome {
    pub(crate) fn error(&self) -> Option<&ErrorObject> {
        match self {
            Outcome::Error(error) => Some(error),
            _ => None,
        }
    }
}

/// The member of a message that holds its metadata.
const METADATA: &[u8] = b"metadata";

/// What travels beside a result or an error.
///
/// Layers that replace the outcome of a reply keep it: change [`Reply::outcome`], or use [`ReplyFuture::map`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Extra {
    /// The HTTP status of the response. A batch has its own status.
    pub status: Option<u16>,
    /// Headers of the response, over HTTP; the member `metadata` elsewhere.
    pub metadata: Metadata,
    /// Members of the response that the protocol does not define, as one JSON object. They are kept when a reply is
    /// forwarded.
    pub members: Option<Json>,
    /// The text of the error as it was received, if there are members beside it. It is not sent.
    pub error: Option<Json>,
    /// Whether the server answered a whole batch with this one error, as servers do that refuse it. It is not sent.
    pub is_for_batch: bool,
}

impl Extra {
    /// Reads these members of a response, which the protocol does not define.
    #[must_use]
    pub fn from_members(all: Json) -> Extra {
        let is_metadata = |name: &[u8]| *name == *METADATA;
        let Some((_, metadata)) = members(all.as_bytes()).find(|(name, _)| is_metadata(name)) else {
            return Extra { members: Some(all), ..Extra::default() };
        };
        let metadata = Metadata::from_json(&all.sub(metadata));
        let mut rest = Vec::new();
        for ((name, _), (written, value)) in members(all.as_bytes()).zip(written_members(all.as_bytes())) {
            if !is_metadata(&name) {
                rest.push(if rest.is_empty() { b'{' } else { b',' });
                rest.extend_from_slice(written);
                rest.push(b':');
                rest.extend_from_slice(value);
            }
        }
        if !rest.is_empty() {
            rest.push(b'}');
        }
        let rest = (!rest.is_empty()).then(|| Json::from_text(Text::from_vec(rest)));
        Extra { metadata, members: rest, ..Extra::default() }
    }

    /// All of it as members of a message; none if there is nothing. Values that are not text are left out.
    pub(crate) fn to_members(&self) -> Option<Json> {
        let inside = match self.members.as_ref().map(Json::as_bytes) {
            Some([b'{', inside @ .., b'}']) => inside,
            _ => b"",
        };
        let metadata = self.metadata.to_json();
        if metadata.is_none() {
            return self.members.clone();
        }
        let mut text = vec![b'{'];
        text.extend_from_slice(inside);
        text.extend_from_slice(if inside.trim_ascii().is_empty() {
            b"\"metadata\":"
        } else {
            b",\"metadata\":"
        });
        text.extend_from_slice(metadata?.as_bytes());
        text.push(b'}');
        Some(Json::from_text(Text::from_vec(text)))
    }
}

/// The parts of a streamed result. An error ends the stream, unless it is a [`Gap`](crate::Gap).
///
/// A driver pulls them when there is room to send them; dropping them ends their source.
pub struct Items {
    stream: Pin<Box<dyn Stream<Item = Result<Json, ErrorObject>> + Send>>,
    subscription: Option<Arc<Subscription>>,
    seal: Option<ItemSeal>,
}

/// Adds members to the messages of a stream when they are written.
#[derive(Clone)]
pub(crate) struct ItemSeal(Arc<SealItem>);

/// Gives the members to add to a message of a stream: a notification of this method with these params, or, if the method is empty, a
/// response with this result.
type SealItem = dyn Fn(&str, &[u8]) -> Option<Json> + Send + Sync;

impl ItemSeal {
    /// Adds members to the message that ends `out` and whose content is this part of it.
    pub(crate) fn apply(&self, out: &mut Vec<u8>, method: &str, content: Range<usize>) {
        if let Some(members) = (self.0)(method, &out[content]) {
            append_members(out, &members);
        }
    }
}

impl Items {
    /// The items of this stream.
    pub fn new(stream: impl Stream<Item = Result<Json, ErrorObject>> + Send + 'static) -> Items {
        Items { stream: Box::pin(stream), subscription: None, seal: None }
    }

    /// Uses these method names on a connection.
    #[must_use]
    pub fn named(mut self, names: impl Into<Arc<Subscription>>) -> Items {
        self.subscription = Some(names.into());
        self
    }

    /// Wraps the items in another stream, under the same names.
    #[must_use]
    pub fn through<S>(self, wrap: impl FnOnce(Items) -> S) -> Items
    where
        S: Stream<Item = Result<Json, ErrorObject>> + Send + 'static,
    {
        let (subscription, seal) = (self.subscription.clone(), self.seal.clone());
        Items { stream: Box::pin(wrap(self)), subscription, seal }
    }

    /// Adds members to each message of the stream when it is written, such as a signature. The function gets the method and the params of a
    /// notification as they are written, or an empty method and the result of a response.
    #[must_use]
    pub fn sealed(mut self, seal: impl Fn(&str, &[u8]) -> Option<Json> + Send + Sync + 'static) -> Items {
        self.seal = Some(ItemSeal(Arc::new(seal)));
        self
    }

    pub(crate) fn seal(&self) -> Option<&ItemSeal> {
        self.seal.as_ref()
    }

    /// Their method names on a connection, if not the default ones.
    #[must_use]
    pub fn subscription(&self) -> Option<&Arc<Subscription>> {
        self.subscription.as_ref()
    }
}

impl Stream for Items {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("subscription", &self.subscription).finish_non_exhaustive()
    }
}

impl Reply {
    /// A reply with this result.
    #[inline(always)]
    #[must_use]
    pub fn value(json: Json) -> Reply {
        Reply { outcome: Outcome::Value(json), extra: None }
    }

    /// A reply with this error.
    #[inline]
    #[must_use]
    pub fn error(error: ErrorObject) -> Reply {
        Reply { outcome: Outcome::Error(error), extra: None }
    }

    /// A reply with these items.
    #[must_use]
    pub fn items(items: Items) -> Reply {
        Reply { outcome: Outcome::Stream(items), extra: None }
    }

    /// Changes the items, if the reply is a stream.
    #[must_use]
    pub fn map_items(mut self, change: impl FnOnce(Items) -> Items) -> Reply {
        if let Outcome::Stream(items) = self.outcome {
            self.outcome = Outcome::Stream(change(items));
        }
        self
    }

    /// What travels beside the outcome, mutable.
    pub fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Reply {
        self.extra_mut().status = Some(status);
        self
    }

    /// Appends metadata.
    #[must_use]
    pub fn with_metadata(mut self, name: &str, value: impl Into<Bytes>) -> Reply {
        self.extra_mut().metadata.insert(name, value);
        self
    }

    /// A reply with this value, or an internal error if it cannot be serialized.
    pub fn of<T: Serialize + 'static>(value: &T) -> Reply {
        match Json::encode(value) {
            Ok(json) => Reply::value(json),
            Err(error) => Reply::error(ErrorObject::internal(&error)),
        }
    }

    /// The reply for a method's `Result`.
    pub fn from_result<T: Serialize + 'static, E: IntoError>(result: Result<T, E>) -> Reply {
        match result {
            Ok(value) => Reply::of(&value),
            Err(error) => Reply::error(error.into_error()),
        }
    }

    /// A reply that streams these values.
    pub fn stream<S>(values: S) -> Reply
    where
        S: Stream + Send + 'static,
        S::Item: Serialize + 'static,
    {
        Reply::try_stream(ValuesOnly(Box::pin(values)))
    }

    /// A reply that streams these values; an error ends it.
    pub fn try_stream<S, T, E>(values: S) -> Reply
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: IntoError + 'static,
    {
        Reply::items(Items::new(Encoded(Box::pin(values))))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Value(json) => write!(f, "Value({} bytes)", json.as_bytes().len()),
            Outcome::Error(error) => write!(f, "Error({})", error.code),
            Outcome::Stream(_) => f.write_str("Stream(..)"),
        }
    }
}

impl From<Result<Json, ErrorObject>> for Reply {
    fn from(result: Result<Json, ErrorObject>) -> Reply {
        match result {
            Ok(json) => Reply::value(json),
            Err(error) => Reply::error(error),
        }
    }
}

impl From<ErrorObject> for Reply {
    fn from(error: ErrorObject) -> Reply {
        Reply::error(error)
    }
}

/// A reply that may be ready.
///
/// A ready reply costs no allocation, no task and no poll. Dropping the future cancels the call.
#[must_use = "dropping the future cancels the call"]
pub struct ReplyFuture(ReplyFutureState);

enum ReplyFutureState {
    Ready(Option<Reply>),
    Pending(Pin<Box<dyn Future<Output = Reply> + Send>>),
    Untimed(Pin<Box<dyn Future<Output = Reply> + Send>>),
}

impl ReplyFuture {
    /// A ready reply.
    pub fn ready(reply: impl Into<Reply>) -> ReplyFuture {
        ReplyFuture(ReplyFutureState::Ready(Some(reply.into())))
    }

    /// A reply from a future.
    pub fn pending(future: impl Future<Output = Reply> + Send + 'static) -> ReplyFuture {
        ReplyFuture(ReplyFutureState::Pending(Box::pin(future)))
    }

    /// A reply from a future that limits its own time: [`call_time`](crate::Limits::call_time) does not apply to it, the deadline
    /// of its caller does. For calls that wait for a person, or that last as long as their caller listens.
    pub fn untimed(future: impl Future<Output = Reply> + Send + 'static) -> ReplyFuture {
        ReplyFuture(ReplyFutureState::Untimed(Box::pin(future)))
    }

    /// Whether it limits its own time.
    pub(crate) fn is_untimed(&self) -> bool {
        matches!(self.0, ReplyFutureState::Untimed(_))
    }

    /// The reply if it is ready, the future otherwise.
    ///
    /// # Errors
    ///
    /// Returns the future if the reply is not ready.
    pub fn into_ready(self) -> Result<Reply, ReplyFuture> {
        match self.0 {
            ReplyFutureState::Ready(Some(reply)) => Ok(reply),
            other => Err(ReplyFuture(other)),
        }
    }

    /// The outcome, if it is there and nothing travels beside it.
    #[inline(always)]
    pub(crate) fn as_plain(&self) -> Option<&Outcome> {
        match &self.0 {
            ReplyFutureState::Ready(Some(Reply { outcome, extra: None })) => Some(outcome),
            _ => None,
        }
    }

    /// The reply, if it is ready.
    #[must_use]
    pub fn as_ready(&self) -> Option<&Reply> {
        match &self.0 {
            ReplyFutureState::Ready(reply) => reply.as_ref(),
            ReplyFutureState::Pending(_) | ReplyFutureState::Untimed(_) => None,
        }
    }

    /// Changes the reply; a ready one at once.
    pub fn map(self, change: impl FnOnce(Reply) -> Reply + Send + 'static) -> ReplyFuture {
        match self.into_ready() {
            Ok(reply) => ReplyFuture::ready(change(reply)),
            Err(future) => future.through(|future| async move { change(future.await) }),
        }
    }

    /// A future around this one. It limits its own time if this one does.
    pub fn through<F>(self, wrap: impl FnOnce(ReplyFuture) -> F) -> ReplyFuture
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        match self.is_untimed() {
            true => ReplyFuture::untimed(wrap(self)),
            false => ReplyFuture::pending(wrap(self)),
        }
    }
}

impl From<Reply> for ReplyFuture {
    fn from(reply: Reply) -> ReplyFuture {
        ReplyFuture::ready(reply)
    }
}

impl Future for ReplyFuture {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        match &mut self.0 {
            ReplyFutureState::Ready(reply) => {
                Poll::Ready(reply.take().expect("a finished future is not polled again"))
            }
            ReplyFutureState::Pending(future) | ReplyFutureState::Untimed(future) => future.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for ReplyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ReplyFutureState::Ready(reply) => f.debug_tuple("Ready").field(reply).finish(),
            ReplyFutureState::Pending(_) => f.write_str("Pending(..)"),
            ReplyFutureState::Untimed(_) => f.write_str("Untimed(..)"),
        }
    }
}

/// Writes each value of a stream as JSON.
struct Encoded<S>(Pin<Box<S>>);

impl<S, T, E> Stream for Encoded<S>
where
    S: Stream<Item = Result<T, E>>,
    T: Serialize + 'static,
    E: IntoError,
{
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|next| {
            next.map(|item| {
                let value = item.map_err(IntoError::into_error)?;
                Json::encode(&value).map_err(|error| ErrorObject::internal(&error))
            })
        })
    }
}

/// A stream that cannot fail, as one that could.
struct ValuesOnly<S>(Pin<Box<S>>);

impl<S: Stream> Stream for ValuesOnly<S> {
    type Item = Result<S::Item, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map(|next| next.map(Ok))
    }
}
