//! One event, and its line.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::time::SystemTime;

use serde::Serialize;
use switchboard_core::{Context, Json};

use crate::lines::{Repeatable, ascii, rfc3339, shortened};
use crate::network::network;

/// How much of a session's identifier is written: enough to connect lines, and not enough to take over a session.
const SESSION: usize = 8;

/// A kind of event. Define others as you need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AuditKind(pub &'static str);

impl AuditKind {
    /// A caller presented wrong credentials.
    pub const AUTHENTICATION_FAILED: AuditKind = AuditKind("authentication-failed");
    /// A caller was refused without a check, after too many wrong credentials.
    pub const BLOCKED: AuditKind = AuditKind("address-blocked");
    /// An access rule denied a call, or none allowed it.
    pub const DENIED: AuditKind = AuditKind("access-denied");
    /// The signature of a call was missing or wrong.
    pub const SIGNATURE_FAILED: AuditKind = AuditKind("signature-failed");
    /// A signed call arrived twice.
    pub const REPLAYED: AuditKind = AuditKind("replayed");
    /// A caller exceeded a rate limit.
    pub const RATE_LIMITED: AuditKind = AuditKind("rate-limited");
    /// The server was too busy for a call.
    pub const SHED: AuditKind = AuditKind("shed");
    /// A new configuration is in use.
    pub const CONFIG_RELOADED: AuditKind = AuditKind("config-reloaded");
    /// A new configuration was wrong, so the previous one stays in use.
    pub const CONFIG_REJECTED: AuditKind = AuditKind("config-rejected");

    /// The kinds that are defined here.
    pub const ALL: [AuditKind; 9] = [
        AuditKind::AUTHENTICATION_FAILED,
        AuditKind::BLOCKED,
        AuditKind::DENIED,
        AuditKind::SIGNATURE_FAILED,
        AuditKind::REPLAYED,
        AuditKind::RATE_LIMITED,
        AuditKind::SHED,
        AuditKind::CONFIG_RELOADED,
        AuditKind::CONFIG_REJECTED,
    ];
}

/// A security event.
///
/// # Examples
///
/// ```
/// use switchboard_core::Context;
/// use switchboard_layers::audit::{AuditEvent, AuditKind};
///
/// let cx = Context::default();
/// let event = AuditEvent::new(AuditKind::REPLAYED).by(&cx).method("transfer").reason("the nonce was used before");
/// ```
#[derive(Clone, Debug)]
pub struct AuditEvent<'a> {
    pub(super) kind: AuditKind,
    cx: Option<&'a Context>,
    who: Option<&'a str>,
    method: Option<&'a str>,
    reason: Option<&'a str>,
    key: Option<&'a str>,
    incident: Option<&'a str>,
}

/// An event as it is written.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    event: &'static str,
    who: Option<Cow<'a, str>>,
    peer: Option<SocketAddr>,
    transport: Option<&'static str>,
    session: Option<&'a str>,
    method: Option<Cow<'a, str>>,
    reason: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    incident: Option<Cow<'a, str>>,
}

