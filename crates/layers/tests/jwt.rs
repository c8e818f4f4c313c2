//! Signed tokens: what is accepted, and all that is not.
#![cfg(feature = "jwt")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod issuer;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{CallError, Code, Context, ErrorObject, FromContext as _, Peer, Router};
use switchboard_layers::identity::jwt::{Algorithm, Jwt, JwtOptions, KeySet, KeySetError, Keys};
use switchboard_layers::identity::{Authenticate as _, Authentication, Credential, Identity, Proof, Verdict};
use switchboard_transport::memory;

use self::issuer::{AUDIENCE, ISSUER, Signer, claims, forged, now, set};

fn jwt(signer: &Signer) -> Jwt {
    Jwt::new(ISSUER, [AUDIENCE, "other"], KeySet::parse(set(&[signer])).unwrap())
}

fn who(jwt: &Jwt, token: &str) -> Option<Identity> {
    match jwt.authenticate(&Credential::Bearer(token.as_bytes())) {
        Verdict::Known(identity) => Some((*identity).clone()),
        Verdict::Unknown => None,
        other => panic!("{other:?}"),
    }
}

/// The claims with one changed, or removed.
fn changed(name: &str, value: impl Into<Option<Value>>) -> Value {
    let mut claims = claims();
    match value.into() {
        Some(value) => claims[name] = value,
        None => drop(claims.as_object_mut().unwrap().remove(name)),
    }
    claims
}

#[test]
fn each_default_algorithm_is_verified_from_jwks_and_from_pem() {
    for signer in [Signer::rsa("a"), Signer::p256("b"), Signer::ed25519("c")] {
        let token = signer.sign(&claims());
        let pem = KeySet::parse(signer.pem()).unwrap();
        for jwt in [jwt(&signer), Jwt::new(ISSUER, [AUDIENCE], pem)] {
            let alice = who(&jwt, &token).unwrap();
            assert_eq!((alice.subject.as_str(), alice.proof), ("alice", Proof::Jwt));
        }
        let other = Signer::p256("b");
        assert!(who(&jwt(&signer), &other.sign(&claims())).is_none(), "signed by another key");
    }
}

#[test]
fn claims_become_the_identity() {
    let signer = Signer::ed25519("a");
    let mut claims = claims();
    claims["scope"] = json!("files:read files:write");
    claims["roles"] = json!(["admin", "ops"]);
    claims["act"] = json!({"sub": "assistant"});
    claims["realm_access"] = json!({"roles": "user"});
    let alice = who(&jwt(&signer), &signer.sign(&claims)).unwrap();
    assert_eq!(alice.scopes, ["files:read", "files:write"]);
    assert_eq!(alice.roles, ["admin", "ops"]);
    assert_eq!(alice.agent.as_deref(), Some("assistant"));
    assert_eq!(alice.claims.unwrap().decode::<Value>().unwrap(), claims);
    let exp = Duration::from_secs(claims["exp"].as_u64().unwrap() + 60);
    assert_eq!(alice.expires.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap(), exp, "with the skew");
    let options = JwtOptions::default().with_roles("/realm_access/roles").with_agent("/iss");
    let keycloak = jwt(&signer).with_options(options);
    let alice = who(&keycloak, &signer.sign(&claims)).unwrap();
    assert_eq!((alice.roles, alice.agent.as_deref()), (vec!["user".to_owned()], Some(ISSUER)));
    for (name, value) in [("scope", json!(["a", "b"])), ("scp", json!("a b")), ("scp", json!(["a", "b"]))] {
        let alice = who(&jwt(&signer), &signer.sign(&changed(name, value))).unwrap();
        assert_eq!(alice.scopes, ["a", "b"]);
    }
}

