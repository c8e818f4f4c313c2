//! Notifications of a remote server as changes of what is offered.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use switchboard_core::{Call, ErrorObject, Json, Kind, Reply, ReplyFuture, Service};

use super::remote::{self, Remote};
use crate::model::Capability;
use crate::server::{self, Server};

/// What a notification of a remote server means for clients of MCP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Update {
    /// The methods have changed: the description is read again. It is written `tools`, `resources` or `prompts`.
    Lists,
    /// A resource has changed. Variables of its URI are params of the notification. It is written `resource:URI`, such as
    /// `resource:prices://{symbol}`.
    Resource(String),
}

/// The text says nothing that a notification can mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an update; use `tools`, `resources`, `prompts` or `resource:URI`")]
#[non_exhaustive]
pub struct UnknownUpdate(pub String);

impl FromStr for Update {
    type Err = UnknownUpdate;

    fn from_str(text: &str) -> Result<Update, UnknownUpdate> {
        match (text, text.strip_prefix("resource:")) {
            ("tools" | "resources" | "prompts", _) => Ok(Update::Lists),
            (_, Some(uri)) if !uri.is_empty() => Ok(Update::Resource(uri.to_owned())),
            _ => Err(UnknownUpdate(text.to_owned())),
        }
    }
}

/// The service for the notifications of a remote server, given to the connection that a [`Remote`] uses. Cheap to clone.
///
/// Notifications that it does not know are dropped, and so are those that arrive before it is
/// [attached](Updates::attach).
///
/// # Examples
///
/// ```no_run
/// use switchboard_mcp::{Server, adapt::{Remote, Updates}};
/// use switchboard_transport::Dial;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let updates = Updates::default().on("prices/changed", "resource:prices://{symbol}".parse()?);
/// let peer = Dial::new("ws://127.0.0.1:8000")?.with_service(updates.clone()).connect().await?;
/// let remote = Remote::discover(peer).await?.resource("prices/last", "prices://{symbol}");
/// let server = Server::new(remote.clone());
/// updates.attach(&remote, &server);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Updates {
    rules: Arc<HashMap<String, Update>>,
    attached: Arc<Mutex<Option<Attached>>>,
}

/// The connection owns this service and the remote owns the connection, so nothing is owned here.
#[derive(Clone)]
struct Attached {
    remote: Weak<remote::Shared>,
    server: Weak<server::Shared>,
}

impl Updates {
    /// Says what a notification means.
    #[must_use]
    pub fn on(mut self, notification: impl Into<String>, update: Update) -> Updates {
        Arc::make_mut(&mut self.rules).insert(notification.into(), update);
        self
    }

    /// Passes updates of this remote server on to this server, which [declares](Server::declares) the lists that may change. The last call
    /// counts.
    pub fn attach(&self, remote: &Remote, server: &Server) {
        if self.rules.values().any(|update| *update == Update::Lists) {
            // A clone is the same server.
            drop(server.clone().declares([Capability::Tools, Capability::Resources, Capability::Prompts]));
        }
        let attached = Attached { remote: remote.downgrade(), server: Arc::downgrade(&server.0) };
        *self.attached.lock().unwrap_or_else(PoisonError::into_inner) = Some(attached);
    }

    fn attached(&self) -> Option<Attached> {
        self.attached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Service for Updates {
    fn call(&self, call: &Call) -> ReplyFuture {
        let method = call.method.as_str();
        if !call.is_notification() {
            return ReplyFuture::ready(ErrorObject::method_not_found(method));
        }
        match (self.rules.get(method), self.attached()) {
            (Some(Update::Resource(uri)), Some(attached)) => {
                match (expand(uri, call.params.as_ref()), attached.server.upgrade()) {
                    (Some(uri), Some(server)) => Server(server).updated(&uri),
                    (None, _) => tracing::debug!(method, uri, "a notification lacks a variable of its URI"),
                    (_, None) => {}
                }
            }
            (Some(Update::Lists), Some(attached)) => return ReplyFuture::untimed(refresh(attached)),
            _ => tracing::debug!(method, "dropped a notification of the remote server"),
        }
        Reply::value(Json::NULL).into()
    }
}

async fn refresh(attached: Attached) -> Reply {
    if let (Some(remote), Some(server)) = (attached.remote.upgrade(), attached.server.upgrade()) {
        match remote.refresh().await {
            Ok(()) => {
                if let Err(error) = Server(server).refresh() {
                    tracing::warn!(%error, "the changed methods cannot be offered");
                }
            }
            Err(error) => tracing::warn!(%error, "the changed methods cannot be read"),
        }
    }
    Reply::value(Json::NULL)
}

/// A URI with the params of a notification in the place of its variables. Params by position have the names `0`, `1` and so on.
fn expand(template: &str, params: Option<&Json>) -> Option<String> {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let params = params?;
        let value = match params.kind() {
            Kind::Array => params.element(name.parse().ok()?)?,
            _ => params.get(name)?,
        };
        let text = match value.kind() {
            Kind::String => value.decode().ok()?,
            _ => value.to_string(),
        };
        uri.push_str(before);
        encode(&mut uri, &text);
        rest = after;
    }
    uri.push_str(rest);
    Some(uri)
}

/// Appends a text as a part of a URI (RFC 6570, simple expansion).
fn encode(uri: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("rules", &self.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_written_as_a_word_or_a_resource() {
        let check = |text: &str, expected: Option<Update>| {
            assert_eq!(text.parse::<Update>().ok(), expected, "{text}");
        };
        check("tools", Some(Update::Lists));
        check("resource:a://{b}", Some(Update::Resource("a://{b}".to_owned())));
        check("resource:", None);
        check("tool", None);
    }

    #[test]
    fn variables_of_a_uri_are_params() {
        let check = |params: &'static str, expected: Option<&str>| {
            let params = Json::parse(params).unwrap();
            assert_eq!(expand("p://{symbol}/last", Some(&params)).as_deref(), expected, "{params}");
        };
        check(r#"{"symbol":"A B/é"}"#, Some("p://A%20B%2F%C3%A9/last"));
        check(r#"{"symbol":7}"#, Some("p://7/last"));
        check("{}", None);
        assert_eq!(expand("p://{0}", Some(&Json::parse(r#"["x"]"#).unwrap())).as_deref(), Some("p://x"));
        assert_eq!(expand("p://all", None).as_deref(), Some("p://all"));
    }
}
