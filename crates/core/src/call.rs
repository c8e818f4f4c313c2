//! A call on its way to a service.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::call_error::CallError;
use crate::context::{Context, Version};
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::{Json, Kind};
use crate::name::Name;
use crate::text::Text;

/// One call: a method, its parameters, and its caller.
///
/// A call without an identifier is a notification: it passes every layer like any call, and its reply is dropped.
#[derive(Clone)]
#[non_exhaustive]
pub struct Call {
    /// The method to call.
    pub method: Name,
    /// The parameters: an array, an object, or nothing.
    pub params: Option<Json>,
    /// Who calls, from where, until when.
    pub cx: Context,
    id: Option<Id>,
}

impl Call {
    /// A call of `method` with `params` that expects a response. The sender assigns its identifier.
    #[must_use]
    pub fn new(method: impl Into<Name>, params: Option<Json>) -> Call {
        Call { method: method.into(), params, cx: Context::default(), id: Some(Id::NULL) }
    }

    /// A call of `method` with `params` without a response.
    #[must_use]
    pub fn notification(method: impl Into<Name>, params: Option<Json>) -> Call {
        Call { method: method.into(), params, cx: Context::default(), id: None }
    }

    /// Replaces the context.
    #[must_use]
    pub fn with_context(mut self, cx: Context) -> Call {
        self.cx = cx;
        self
    }

    /// Marks the call as safe to send twice: its method is safe or idempotent, or the caller knows that a retry is fine. A
    /// [reconnecting peer](crate::reconnect) sends it again if the connection breaks before the answer arrives. A
    /// notification is never repeatable.
    #[must_use]
    pub fn repeatable(mut self) -> Call {
        self.cx.insert(Repeatable);
        self
    }

    /// Whether the call may be sent twice.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        !self.is_notification() && self.cx.get::<Repeatable>().is_some()
    }

    /// The identifier that the caller chose. Replies have none: the driver adds it.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// Whether the caller expects no response.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.id.is_none()
    }

    /// The same call without its parameters, sharing no buffer: it does not keep the frame that the call came in.
    pub(crate) fn without_params(&self) -> Call {
        let (method, id) = (self.method.detached(), self.id.as_ref().map(Id::detached));
        Call { method, params: None, cx: self.cx.clone(), id }
    }

    /// A call of nothing, to be filled in.
    pub(crate) fn blank(cx: Context) -> Call {
        Call { method: Name::from_static(""), params: None, cx, id: None }
    }

    /// What is called, to be filled in.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (&mut Name, &mut Option<Json>, &mut Option<Id>) {
        (&mut self.method, &mut self.params, &mut self.id)
    }

    pub(crate) fn into_parts(self) -> (Name, Option<Json>, Option<Id>) {
        (self.method, self.params, self.id)
    }
}

/// Shows the method and the caller. Parameters may be secrets, so only their size is shown.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("id", &self.id)
            .field("params_bytes", &self.params.as_ref().map(|params| params.as_bytes().len()))
            .field("cx", &self.cx)
            .finish()
    }
}

/// The mark of a call that may be sent twice. It travels in the context, so that calls without it stay as small as they are.
struct Repeatable;

/// Members of a request that the protocol does not define, as one JSON object.
///
/// A driver attaches them to the call's [`Context`]; a proxy forwards them.
#[derive(Clone, Debug)]
pub struct Members(pub Json);

impl Members {
    /// No members, as a value that hides those that were attached before.
    #[must_use]
    pub fn none() -> Json {
        Json::from_text(Text::from_static("{}"))
    }

    /// The members of the call with this context, if there are any.
    #[must_use]
    pub fn of(cx: &Context) -> Option<&Json> {
        cx.get::<Members>().map(|members| &members.0).filter(|members| members.as_bytes() != b"{}")
    }

    /// The members of a request that is about to be written: those of the context, and those that its [`MembersOnSend`] adds.
    #[must_use]
    pub fn to_send<'a>(cx: &'a Context, outgoing: &Outgoing<'_>) -> Option<Cow<'a, Json>> {
        let given = Members::of(cx);
        match cx.get::<MembersOnSend>().and_then(|add| (add.0)(outgoing)) {
            None => given.map(Cow::Borrowed),
            Some(added) => Some(Cow::Owned(match given {
                Some(given) => joined(given, &added),
                None => added,
            })),
        }
    }
}

