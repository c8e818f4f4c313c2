//! The members that Switchboard adds for features that the standard does not cover (OR-45, OR-48).

use serde_json::{Map, Value};

use super::{ContentDescriptor, ErrorEntry, MethodEntry};

/// Of a method that changes nothing: `true`.
pub(crate) const SAFE: &str = "x-safe";
/// Of a method that may be called twice without harm: `true`.
pub(crate) const IDEMPOTENT: &str = "x-idempotent";
/// Of a method whose calls are stored before they run: `true`.
pub(crate) const DURABLE: &str = "x-durable";
/// Of a method that answers with a stream: `{"item": SCHEMA}`; with `"optional": true` if only those get it who want one.
pub(crate) const STREAM: &str = "x-stream";
/// For a method whose stream has its own method names: `{"notification", "unsubscribe", "item"}`.
pub(crate) const SUBSCRIPTION: &str = "x-subscription";
/// Of a deprecated method: why.
pub(crate) const DEPRECATED_REASON: &str = "x-deprecated-reason";
/// Of a method: the schemas of the details of its errors, by code. An error itself may have no such member, says the official
/// schema; where one has it nevertheless, it is the schema itself.
pub(crate) const DATA_SCHEMA: &str = "x-data-schema";

/// Of a method that can only be notified, in versions of OpenRPC where all have a result: `true`.
pub(crate) const NOTIFICATION: &str = "x-notification";
/// Of a method about whose parameters nothing is known: `true`.
pub(crate) const UNKNOWN_PARAMS: &str = "x-unknown-params";
/// Of a method that ignores named parameters which it does not describe: `true`.
pub(crate) const ADDITIONAL_PARAMS: &str = "x-additional-params";
/// Of a parameter that by position takes all that is left: `true`. By name it is an array.
pub(crate) const VARIADIC: &str = "x-variadic";

/// The method names of a stream on a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubscriptionNames<'a> {
    /// The notification that carries an item.
    pub notification: &'a str,
    /// The method that unsubscribes.
    pub unsubscribe: &'a str,
    /// The schema of an item, if known.
    pub item: Option<&'a Value>,
}

impl MethodEntry {
    /// Whether it is marked as safe: it changes no state.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.is_marked(SAFE)
    }

    /// Whether it is marked as idempotent: it can be called twice without harm. Safe methods are.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.is_marked(IDEMPOTENT) || self.is_safe()
    }

    /// Whether its calls are stored before they run, and run until they are done, if the server has a queue.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.is_marked(DURABLE)
    }

    /// Whether it can only be notified: it has no result, or is marked so.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        self.result.is_none() || self.is_marked(NOTIFICATION)
    }

    /// The schema of an item, if it returns a stream, whatever its names; also if it [need
    /// not](MethodEntry::is_stream_optional).
    #[must_use]
    pub fn stream_item(&self) -> Option<&Value> {
        self.object(STREAM).or_else(|| self.object(SUBSCRIPTION))?.get("item")
    }

    /// Whether it streams only to callers that ask for it, and returns one value to others.
    #[must_use]
    pub fn is_stream_optional(&self) -> bool {
        self.object(STREAM).is_some_and(|stream| is_true(stream, "optional"))
    }

    /// The method names of its stream, if not the default ones.
    #[must_use]
    pub fn subscription(&self) -> Option<SubscriptionNames<'_>> {
        let names = self.object(SUBSCRIPTION)?;
        Some(SubscriptionNames {
            notification: names.get("notification")?.as_str()?,
            unsubscribe: names.get("unsubscribe")?.as_str()?,
            item: names.get("item"),
        })
    }

    /// Whether its parameters are unknown: then it has none in the document, and may accept any.
    #[must_use]
    pub fn has_unknown_params(&self) -> bool {
        self.is_marked(UNKNOWN_PARAMS)
    }

    /// Whether it ignores named parameters that are not described, instead of rejecting them.
    #[must_use]
    pub fn allows_additional_params(&self) -> bool {
        self.is_marked(ADDITIONAL_PARAMS)
    }

    /// Why it is deprecated.
    #[must_use]
    pub fn deprecated_reason(&self) -> Option<&str> {
        self.others.get(DEPRECATED_REASON)?.as_str()
    }

    /// The schema of the data of one of its errors.
    #[must_use]
    pub fn data_schema<'a>(&'a self, error: &'a ErrorEntry) -> Option<&'a Value> {
        let by_code = || self.object(DATA_SCHEMA)?.get(&error.code.to_string());
        error.others.get(DATA_SCHEMA).or_else(by_code)
    }

    fn is_marked(&self, mark: &str) -> bool {
        is_true(&self.others, mark)
    }

    fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.others.get(name)?.as_object()
    }
}

impl ContentDescriptor {
    /// Whether it takes all remaining positions. By name it is an array.
    #[must_use]
    pub fn is_variadic(&self) -> bool {
        is_true(&self.others, VARIADIC)
    }
}

fn is_true(members: &Map<String, Value>, name: &str) -> bool {
    members.get(name) == Some(&Value::Bool(true))
}
