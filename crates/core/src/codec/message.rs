//! What a frame holds.

use crate::call::Call;
use crate::codec::entries::{Entries, Loaded};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::name::Name;

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
    Request(Request),
    /// An answer to a call of this side.
    Response(Response),
    /// JSON, but none of the two.
    Invalid(Invalid),
}

/// A request object.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// The version it is written in, which its response has too.
    pub version: Version,
    /// Its identifier; none for a notification.
    pub id: Option<Id>,
    /// The method.
    pub method: Name,
    /// The parameters.
    pub params: Option<Json>,
    /// Members that the protocol does not define, as one object; boxed because there seldom are any.
    pub members: Option<Box<Json>>,
}

impl Request {
    /// The request that this call was loaded from.
    pub(super) fn of(call: Call, loaded: Loaded) -> Request {
        let (method, params, id) = call.into_parts();
        Request { version: loaded.version, id, method, params, members: loaded.members }
    }
}

/// A response object.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The version it is written in.
    pub version: Version,
    /// The identifier of the call it answers.
    pub id: Id,
    /// What it says.
    pub outcome: Outcome,
    /// Members that the protocol does not define, as one object, but for the one that says that a stream follows; boxed
    /// because there seldom are any.
    pub members: Option<Box<Json>>,
}

/// What a response says.
#[derive(Debug)]
pub enum Outcome {
    /// A result.
    Value(Json),
    /// The identifier of a stream whose items follow, and the member that says so: true, or an object with the names
    /// that the stream goes by.
    Stream(Json, Json),
    /// A failure.
    Error(ErrorObject),
    /// Something that breaks the rules for responses, and which one (J2-66).
    Broken(&'static str),
}

/// An object that is no message of the protocol.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invalid {
    /// The version in whose shape it is answered.
    pub version: Version,
    /// The identifier to answer with: its own if that can be read, `null` otherwise (J2-29); none if it is a
    /// notification, which is not answered.
    pub id: Option<Id>,
    /// What is wrong.
    pub error: ErrorObject,
}
