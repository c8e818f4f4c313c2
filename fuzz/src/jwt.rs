//! Reads any texts as the header and the claims of a token, and as keys. A token without the right signature has no owner. One with it
//! has an owner with a name, whose token has not expired, and only if both parts are objects that name the right issuer.

#![no_main]

use std::sync::LazyLock;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use switchboard_layers::identity::jwt::{Jwt, KeySet};
use switchboard_layers::identity::{Authenticate as _, Credential, Identity, Verdict};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

static SIGNED: LazyLock<Jwt> =
    LazyLock::new(|| Jwt::new("issuer", ["audience"], KeySet::secret(SECRET).expect("it is long enough")));
static KEY: LazyLock<hmac::Key> = LazyLock::new(|| hmac::Key::new(hmac::HMAC_SHA256, SECRET));

fuzz_target!(|bytes: &[u8]| {
    if let Ok(keys) = KeySet::parse(bytes) {
        assert!((1..=100).contains(&keys.len()));
    }
    if let Ok(token) = std::str::from_utf8(bytes) {
        assert!(owner(token).is_none(), "nobody guesses a signature");
    }
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (header, claims) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&KEY, message.as_bytes()));
    if let Some(owner) = owner(&format!("{message}.{signature}")) {
        let claims: serde_json::Value = serde_json::from_slice(claims).expect("they were read");
        assert_eq!(
            (&claims["iss"], claims["sub"].as_str()),
            (&"issuer".into(), Some(owner.subject.as_str()))
        );
        assert!(!owner.subject.is_empty() && !owner.is_expired());
        assert!(
            serde_json::from_slice::<serde_json::Value>(header).is_ok_and(|header| header["alg"] == "HS256")
        );
    }
});

fn owner(token: &str) -> Option<Identity> {
    match SIGNED.authenticate(&Credential::Bearer(token.as_bytes())) {
        Verdict::Known(identity) => Some((*identity).clone()),
        Verdict::Unknown => None,
        other => panic!("the keys are there: {other:?}"),
    }
}