impl<'a> AuditEvent<'a> {
    /// An event of this kind.
    #[must_use]
    pub fn new(kind: AuditKind) -> AuditEvent<'a> {
        AuditEvent { kind, cx: None, who: None, method: None, reason: None, key: None, incident: None }
    }

    /// Takes the caller, its address, its transport and its session from this context.
    #[must_use]
    pub fn by(mut self, cx: &'a Context) -> AuditEvent<'a> {
        self.cx = Some(cx);
        #[cfg(feature = "identity")]
        {
            use switchboard_core::FromContext as _;
            self.who = crate::identity::Identity::from_context(cx).map(|identity| identity.subject.as_str());
        }
        self
    }

    /// Names the caller.
    #[must_use]
    pub fn who(mut self, subject: &'a str) -> AuditEvent<'a> {
        self.who = Some(subject);
        self
    }

    /// Names the method.
    #[must_use]
    pub fn method(mut self, method: &'a str) -> AuditEvent<'a> {
        self.method = Some(method);
        self
    }

    /// Says why, or by which rule. Never pass a secret, or what a caller sent.
    #[must_use]
    pub fn reason(mut self, reason: &'a str) -> AuditEvent<'a> {
        self.reason = Some(reason);
        self
    }

    /// Adds the identifier of the key that a call names. It may be one that does not exist. Never pass the key itself.
    #[must_use]
    pub fn key(mut self, id: &'a str) -> AuditEvent<'a> {
        self.key = Some(id);
        self
    }

    /// Adds the number that the caller was given.
    #[must_use]
    pub fn incident(mut self, incident: &'a str) -> AuditEvent<'a> {
        self.incident = Some(incident);
        self
    }
}

impl Repeatable for AuditEvent<'_> {
    type Kind = AuditKind;

    fn kind(&self) -> AuditKind {
        self.kind
    }

    /// Callers choose methods and sessions, so those do not count.
    fn hash_into(&self, hasher: &mut impl Hasher) {
        let address = self.cx.and_then(|cx| cx.origin().address).map(|address| network(address.ip()));
        (self.kind, address, self.who, self.reason).hash(hasher);
    }

    fn line(&self, time: SystemTime) -> String {
        let origin = self.cx.map(Context::origin);
        let session = self.cx.map(|cx| cx.session().id());
        to_line(&Line {
            time: rfc3339(time),
            event: self.kind.0,
            who: self.who.map(shortened),
            peer: origin.and_then(|origin| origin.address),
            transport: origin.map(|origin| origin.transport),
            session: session.map(|id| id.get(..SESSION).unwrap_or(id)),
            method: self.method.map(shortened),
            reason: self.reason.map(shortened),
            key: self.key.map(shortened),
            incident: self.incident.map(shortened),
        })
    }

    fn repeated(line: &str, count: u64) -> String {
        format!("{},\"repeated\":{count}}}\n", line.trim_end().trim_end_matches('}'))
    }

    fn sum(kind: AuditKind, time: SystemTime, count: u64) -> String {
        let event = AuditEvent::new(kind).reason("by too many callers to name them");
        AuditEvent::repeated(&event.line(time), count)
    }
}

/// The line that says how many others are missing.
pub(super) fn lost_line(time: SystemTime, lost: u64) -> String {
    #[derive(Serialize)]
    struct Lost {
        time: String,
        event: &'static str,
        lost: u64,
    }
    to_line(&Lost { time: rfc3339(time), event: "lines-lost", lost })
}

/// A value as one line of ASCII.
fn to_line(value: &impl Serialize) -> String {
    let Ok(json) = Json::encode_ref(value) else { return String::new() };
    let mut line = ascii(json.as_str());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use switchboard_core::Origin;

    use super::*;

    #[test]
    fn an_event_is_one_line_of_ascii_and_short() {
        // SEC-E-05: no text of a caller can pass for another line, or control a terminal.
        let method = format!("a\nb\u{202e}\u{9b}2J\u{7f}\"\u{1f600}{}", "x".repeat(10_000));
        let origin = Origin::new("http").with_address("192.0.2.7:5".parse().unwrap());
        let cx = Context::new(origin);
        let event = AuditEvent::new(AuditKind::DENIED).by(&cx).who(&method).method(&method).reason(&method);
        let line = event.line(SystemTime::UNIX_EPOCH);
        assert!(line.is_ascii() && line.ends_with('\n') && line.len() < 1000, "{line}");
        assert_eq!(line.bytes().filter(u8::is_ascii_control).count(), 1);
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["method"], format!("{}...", method.chars().take(128).collect::<String>()));
        assert_eq!(read["peer"], "192.0.2.7:5");
        assert_eq!(read["session"], cx.session().id()[..8]);
    }

    #[test]
    fn every_member_is_there_even_if_nothing_is_known() {
        assert_eq!(
            AuditEvent::repeated(&AuditEvent::new(AuditKind::SHED).line(SystemTime::UNIX_EPOCH), 3),
            concat!(
                r#"{"time":"1970-01-01T00:00:00.000Z","event":"shed","who":null,"peer":null,"transport":null,"#,
                r#""session":null,"method":null,"reason":null,"incident":null,"repeated":3}"#,
                "\n"
            )
        );
    }
}
