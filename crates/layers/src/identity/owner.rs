//! Who the credentials of a server belong to.

use std::sync::Arc;

use super::{Authentication, Identity};

impl Authentication {
    /// The caller with this name, if a list of credentials has one that has not expired: for explanations. Of several, the one with the
    /// most roles.
    #[must_use]
    pub fn owner(&self, subject: &str) -> Option<Arc<Identity>> {
        let all = self.0.authenticators.iter().flat_map(|authenticator| authenticator.owners());
        let named = all.filter(|owner| owner.subject == subject && !owner.is_expired());
        named.max_by_key(|owner| owner.roles.len())
    }
}
