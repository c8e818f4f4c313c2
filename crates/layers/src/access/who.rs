//! Which callers a rule is about.

use std::fmt;
use std::str::FromStr;

use switchboard_core::Context;

use crate::identity::Identity;

/// Which callers a rule applies to. Written as `anyone`, `authenticated`, `local`, `remote`, `user:NAME`, `role:NAME`, `scope:NAME` or
/// `agent:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// Every caller.
    Anyone,
    /// Callers with an identity.
    Authenticated,
    /// Callers on this machine: over loopback without a proxy in between, a Unix socket, stdio or inside the process.
    Local,
    /// Callers on other machines.
    Remote,
    /// The caller with this name.
    User(String),
    /// Callers with this role.
    Role(String),
    /// Callers whose credential was issued for this scope.
    Scope(String),
    /// Callers that this program acts for.
    Agent(String),
}

/// A text that names no callers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown kind of caller `{0}`; use anyone, authenticated, local, remote, user:NAME, role:NAME, scope:NAME or agent:NAME"
)]
pub struct WhoError(String);

/// What rules ask about a caller.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallerFacts<'a> {
    /// Who it is, if that is known.
    pub identity: Option<&'a Identity>,
    /// Roles beside those of the identity.
    pub roles: &'a [String],
    /// Whether it is on this machine.
    pub is_local: bool,
}

/// What a proxy adds: such a request comes from wherever the proxy says, not from this machine.
const FORWARDING: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

impl<'a> CallerFacts<'a> {
    /// The facts about a caller with these roles, on this machine or not.
    #[must_use]
    pub fn new(identity: Option<&'a Identity>, roles: &'a [String], is_local: bool) -> CallerFacts<'a> {
        CallerFacts { identity, roles, is_local }
    }

    /// The facts about the caller of this context, who has these roles beside those of the identity.
    #[must_use]
    pub fn of(cx: &Context, identity: Option<&'a Identity>, roles: &'a [String]) -> CallerFacts<'a> {
        CallerFacts::new(identity, roles, is_local(cx))
    }

    fn has_role(&self, role: &str) -> bool {
        let of_identity = self.identity.map(|identity| identity.roles.as_slice()).unwrap_or_default();
        of_identity.iter().chain(self.roles).any(|has| has == role)
    }
}

/// Whether the caller is on this machine.
pub(super) fn is_local(cx: &Context) -> bool {
    let is_near = cx.origin().address.is_none_or(|address| address.ip().to_canonical().is_loopback());
    is_near && !cx.metadata().has_any(&FORWARDING)
}

impl Who {
    /// Whether this caller is meant.
    #[inline(always)]
    #[must_use]
    pub fn matches(&self, caller: &CallerFacts<'_>) -> bool {
        let identity = caller.identity;
        match self {
            Who::Anyone => true,
            Who::Authenticated => identity.is_some(),
            Who::Local => caller.is_local,
            Who::Remote => !caller.is_local,
            Who::User(name) => identity.is_some_and(|identity| identity.subject == *name),
            Who::Role(name) => caller.has_role(name),
            Who::Scope(name) => identity.is_some_and(|identity| identity.scopes.contains(name)),
            Who::Agent(name) => identity.is_some_and(|identity| identity.agent.as_ref() == Some(name)),
        }
    }
}

impl FromStr for Who {
    type Err = WhoError;

    fn from_str(text: &str) -> Result<Who, WhoError> {
        let who = match text.split_once(':') {
            None => match text {
                "anyone" => Who::Anyone,
                "authenticated" => Who::Authenticated,
                "local" => Who::Local,
                "remote" => Who::Remote,
                _ => return Err(WhoError(text.to_owned())),
            },
            Some((_, "")) => return Err(WhoError(text.to_owned())),
            Some(("user", name)) => Who::User(name.to_owned()),
            Some(("role", name)) => Who::Role(name.to_owned()),
            Some(("scope", name)) => Who::Scope(name.to_owned()),
            Some(("agent", name)) => Who::Agent(name.to_owned()),
            Some(_) => return Err(WhoError(text.to_owned())),
        };
        Ok(who)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Anyone => f.write_str("anyone"),
            Who::Authenticated => f.write_str("authenticated"),
            Who::Local => f.write_str("local"),
            Who::Remote => f.write_str("remote"),
            Who::User(name) => write!(f, "user:{name}"),
            Who::Role(name) => write!(f, "role:{name}"),
            Who::Scope(name) => write!(f, "scope:{name}"),
            Who::Agent(name) => write!(f, "agent:{name}"),
        }
    }
}
