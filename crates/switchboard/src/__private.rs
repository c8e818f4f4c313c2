//! What the expansion of `#[service]` needs beyond the public API. Not for anybody else, and it changes without notice.
//!
//! Every function here only passes on to the public API. They exist for their bounds: a type that does not fit is then
//! reported in plain words, at the place where the user wrote it.

use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::ser::Error;
use serde::{Serialize, Serializer};
pub use serde_json::json;
use switchboard_core::{
    Arguments, DeclaredError, ErrorObject, IntoError, Json, Name, ParamDescription, Peer, Reply, ReplyFuture,
    Request, Schemas, StreamRequest,
};

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from JSON",
    label = "this type cannot be received",
    note = "put `#[derive(serde::Deserialize)]` on `{Self}` if it is yours, or choose a type that serde can read"
)]
pub trait Readable: DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + 'static> Readable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as JSON",
    label = "this type cannot be sent",
    note = "put `#[derive(serde::Serialize)]` on `{Self}` if it is yours, or choose a type that serde can write"
)]
pub trait Writable: Serialize + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + 'static> Writable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema",
    label = "callers cannot be told what this type looks like",
    note = "put `#[derive(schemars::JsonSchema)]` on `{Self}` if it is yours, or use `switchboard::Json`, which can be \
            anything"
)]
pub trait Described: JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> Described for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used from several threads at once",
    label = "the methods of this type may be called from any thread",
    note = "keep what changes in a `Mutex` or an atomic instead of a `Cell` or `RefCell`, share with `Arc` instead of \
            `Rc`, and borrow nothing"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a method",
    label = "this error type does not say what goes over the wire",
    note = "implement `switchboard::IntoError` for `{Self}`, or return `switchboard::ErrorObject` as the error"
)]
pub trait Failure: IntoError + 'static {}

#[diagnostic::do_not_recommend]
impl<E: IntoError + 'static> Failure for E {}

/// The two types of a `Result`, for aliases that do not show them.
pub trait Fallible {
    type Value;
    type Error;
}

impl<T, E> Fallible for Result<T, E> {
    type Value = T;
    type Error = E;
}

pub fn shareable<T: Shareable>(this: Arc<T>) -> Arc<T> {
    this
}

#[inline]
pub fn required<T: Readable, const N: usize>(
    arguments: &Arguments<'_, N>,
    index: usize,
) -> Result<T, ErrorObject> {
    arguments.required(index)
}

#[inline]
pub fn optional<T: Readable, const N: usize>(
    arguments: &Arguments<'_, N>,
    index: usize,
) -> Result<Option<T>, ErrorObject> {
    arguments.optional(index)
}

/// As for an `Option`, null leaves the argument out: by position there is no other way to reach the ones after it.
#[inline]
pub fn defaulted<T: Readable, const N: usize>(
    arguments: &Arguments<'_, N>,
    index: usize,
    default: impl FnOnce() -> T,
) -> Result<T, ErrorObject> {
    arguments.optional(index).map(|given| given.unwrap_or_else(default))
}

#[inline]
pub fn rest<T: Readable, const N: usize>(arguments: &Arguments<'_, N>) -> Result<Vec<T>, ErrorObject> {
    arguments.rest()
}

#[inline]
pub fn value<T: Writable>(value: T) -> Reply {
    Reply::of(&value)
}

#[inline]
pub fn result<T: Writable, E: Failure>(result: Result<T, E>) -> Reply {
    Reply::from_result(result)
}

pub fn error<E: Failure>(error: E) -> Reply {
    Reply::Error(error.into_error())
}

pub fn pending(reply: impl Future<Output = Reply> + Send + 'static) -> ReplyFuture {
    ReplyFuture::pending(reply)
}

pub fn stream<T: Writable>(values: impl Stream<Item = T> + Send + 'static) -> Reply {
    Reply::stream(values)
}

pub fn try_stream<T: Writable, E: Failure>(
    values: impl Stream<Item = Result<T, E>> + Send + 'static,
) -> Reply {
    Reply::try_stream(values)
}

pub fn schema<T: Described>(schemas: &mut Schemas) -> serde_json::Value {
    schemas.of::<T>()
}

pub fn declared<E: Failure>() -> Vec<DeclaredError> {
    E::declared()
}

pub fn with_default<T: Writable>(param: ParamDescription, default: T) -> ParamDescription {
    param.with_default(&default)
}

/// The arguments of a call by name. An argument that cannot be written as JSON fails the request.
#[derive(Default)]
pub struct Named(Vec<(&'static str, Encoded)>);

impl Named {
    pub fn insert<T: Writable>(&mut self, name: &'static str, value: &T) {
        self.0.push((name, Encoded::new(value)));
    }

    pub fn insert_some<T: Writable>(&mut self, name: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            self.insert(name, value);
        }
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The arguments of a call by position. An argument that cannot be written as JSON fails the request.
#[derive(Default)]
pub struct Positional(Vec<Encoded>);

impl Positional {
    pub fn push<T: Writable>(&mut self, value: &T) {
        self.0.push(Encoded::new(value));
    }
}

impl Serialize for Positional {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

struct Encoded(Result<Json, serde_json::Error>);

impl Encoded {
    fn new<T: Writable>(value: &T) -> Encoded {
        Encoded(Json::encode(value))
    }
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(json) => json.serialize(serializer),
            Err(error) => Err(S::Error::custom(error)),
        }
    }
}

pub fn request<T: Readable>(
    peer: &Peer,
    method: &'static str,
    params: impl Serialize,
    is_repeatable: bool,
) -> Request<T> {
    let request = peer.call(Name::from_static(method), params);
    if is_repeatable { request.repeatable() } else { request }
}

pub fn stream_request<T: Readable>(
    peer: &Peer,
    method: &'static str,
    params: impl Serialize,
    is_repeatable: bool,
) -> StreamRequest<T> {
    let request = peer.stream(Name::from_static(method), params);
    if is_repeatable { request.repeatable() } else { request }
}
