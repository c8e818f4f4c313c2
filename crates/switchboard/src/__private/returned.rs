//! What a method returns.

use std::marker::PhantomData;

use futures_core::Stream;
use serde::Serialize;
use serde_json::Value;
use switchboard_core::{DeclaredError, Peer, Reply, Request, Schemas, StreamRequest};

use super::{Described, Failure, Readable, Writable};

/// The return type of a method or the items of its stream. Inherent functions take precedence over those of [`PlainReturned`], so that a `Result` is recognised
/// whatever it is called where it is used.
pub struct Returned<T>(PhantomData<T>);

impl<T, E> Returned<Result<T, E>> {
    #[inline]
    pub fn reply(result: Result<T, E>) -> Reply
    where
        T: Writable,
        E: Failure,
    {
        Reply::from_result(result)
    }

    pub fn stream(values: impl Stream<Item = Result<T, E>> + Send + 'static) -> Reply
    where
        T: Writable,
        E: Failure,
    {
        Reply::try_stream(values)
    }

    pub fn schema(schemas: &mut Schemas) -> Value
    where
        T: Described,
    {
        schemas.of::<T>()
    }

    pub fn errors() -> Vec<DeclaredError>
    where
        E: Failure,
    {
        E::declared()
    }

    /// Only explains what is wrong.
    pub fn request(_: &Peer, _: &'static str, _: impl Serialize, _: bool) -> Request<Result<T, E>>
    where
        Alias<T, E>: Seen,
    {
        Peer::absent().call("", ())
    }

    /// Only explains what is wrong.
    pub fn stream_request(
        _: &Peer,
        _: &'static str,
        _: impl Serialize,
        _: bool,
    ) -> StreamRequest<Result<T, E>>
    where
        Alias<T, E>: Seen,
    {
        Peer::absent().stream("", ())
    }
}

#[diagnostic::on_unimplemented(
    message = "the generated client cannot see through this alias of `Result`",
    label = "write `Result<T, E>` instead of the alias"
)]
pub trait Seen {}

/// A `Result` by another name.
pub struct Alias<T, E>(PhantomData<(T, E)>);

pub trait PlainReturned {
    type Value;

    fn reply(value: Self::Value) -> Reply
    where
        Self::Value: Writable;

    fn stream(values: impl Stream<Item = Self::Value> + Send + 'static) -> Reply
    where
        Self::Value: Writable;

    fn schema(schemas: &mut Schemas) -> Value
    where
        Self::Value: Described;

    fn errors() -> Vec<DeclaredError> {
        Vec::new()
    }

    fn request(
        peer: &Peer,
        method: &'static str,
        params: impl Serialize,
        is_repeatable: bool,
    ) -> Request<Self::Value>
    where
        Self::Value: Readable,
    {
        super::request(peer, method, params, is_repeatable)
    }

    fn stream_request(
        peer: &Peer,
        method: &'static str,
        params: impl Serialize,
        is_repeatable: bool,
    ) -> StreamRequest<Self::Value>
    where
        Self::Value: Readable,
    {
        super::stream_request(peer, method, params, is_repeatable)
    }
}

impl<T> PlainReturned for Returned<T> {
    type Value = T;

    #[inline]
    fn reply(value: T) -> Reply
    where
        T: Writable,
    {
        Reply::of(&value)
    }

    fn stream(values: impl Stream<Item = T> + Send + 'static) -> Reply
    where
        T: Writable,
    {
        Reply::stream(values)
    }

    fn schema(schemas: &mut Schemas) -> Value
    where
        T: Described,
    {
        schemas.of::<T>()
    }
}

pub fn error<E: Failure>(error: E) -> Reply {
    Reply::error(error.into_error())
}

pub fn errors<E: Failure>() -> Vec<DeclaredError> {
    E::declared()
}

/// The two types of a `Result`, for aliases that do not show them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `std::result::Result`",
    label = "the generated client assumes that a type named `Result` is the standard library's",
    note = "import your type under another name, as in `use … as SearchResult`"
)]
pub trait Fallible {
    type Value;
    type Error;
}

impl<T, E> Fallible for Result<T, E> {
    type Value = T;
    type Error = E;
}
