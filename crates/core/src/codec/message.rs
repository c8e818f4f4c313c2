//! The content of a frame.

use crate::call::Call;
use crate::codec::entries::{Entries, Loaded};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;
use crate::reply::Extra;

/// The content of one frame.
#[derive(Debug)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// A batch, in the order of its entries.
    Batch(Entries),
}

/// One object of the protocol, or what is wrong with it.
#[derive(Debug)]
pub enum Message {
    /// A call or a notification.
    Request(RequestObject),
    /// A response to a call from this side.
    Response(ResponseObject),
    /// JSON, but neither of the two.
    Invalid(Invalid),
}

/// A request object.
#[derive(Debug)]
#[non_exhaustive]
pub struct RequestObject {
    /// Its version, which its response has too.
    pub version: Version,
    /// Its identifier; none for a notification.
    pub id: Option<Id>,
    /// The method.
    pub method: Name,
    /// The parameters.
    pub params: Option<Json>,
    /// Members that the protocol does not define, as one object; boxed because they are rare.
    pub members: Option<Box<Json>>,
}

impl RequestObject {
    /// The request that this call was loaded from.
    pub(super) fn of(call: Call, loaded: Loaded) -> RequestObject {
        let (method, params, id) = call.into_parts();
        RequestObject { version: loaded.version, id, method, params, members: loaded.members }
    }
}

/// A response object.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResponseObject {
    /// Its version.
    pub version: Version,
    /// The identifier of its call.
    pub id: Id,
    /// Its outcome.
    pub outcome: ResponseOutcome,
    /// Members that the protocol does not define, as one object, except the one that announces a stream; boxed
    /// because they are rare.
    pub members: Option<Box<Json>>,
    /// The text of its error, if there are such members: one of them may be about it.
    pub error: Option<Box<Json>>,
}

impl ResponseObject {
    /// What travels beside the outcome, if anything.
    pub fn take_extra(&mut self) -> Option<Box<Extra>> {
        let mut extra = Extra::from_members(*self.members.take()?);
        extra.error = self.error.take().map(|error| *error);
        Some(Box::new(extra))
    }
}

/// The outcome in a response.
#[derive(Debug)]
pub enum ResponseOutcome {
    /// A result.
    Value(Json),
    /// The identifier of a stream whose items follow, and the member that announces it: true, or an object with the method
    /// names of the stream.
    Stream(Json, Json),
    /// An error.
    Error(ErrorObject),
    /// An invalid response, and which rule it violates (J2-66).
    Broken(&'static str),
}

/// An object that is not a message of the protocol.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invalid {
    /// The version of the response to it.
    pub version: Version,
    /// The identifier to respond with: its own if readable, `null` otherwise (J2-29); none if it is a
    /// notification, which gets no response.
    pub id: Option<Id>,
    /// What is wrong.
    pub error: ErrorObject,
}