// SEC-T-02, SEC-Z-07
#[test]
fn wrong_claims_are_refused() {
    let signer = Signer::ed25519("a");
    let jwt = jwt(&signer);
    let refused = |name: &str, value: Option<Value>| {
        let claims = changed(name, value);
        assert!(who(&jwt, &signer.sign(&claims)).is_none(), "{claims}");
    };
    for issuer in ["https://id.example.com/", "HTTPS://id.example.com", "https://evil.example", ""] {
        refused("iss", Some(json!(issuer)));
    }
    refused("iss", Some(json!([ISSUER])));
    for audience in [
        json!("x"),
        json!(["x"]),
        json!([]),
        json!(null),
        json!(""),
        json!({"a": AUDIENCE}),
        json!([AUDIENCE, 1]),
    ] {
        refused("aud", Some(audience));
    }
    for expiry in [json!(now() - 61.0), json!(0), json!(-1), json!("9999999999"), json!(1e300), json!(null)] {
        refused("exp", Some(expiry));
    }
    for start in [json!(now() + 70.0), json!("soon"), json!(null)] {
        refused("nbf", Some(start.clone()));
        refused("iat", Some(start));
    }
    refused("sub", Some(json!("")));
    refused("sub", Some(json!(7)));
    for missing in ["iss", "aud", "exp", "sub"] {
        refused(missing, None);
    }
    for accepted in [
        changed("aud", json!(["x", AUDIENCE])),
        changed("aud", json!("other")),
        changed("exp", json!(now() - 30.0)),
        changed("nbf", json!(now() + 30.0)),
        changed("iat", json!(now() + 30.5)),
    ] {
        assert!(who(&jwt, &signer.sign(&accepted)).is_some(), "{accepted}");
    }
    // No more than 60 s, whatever the options say.
    let lax = jwt.clone().with_options(JwtOptions::default().with_skew(Duration::from_secs(3600)));
    assert!(who(&lax, &signer.sign(&changed("exp", json!(now() - 61.0)))).is_none());
    let strict = jwt.with_options(JwtOptions::default().with_skew(Duration::ZERO));
    assert!(who(&strict, &signer.sign(&changed("exp", json!(now() - 1.0)))).is_none());
}

// SEC-T-01, SEC-Z-07
#[test]
fn no_algorithm_can_be_smuggled_in() {
    let rsa = Signer::rsa("a");
    let every = JwtOptions::default().with_algorithms([
        Algorithm::RS256,
        Algorithm::ES256,
        Algorithm::HS256,
        Algorithm::HS384,
        Algorithm::HS512,
    ]);
    for jwt in [jwt(&rsa), jwt(&rsa).with_options(every)] {
        for name in ["none", "None", "NONE", "nOnE"] {
            for signature in ["", "AA"] {
                let token = forged(&json!({"alg": name, "kid": "a"}), &claims(), |_| signature.into());
                assert!(who(&jwt, &token).is_none(), "{token}");
            }
        }
        // The public key as the secret of an HMAC, in every form that a server may hold it in.
        for secret in [rsa.pem().into_bytes(), rsa.pem().trim_end().into(), rsa.der(), rsa.modulus()] {
            for header in [json!({"alg": "HS256", "kid": "a"}), json!({"alg": "HS256"})] {
                let token = Signer::secret(&secret).sign_with(&header, &claims());
                assert!(who(&jwt, &token).is_none(), "{header}");
            }
        }
    }
    // An algorithm that the issuer does not use, with the right key.
    let p384 = Signer::p384("b");
    assert!(who(&jwt(&p384), &p384.sign(&claims())).is_none());
    let allowed = jwt(&p384).with_options(JwtOptions::default().with_algorithms([Algorithm::ES384]));
    assert!(who(&allowed, &p384.sign(&claims())).is_some());
}

