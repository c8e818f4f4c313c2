//! Ties the authorization code to the client that asked for it (RFC 7636).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ask::seal::random;

/// A secret that is shown only when the code is exchanged (MCP-A-22).
pub(super) struct Verifier(pub(super) String);

impl Verifier {
    pub(super) fn random() -> Verifier {
        Verifier(URL_SAFE_NO_PAD.encode(random::<32>()))
    }

    /// What the authorization server gets first.
    pub(super) fn challenge(&self) -> String {
        sha256(&self.0)
    }
}

/// The digest of a text, in base64url.
pub(super) fn sha256(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7636_has_its_challenge() {
        let verifier = Verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(verifier.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_ne!(Verifier::random().0, Verifier::random().0);
        assert_eq!(Verifier::random().0.len(), 43);
    }
}
