//! Credentials that are no longer accepted, whatever their files and issuers say.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::keys::prefix_of;
use super::{Credential, Identity};

/// What is revoked: all credentials of a caller, an API key, or a token of an issuer. Written as `user:NAME`, `key:PREFIX` or `jti:ID`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Revoked(String);

/// A text that names nothing that can be revoked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write user:NAME, key:PREFIX for an API key, or jti:ID for a token of an issuer")]
pub struct RevokedError;

impl FromStr for Revoked {
    type Err = RevokedError;

    fn from_str(text: &str) -> Result<Revoked, RevokedError> {
        match text.split_once(':') {
            Some(("user" | "key" | "jti", name)) if !name.is_empty() => Ok(Revoked(text.to_owned())),
            _ => Err(RevokedError),
        }
    }
}

/// A list of what is revoked, which can be replaced at any time: calls with such a credential are refused from then on, and connections that were
/// opened with it are closed within five seconds. Cheap to clone; clones share the list.
///
/// # Examples
///
/// ```
/// use switchboard_layers::identity::{Authentication, Revocations, Tokens};
///
/// let revocations = Revocations::default();
/// let authentication = Authentication::new(Tokens::parse("alice:2f9c1b7e55a04d13")?).with_revocations(revocations.clone());
/// revocations.replace(["user:alice".parse()?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Revocations(Arc<List>);

#[derive(Default)]
struct List {
    /// Usually nothing is revoked, and nothing has to be looked up.
    has_any: AtomicBool,
    revoked: RwLock<HashSet<String>>,
}

impl Revocations {
    /// Revokes these, and nothing else.
    pub fn replace(&self, revoked: impl IntoIterator<Item = Revoked>) {
        let revoked: HashSet<String> = revoked.into_iter().map(|Revoked(text)| text).collect();
        let has_any = !revoked.is_empty();
        *self.0.revoked.write().unwrap_or_else(PoisonError::into_inner) = revoked;
        self.0.has_any.store(has_any, Ordering::Release);
    }

    /// Whether a caller, and the credential that it presented, are revoked.
    #[inline]
    pub(super) fn has(&self, identity: &Identity, credential: Option<&Credential<'_>>) -> bool {
        self.0.has_any.load(Ordering::Acquire) && self.finds(identity, credential)
    }

    #[cold]
    fn finds(&self, identity: &Identity, credential: Option<&Credential<'_>>) -> bool {
        let revoked = self.0.revoked.read().unwrap_or_else(PoisonError::into_inner);
        let is_listed = |kind: &str, name: &str| revoked.contains(&format!("{kind}:{name}"));
        let key = credential.and_then(|credential| match credential {
            Credential::Bearer(key) | Credential::ApiKey(key) => std::str::from_utf8(key).ok(),
            Credential::Basic { password, .. } => Some(password.as_str()),
            _ => None,
        });
        let id = || identity.claims.as_ref()?.get("jti")?.decode::<String>().ok();
        is_listed("user", &identity.subject)
            || key.and_then(prefix_of).is_some_and(|prefix| is_listed("key", prefix))
            || id().is_some_and(|id| is_listed("jti", &id))
    }
}

impl fmt::Debug for Revocations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.revoked.read().unwrap_or_else(PoisonError::into_inner).len();
        write!(f, "Revocations({count})")
    }
}
