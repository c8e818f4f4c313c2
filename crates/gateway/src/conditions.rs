//! Which calls a route is for, besides their methods.

use std::collections::HashMap;
use std::fmt;

use switchboard_core::{Call, FromContext as _};
use switchboard_layers::access::{CallerFacts, Who};
use switchboard_layers::identity::Identity;

/// What a [`Route`](crate::Route) asks about a call. All conditions must hold.
///
/// # Examples
///
/// One call in twenty of those that ask for it goes to a new version:
///
/// ```
/// use switchboard_gateway::{Conditions, Route};
///
/// let conditions = Conditions::default().with_header("x-canary", "yes").with_traffic(0.05);
/// let route = Route::new("math/*".parse()?).to("next").when(conditions);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    who: Vec<Who>,
    /// Which callers have which role, beside those that credentials name.
    roles: HashMap<Box<str>, Vec<String>>,
    headers: Vec<(Box<str>, Box<str>)>,
    traffic: Option<f64>,
}

/// A condition that a call does not meet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unmet<'a> {
    Caller(&'a [Who]),
    Header(&'a str),
}

impl Conditions {
    /// Asks for one of these callers.
    #[must_use]
    pub fn with_callers(mut self, who: impl IntoIterator<Item = Who>) -> Conditions {
        self.who.extend(who);
        self
    }

    /// Gives this caller these roles, beside those of its credential.
    #[must_use]
    pub fn with_roles<R: Into<String>>(
        mut self,
        subject: &str,
        roles: impl IntoIterator<Item = R>,
    ) -> Conditions {
        self.roles.entry(subject.into()).or_default().extend(roles.into_iter().map(Into::into));
        self
    }

    /// Asks for this header with this value.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Conditions {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Takes this share of the calls, by chance.
    #[must_use]
    pub fn with_traffic(mut self, share: f64) -> Conditions {
        self.traffic = Some(share);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.who.is_empty() && self.headers.is_empty() && self.traffic.is_none()
    }

    /// The share of the calls that it takes, of those that meet everything else.
    pub(crate) fn share(&self) -> f64 {
        self.traffic.unwrap_or(1.0)
    }

    /// The first condition that a call does not meet, apart from chance.
    pub(crate) fn unmet(&self, call: &Call) -> Option<Unmet<'_>> {
        if !self.who.is_empty() && !self.is_caller(call) {
            return Some(Unmet::Caller(&self.who));
        }
        let has = |name: &str, value: &str| call.cx.metadata().text(name).is_some_and(|given| given == value);
        let missing = self.headers.iter().find(|(name, value)| !has(name, value));
        missing.map(|(name, _)| Unmet::Header(name))
    }

    /// Whether a call meets all of them; chance decides anew each time.
    pub(crate) fn hold(&self, call: &Call) -> bool {
        self.unmet(call).is_none() && self.traffic.is_none_or(|share| fastrand::f64() < share)
    }

    fn is_caller(&self, call: &Call) -> bool {
        let identity = Identity::from_context(&call.cx);
        let granted = identity.and_then(|identity| self.roles.get(identity.subject.as_str()));
        let facts = CallerFacts::of(&call.cx, identity, granted.map(Vec::as_slice).unwrap_or_default());
        self.who.iter().any(|who| who.matches(&facts))
    }
}

impl fmt::Display for Unmet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Caller(who) => {
                let who: Vec<String> = who.iter().map(ToString::to_string).collect();
                write!(f, "only for {}", who.join(", "))
            }
            // The value may be a secret.
            Unmet::Header(name) => write!(f, "only with the right value of the header {name}"),
        }
    }
}
