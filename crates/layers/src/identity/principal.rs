//! Who owns what a server keeps for a caller.

use switchboard_core::Context;

use super::Identity;

/// Who the caller is, as far as it has proven that: what belongs to one caller must not be used by another. Issuers of tokens may name
/// different callers alike. Empty if the caller has proven nothing.
#[must_use]
pub fn principal(cx: &Context) -> String {
    let Some(identity) = cx.caller::<Identity>() else { return String::new() };
    let issuer = identity.claims.as_ref().and_then(|claims| claims.get("iss")?.decode::<String>().ok());
    format!("{} {}", issuer.unwrap_or_default(), identity.subject)
}
