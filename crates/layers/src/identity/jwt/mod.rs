//! Tokens that an issuer signs: JWT (RFC 7519), verified with the issuer's keys.
//!
//! [`Jwt`] is an [`Authenticate`] for [`Authentication`](super::Authentication). Its keys are [`Keys`]: a JWKS or PEM file, a document
//! that a [`KeySource`] fetches, or a [`KeySet`] in memory. A [`SigningKey`] signs tokens and documents for others.

mod algorithm;
mod cache;
mod key_set;
mod signing_key;
mod source;
mod token;
mod unique;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use self::cache::{Held, Missing};
use self::source::Kept;
use self::token::{Rules, Unverified};
use super::{Authenticate, Credential, Verdict};

pub use self::algorithm::{Algorithm, UnknownAlgorithm};
pub use self::key_set::{KeySet, KeySetError};
pub use self::signing_key::{Jws, SigningKey, SigningKeyError};
pub use self::source::{FetchError, FetchFuture, KeySource, Keys, Refresh};

/// The greatest skew between the issuer's clock and ours.
const SKEW: Duration = Duration::from_secs(60);

/// Accepts the tokens that one issuer signed for this server.
///
/// A token must name the issuer exactly (`iss`), one of the audiences (`aud`), a subject (`sub`) and an expiry (`exp`). Its algorithm must
/// be allowed and fit the key. Extensions that are marked critical, tokens for other purposes and ID tokens are refused. Headers that name
/// keys or places of keys are not read; `kid` selects one of the issuer's keys.
///
/// A token that is bound to a client certificate (`cnf` with `x5t#S256`, RFC 8705) is accepted only over TLS connections with that
/// certificate. Other bindings, such as DPoP, cannot be checked, so those tokens are refused.
///
/// The caller's [`Identity`](super::Identity) has the subject, the scopes (`scope` or `scp`), the roles, the agent and all claims. Servers
/// with several issuers combine several `Jwt` with [`Authentication::or`](super::Authentication::or).
///
/// # Examples
///
/// ```no_run
/// use switchboard_layers::identity::Authentication;
/// use switchboard_layers::identity::jwt::{Jwt, Keys};
///
/// let jwt = Jwt::new("https://id.example.com", ["https://api.example.com"], Keys::file("jwks.json")?);
/// let authentication = Authentication::new(jwt);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Jwt {
    rules: Arc<Rules>,
    keys: Keys,
}

/// How tokens are checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JwtOptions {
    /// The algorithms that the issuer uses: RS256, ES256 and EdDSA; HS256 if the key is a secret.
    pub algorithms: Vec<Algorithm>,
    /// How far the clocks of the issuer and of this server may differ: 60 s, which is also the most.
    pub skew: Duration,
    /// Whether the header of a token must have the type `at+jwt` (RFC 9068): no. Without it, ID tokens are recognised by their claims.
    pub access_tokens_only: bool,
    /// Where the roles are, as a JSON pointer into the claims: `/roles`. The value is a text or an array of texts.
    pub roles: String,
    /// Where the program is named that acts for the subject: `/act/sub` (RFC 8693). `/azp` or `/client_id` name the client that the token
    /// was issued to.
    pub agent: String,
    /// The longest token that is looked at: 8 KiB.
    pub token_length: usize,
}

impl Default for JwtOptions {
    fn default() -> JwtOptions {
        JwtOptions {
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
            skew: SKEW,
            access_tokens_only: false,
            roles: "/roles".to_owned(),
            agent: "/act/sub".to_owned(),
            token_length: 8 << 10,
        }
    }
}

impl JwtOptions {
    /// Sets [`algorithms`](JwtOptions::algorithms).
    #[must_use]
    pub fn with_algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> JwtOptions {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets [`skew`](JwtOptions::skew).
    #[must_use]
    pub fn with_skew(mut self, skew: Duration) -> JwtOptions {
        self.skew = skew;
        self
    }

    /// Sets [`access_tokens_only`](JwtOptions::access_tokens_only).
    #[must_use]
    pub fn with_access_tokens_only(mut self, access_tokens_only: bool) -> JwtOptions {
        self.access_tokens_only = access_tokens_only;
        self
    }

    /// Sets [`roles`](JwtOptions::roles).
    #[must_use]
    pub fn with_roles(mut self, pointer: impl Into<String>) -> JwtOptions {
        self.roles = pointer.into();
        self
    }

    /// Sets [`agent`](JwtOptions::agent).
    #[must_use]
    pub fn with_agent(mut self, pointer: impl Into<String>) -> JwtOptions {
        self.agent = pointer.into();
        self
    }

    /// Sets [`token_length`](JwtOptions::token_length).
    #[must_use]
    pub fn with_token_length(mut self, token_length: usize) -> JwtOptions {
        self.token_length = token_length;
        self
    }
}

impl Jwt {
    /// Accepts the tokens that this issuer signed for one of these audiences, with the default options.
    pub fn new<A: Into<String>>(
        issuer: impl Into<String>,
        audiences: impl IntoIterator<Item = A>,
        keys: impl Into<Keys>,
    ) -> Jwt {
        let keys = keys.into();
        let mut options = JwtOptions::default();
        if keys.is_secret() {
            options.algorithms = vec![Algorithm::HS256];
        }
        let audiences = audiences.into_iter().map(Into::into).collect();
        Jwt { rules: Arc::new(Rules { issuer: issuer.into(), audiences, options }), keys }
    }

    /// The same with these options.
    #[must_use]
    pub fn with_options(self, mut options: JwtOptions) -> Jwt {
        options.skew = options.skew.min(SKEW);
        let Rules { issuer, audiences, .. } = &*self.rules;
        let rules = Rules { issuer: issuer.clone(), audiences: audiences.clone(), options };
        Jwt { rules: Arc::new(rules), ..self }
    }
}

impl Authenticate for Jwt {
    /// Decides at once with the keys that are there, and later if they have to be fetched first.
    fn authenticate(&self, credential: &Credential<'_>) -> Verdict {
        let Credential::Bearer(token) = credential else { return Verdict::Unknown };
        let token = std::str::from_utf8(token).ok();
        let Some(token) = token.and_then(|token| Unverified::read(token, &self.rules, SystemTime::now()))
        else {
            return Verdict::Unknown;
        };
        let held = match &self.keys.0 {
            Kept::Fixed(keys) => Held::Keys(Arc::clone(keys)),
            Kept::File(file) => Held::Keys(file.current()),
            Kept::Fetched(cache) => cache.find(|keys| token.has_key(keys)),
        };
        match (held, &self.keys.0) {
            (Held::Keys(keys), _) => token.verdict(&keys),
            (Held::Missing(missing), _) => missing.into(),
            (Held::Refreshing(mut ended), Kept::Fetched(cache)) => {
                let cache = Arc::clone(cache);
                Verdict::Later(Box::pin(async move {
                    // It fails only if the cache is gone, which is held here.
                    let _ = ended.changed().await;
                    match cache.held(|keys| token.has_key(keys)) {
                        Ok(keys) => token.verdict(&keys),
                        Err(missing) => missing.into(),
                    }
                }))
            }
            (Held::Refreshing(_), _) => Verdict::Unknown,
        }
    }
}

impl From<Missing> for Verdict {
    fn from(missing: Missing) -> Verdict {
        match missing {
            Missing::Unknown => Verdict::Unknown,
            Missing::Unavailable(wait) => Verdict::Unavailable(wait),
        }
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("issuer", &self.rules.issuer)
            .field("audiences", &self.rules.audiences)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
