//! Subscriptions in the conventions of other JSON-RPC families.

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::error::ErrorObject;
use crate::json::Json;
use crate::name::Name;
use crate::reply::{Reply, ReplyFuture};
use crate::service::{Service, service_fn};

/// The method names of a stream on a connection, instead of [our own](crate::Streams).
///
/// A method that [declares](crate::Method::subscription) them uses them with every client, so that clients of
/// several families and our own share one port: the response has the identifier of the subscription as its result, as
/// they expect, and beside it the member `stream` with these names, from which our own clients learn them.
///
/// # Examples
///
/// ```
/// use switchboard_core::Subscription;
///
/// let names = Subscription::ethereum("eth");
/// assert_eq!(names.item.as_str(), "eth_subscription");
/// assert_eq!(names.unsubscribe.as_str(), "eth_unsubscribe");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscription {
    /// The notification that carries an item, as `params.result` beside `params.subscription`.
    pub item: Name,
    /// The method that unsubscribes, with the identifier as its only parameter.
    pub unsubscribe: Name,
    /// The form of identifiers, and how the end is signalled.
    pub style: SubscriptionStyle,
}

/// The conventions that a subscription follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SubscriptionStyle {
    /// Ethereum: identifiers are hexadecimal strings, the end is not signalled, and unsubscribing from an unknown one is an
    /// error (ETH-01, ETH-03).
    Ethereum,
    /// jsonrpsee: identifiers are numbers, only an end with an error is signalled, by an item's notification with
    /// `params.error`, and unsubscribing from an unknown one returns false (JSP-02, JSP-03).
    #[default]
    #[serde(other)]
    Named,
}

impl Subscription {
    /// Ethereum's names for this namespace: `ns_subscription` and `ns_unsubscribe` (ETH-04).
    #[must_use]
    pub fn ethereum(namespace: &str) -> Subscription {
        Subscription {
            item: format!("{namespace}_subscription").into(),
            unsubscribe: format!("{namespace}_unsubscribe").into(),
            style: SubscriptionStyle::Ethereum,
        }
    }

    /// These names, in the style of jsonrpsee (JSP-01).
    #[must_use]
    pub fn named(item: impl Into<Name>, unsubscribe: impl Into<Name>) -> Subscription {
        let (item, unsubscribe) = (item.into(), unsubscribe.into());
        Subscription { item, unsubscribe, style: SubscriptionStyle::Named }
    }

    /// Ethereum's names, if the method is named `ns_subscribe`.
    #[must_use]
    pub fn by_name(method: &Name) -> Option<Subscription> {
        if !method.as_bytes().ends_with(b"_subscribe") {
            return None;
        }
        let namespace = method.as_str().strip_suffix("_subscribe")?;
        (!namespace.is_empty()).then(|| Subscription::ethereum(namespace))
    }

    /// The same with this prefix before each name, for a server whose methods get the prefix.
    #[must_use]
    pub fn prefixed(&self, prefix: &str) -> Subscription {
        let prefixed = |name: &Name| Name::from(format!("{prefix}{name}"));
        let (item, unsubscribe) = (prefixed(&self.item), prefixed(&self.unsubscribe));
        Subscription { item, unsubscribe, style: self.style }
    }

    /// A new identifier, not to be guessed (ETH-09).
    pub(crate) fn new_id(&self) -> Json {
        match self.style {
            SubscriptionStyle::Ethereum => Json::encode_ref(&format!("0x{:032x}", fastrand::u128(..))),
            // As many bits as every language's numbers hold.
            SubscriptionStyle::Named => Json::encode_ref(&fastrand::u64(..1 << 53)),
        }
        .expect("a string or number can be written")
    }

    /// The answer to unsubscribing from an unknown subscription (ETH-03, JSP-02).
    pub(crate) fn unknown(&self) -> impl Service + use<> {
        let style = self.style;
        service_fn(move |_| {
            ReplyFuture::ready(match style {
                SubscriptionStyle::Ethereum => {
                    Reply::error(ErrorObject::new(Code::METHOD_NOT_FOUND, "subscription not found"))
                }
                SubscriptionStyle::Named => Reply::value(Json::FALSE),
            })
        })
    }

    /// The value of the member `stream` in the response that opens it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let Subscription { item, unsubscribe, style } = self;
        let wire = Wire { item: item.to_string(), unsubscribe: unsubscribe.to_string(), style: *style };
        Json::encode_ref(&wire).expect("names can be written")
    }

    /// What the member `stream` of a response says, if it has names.
    #[must_use]
    pub fn from_json(json: &Json) -> Option<Subscription> {
        let Wire { item, unsubscribe, style } = json.decode().ok()?;
        Some(Subscription { item: item.into(), unsubscribe: unsubscribe.into(), style })
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    item: String,
    unsubscribe: String,
    #[serde(default)]
    style: SubscriptionStyle,
}