/// The members of two objects as one object.
fn joined(one: &Json, two: &Json) -> Json {
    let ([b'{', one @ .., b'}'], [b'{', two @ .., b'}']) = (one.as_bytes(), two.as_bytes()) else {
        return one.clone();
    };
    let is_empty = one.trim_ascii().is_empty() || two.trim_ascii().is_empty();
    let separator = if is_empty { &b""[..] } else { b"," };
    Json::from_text(Text::from_vec([b"{", one, separator, two, b"}"].concat()))
}

/// Adds members to a request when it is written, because only then its identifier and its params are final. In the
/// [`Context`] of a call, it is asked each time that the call is sent.
#[derive(Clone)]
pub struct MembersOnSend(Arc<AddMembers>);

/// Gives members to add to a request; none if there is nothing to add.
type AddMembers = dyn Fn(&Outgoing<'_>) -> Option<Json> + Send + Sync;

impl MembersOnSend {
    /// Adds the members of the object that this function returns for a request, if it returns one.
    pub fn new(add: impl Fn(&Outgoing<'_>) -> Option<Json> + Send + Sync + 'static) -> MembersOnSend {
        MembersOnSend(Arc::new(add))
    }
}

impl fmt::Debug for MembersOnSend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MembersOnSend(..)")
    }
}

/// Checks the messages of a stream when they arrive. In the [`Context`] of the call that opens the stream.
#[derive(Clone)]
pub struct ItemCheck(Arc<CheckItem>);

/// Checks a message of a stream.
type CheckItem = dyn Fn(&ReceivedItem<'_>) -> Result<(), ErrorObject> + Send + Sync;

/// A message of a stream: an item, a gap or the end.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReceivedItem<'a> {
    /// The method of the notification. Empty if it is a response.
    pub method: &'a str,
    /// The params of the notification, or the result of the response, as they were written.
    pub content: &'a Json,
    /// The members beside it that the protocol does not define.
    pub members: Option<&'a Json>,
    /// Whether the stream ends with it.
    pub is_end: bool,
}

impl<'a> ReceivedItem<'a> {
    /// An item that arrived as a response; for transports.
    #[must_use]
    pub fn response(result: &'a Json, members: Option<&'a Json>) -> ReceivedItem<'a> {
        ReceivedItem { method: "", content: result, members, is_end: false }
    }
}

impl ItemCheck {
    /// Checks every message of the stream with this function. An error ends the stream.
    pub fn new(
        check: impl Fn(&ReceivedItem<'_>) -> Result<(), ErrorObject> + Send + Sync + 'static,
    ) -> ItemCheck {
        ItemCheck(Arc::new(check))
    }

    /// Checks a message; for transports.
    ///
    /// # Errors
    ///
    /// If the stream has to end.
    pub fn check(&self, item: &ReceivedItem<'_>) -> Result<(), ErrorObject> {
        (self.0)(item)
    }
}

impl fmt::Debug for ItemCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ItemCheck(..)")
    }
}

/// A request that is about to be written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Outgoing<'a> {
    /// The version that it is written in.
    pub version: Version,
    /// Its identifier; none for a notification.
    pub id: Option<&'a Id>,
    /// The method.
    pub method: &'a Name,
    /// The parameters.
    pub params: Option<&'a Json>,
}

impl<'a> Outgoing<'a> {
    /// A request to be written.
    #[must_use]
    pub fn new(
        version: Version,
        id: Option<&'a Id>,
        method: &'a Name,
        params: Option<&'a Json>,
    ) -> Outgoing<'a> {
        Outgoing { version, id, method, params }
    }
}

/// Marks a caller that reads a stream: for methods that can also return one value, see
/// [`Context::wants_stream`], and for transports that must ask for a stream, because they answer a plain call with its
/// items in one array. [`Peer::stream`](crate::Peer::stream) attaches it to the call's [`Context`], and so does a driver
/// whose caller asked for one.
#[derive(Clone, Copy, Debug)]
pub struct StreamWanted;

/// Turns the parameters that a caller passes into the `params` member: arrays and tuples by position, objects and
/// structs by name, `()` and `None` not at all.
///
/// # Errors
///
/// When the value is neither an array, an object nor nothing, or cannot be serialized.
pub fn encode_params<P: Serialize + ?Sized>(params: &P) -> Result<Option<Json>, CallError> {
    let json = Json::encode_ref(params).map_err(|error| CallError::Params(error.to_string().into()))?;
    match json.kind() {
        Kind::Array | Kind::Object => Ok(Some(json)),
        Kind::Null => Ok(None),
        other => Err(CallError::Params(
            format!("expected an array, an object or nothing, found {}", other.with_article()).into(),
        )),
    }
}