// SEC-T-01
#[test]
fn hmac_needs_an_explicit_secret() {
    let secret = *b"0123456789abcdef0123456789abcdef";
    let signer = Signer::secret(&secret);
    let jwt = Jwt::new(ISSUER, [AUDIENCE], KeySet::secret(secret).unwrap());
    assert!(who(&jwt, &signer.sign(&claims())).is_some());
    assert_eq!(KeySet::secret("short").err(), Some(KeySetError::ShortSecret));
    let octets =
        json!({"keys": [{"kty": "oct", "k": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY", "alg": "HS256"}]});
    assert_eq!(KeySet::parse(octets.to_string()).err(), Some(KeySetError::Empty));
}

// SEC-T-03, SEC-Z-07
#[test]
fn headers_cannot_name_other_keys() {
    let (ours, theirs) = (Signer::p256("a"), Signer::p256("a"));
    let jwt = jwt(&ours);
    for (name, value) in [
        ("jku", json!("https://evil.example/jwks.json")),
        ("x5u", json!("https://evil.example/cert.pem")),
        ("jwk", theirs.jwk()),
        ("x5c", json!(["MIIB"])),
    ] {
        let mut header = json!({"alg": "ES256", "kid": "a"});
        header[name] = value;
        assert!(who(&jwt, &theirs.sign_with(&header, &claims())).is_none(), "{name} is not used");
        assert!(who(&jwt, &ours.sign_with(&header, &claims())).is_some(), "{name} is ignored");
    }
    for id in ["../../etc/passwd", "/dev/null", "' OR 1=1 --", "a\u{0}", "", &"a".repeat(257)] {
        let header = json!({"alg": "ES256", "kid": id});
        assert!(who(&jwt, &ours.sign_with(&header, &claims())).is_none(), "{id}");
    }
    for id in [json!(1), json!(null), json!(["a"])] {
        assert!(who(&jwt, &ours.sign_with(&json!({"alg": "ES256", "kid": id}), &claims())).is_none());
    }
    assert!(
        who(&jwt, &ours.sign_with(&json!({"alg": "ES256"}), &claims())).is_some(),
        "there is only one key"
    );
}

// SEC-T-01, SEC-T-02
#[test]
fn tokens_for_other_purposes_are_refused() {
    let signer = Signer::p256("a");
    let jwt = jwt(&signer);
    let typed = |kind: &str| signer.sign_with(&json!({"alg": "ES256", "typ": kind}), &claims());
    for kind in ["JWT", "jwt", "at+jwt", "application/at+jwt", "AT+JWT"] {
        assert!(who(&jwt, &typed(kind)).is_some(), "{kind}");
    }
    for kind in ["logout+jwt", "dpop+jwt", "secevent+jwt", "", "at"] {
        assert!(who(&jwt, &typed(kind)).is_none(), "{kind}");
    }
    for (name, value) in [("nonce", "n"), ("at_hash", "h"), ("token_use", "id"), ("typ", "ID")] {
        assert!(who(&jwt, &signer.sign(&changed(name, json!(value)))).is_none(), "{name}");
    }
    for header in [
        json!({"alg": "ES256", "crit": ["exp"]}),
        json!({"alg": "ES256", "crit": []}),
        json!({"alg": "ES256", "b64": false}),
    ] {
        assert!(who(&jwt, &signer.sign_with(&header, &claims())).is_none(), "{header}");
    }
    let strict = jwt.with_options(JwtOptions::default().with_access_tokens_only(true));
    assert!(who(&strict, &typed("at+jwt")).is_some());
    assert!(who(&strict, &typed("JWT")).is_none() && who(&strict, &signer.sign(&claims())).is_none());
}

// SEC-T-07
#[test]
fn a_token_is_bound_to_the_certificate_that_it_names_and_other_bindings_are_refused() {
    let signer = Signer::p256("a");
    let jwt = jwt(&signer);
    let bound = |confirmation: Value| {
        who(&jwt, &signer.sign(&changed("cnf", confirmation))).map(|identity| identity.bound_to)
    };
    let digest = "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg0";
    let fingerprint = "6f070ad1eb1cdc0082dc3076639fe5112b1713ca3d96d734e4ef3d8dd37e760d";
    assert_eq!(bound(json!({"x5t#S256": digest})), Some(Some(fingerprint.to_owned())));
    assert_eq!(who(&jwt, &signer.sign(&claims())).map(|identity| identity.bound_to), Some(None));
    for other in [
        json!({"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}),
        json!({"x5t#S256": digest, "jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}),
        json!({"x5t#S256": &digest[1..]}),
        json!({"x5t#S256": ""}),
        json!({"x5t#S256": [digest]}),
        json!({"x5t#s256": digest}),
        json!({}),
        json!(null),
        json!(digest),
    ] {
        assert_eq!(bound(other.clone()), None, "{other}");
    }
}

#[test]
fn malformed_and_oversized_tokens_are_refused() {
    let signer = Signer::ed25519("a");
    let jwt = jwt(&signer);
    let token = signer.sign(&claims());
    let (message, signature) = token.rsplit_once('.').unwrap();
    for wrong in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        message.to_owned(),
        format!("{message}."),
        format!("{token}."),
        format!("{token}.x"),
        format!("{token}="),
        format!("{token} "),
        format!(" {token}"),
        format!("{message}.{}", &signature[..signature.len() - 4]),
        token.replace('.', ".."),
        ".".repeat(100_000),
    ] {
        assert!(who(&jwt, &wrong).is_none(), "{wrong}");
    }
    // The same member twice: two readers could see two callers (SEC-J-01).
    let twice = format!(r#"{{"sub":"eve",{}"#, &claims().to_string()[1..]);
    assert!(who(&jwt, &signer.sign_text(r#"{"alg":"EdDSA","kid":"a"}"#, &twice)).is_none());
    let deep = changed("act", json!(null)).to_string().replace("null", r#"{"sub":"a","s\u0075b":"b"}"#);
    assert!(who(&jwt, &signer.sign_text(r#"{"alg":"EdDSA","kid":"a"}"#, &deep)).is_none(), "{deep}");
    let large = changed("more", json!("x".repeat(8 << 10)));
    assert!(who(&jwt, &signer.sign(&large)).is_none());
    let larger = jwt.with_options(JwtOptions::default().with_token_length(32 << 10));
    assert!(who(&larger, &signer.sign(&large)).is_some());
}

// SEC-T-03
#[test]
fn key_sets_are_bounded_and_unusable_keys_are_ignored() {
    let signer = Signer::p256("a");
    let parse = |keys: Vec<Value>| KeySet::parse(json!({"keys": keys}).to_string());
    assert_eq!(parse(vec![signer.jwk(); 101]).err(), Some(KeySetError::TooMany));
    assert_eq!(parse(vec![signer.jwk(); 100]).unwrap().len(), 100);
    assert_eq!(KeySet::parse(vec![b' '; (256 << 10) + 1]).err(), Some(KeySetError::TooLong((256 << 10) + 1)));
    let with = |name: &str, value: Value| {
        let mut key = signer.jwk();
        key[name] = value;
        key
    };
    let unusable = vec![
        json!({"kty": "new"}),
        json!(7),
        with("use", json!("enc")),
        with("key_ops", json!(["sign"])),
        with("alg", json!("ES512")),
        with("crv", json!("P-521")),
        with("x", json!("AA")),
        with("x", json!("!")),
    ];
    assert_eq!(parse(unusable.clone()).err(), Some(KeySetError::Empty));
    let one = parse([unusable, vec![signer.jwk()]].concat()).unwrap();
    assert_eq!(one.len(), 1);
    for wrong in ["", "{}", "[]", r#"{"keys":{}}"#, "keys"] {
        assert_eq!(KeySet::parse(wrong).err(), Some(KeySetError::Malformed), "{wrong}");
    }
    for wrong in [
        "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----",
    ] {
        assert_eq!(KeySet::parse(wrong).err(), Some(KeySetError::Pem), "{wrong}");
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, CallError>) -> Code {
    match result {
        Err(CallError::Rejected(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

/// A server behind these tokens that tells who calls.
fn server(jwt: Jwt) -> Peer {
    let who =
        |(): (), cx: Context| Ok::<_, ErrorObject>(Identity::from_context(&cx).unwrap().subject.clone());
    let router = Router::builder().method("who", who).build().unwrap();
    memory::connect(router.layered(Authentication::new(jwt)), Router::builder().build().unwrap())
}

// SEC-T-05, SEC-E-05
#[tokio::test]
async fn all_refusals_look_alike_and_none_shows_the_token() {
    let signer = Signer::ed25519("a");
    let peer = server(jwt(&signer));
    let wrong = [
        signer.sign(&changed("aud", json!("x"))),
        signer.sign(&changed("exp", json!(1))),
        Signer::ed25519("a").sign(&claims()),
        "not a token".to_owned(),
    ];
    for token in wrong {
        match peer.call::<Value>("rpc.login", [&token]).await {
            Err(CallError::Rejected(error)) => assert_eq!(error, ErrorObject::unauthorized()),
            other => panic!("{other:?}"),
        }
    }
    let token = signer.sign(&claims());
    let login: Value = peer.call("rpc.login", [&token]).await.unwrap();
    assert_eq!((&login["subject"], &login["proof"]), (&json!("alice"), &json!("jwt")));
    assert_eq!(peer.call::<Value>("who", ()).await.unwrap(), json!("alice"));
    assert!(!format!("{:?} {:?}", jwt(&signer), Credential::Bearer(token.as_bytes())).contains(&token));
}

#[tokio::test(start_paused = true)]
async fn keys_of_a_file_are_rotated_without_a_restart() {
    let path = std::env::temp_dir().join(format!("switchboard-jwks-{}", std::process::id()));
    let write = |text: &str| {
        // A new file, not the old one written over: the clock of a disk may be too coarse to tell.
        std::fs::write(path.with_extension("new"), text).unwrap();
        std::fs::rename(path.with_extension("new"), &path).unwrap();
    };
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    write(&set(&[&old]));
    let jwt = Jwt::new(ISSUER, [AUDIENCE], Keys::file(&path).unwrap());
    let known = |signer: &Signer| who(&jwt, &signer.sign(&claims())).is_some();
    assert!(known(&old) && !known(&new));
    for (text, expected) in [
        (set(&[&old, &new]), (true, true)),
        (set(&[&new]), (false, true)),
        ("not keys".to_owned(), (false, true)),
        (set(&[&old]), (true, false)),
    ] {
        write(&text);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((known(&old), known(&new)), expected, "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code(server(jwt).call::<Value>("who", ()).await), Code::UNAUTHORIZED);
}
