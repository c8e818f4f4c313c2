//! The client as authorization servers know it, and how it authenticates to them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_layers::identity::jwt::SigningKey;

use super::error::AuthError;
use super::jws::{now, token};
use super::metadata::ServerMetadata;
use super::web::escaped;
use crate::ask::seal::random_id;

/// How long an assertion is valid, in seconds.
const ASSERTION: u64 = 120;

/// The type of assertions about a client.
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A client that an authorization server knows: registered by hand, or by this client itself.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::auth::RegisteredClient;
///
/// let client = RegisteredClient::new("desk-cli").with_secret("s3cr3t").of("https://auth.example");
/// assert!(!format!("{client:?}").contains("s3cr3t"));
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct RegisteredClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    #[serde(skip)]
    pub(super) key: Option<SigningKey>,
    /// The only authorization server that it may be used with.
    pub(super) issuer: Option<String>,
    /// How it authenticates, if the server has decided that.
    pub(super) method: Option<String>,
    /// Where it said that users are sent back to, if it registered itself.
    pub(super) redirect_uri: Option<String>,
}

impl RegisteredClient {
    /// A client with this identifier, without a secret.
    #[must_use]
    pub fn new(id: impl Into<String>) -> RegisteredClient {
        let id = id.into();
        RegisteredClient { id, secret: None, key: None, issuer: None, method: None, redirect_uri: None }
    }

    /// The same client with this secret.
    #[must_use]
    pub fn with_secret(mut self, secret: impl Into<String>) -> RegisteredClient {
        self.secret = Some(secret.into());
        self
    }

    /// The same client with this key, which signs assertions (`private_key_jwt`).
    #[must_use]
    pub fn with_key(mut self, key: SigningKey) -> RegisteredClient {
        self.key = Some(key);
        self
    }

    /// The same client, known only to the authorization server with this issuer. Without it, the first authorization server that the
    /// MCP server names gets the credentials: say it for every client with a secret.
    #[must_use]
    pub fn of(mut self, issuer: impl Into<String>) -> RegisteredClient {
        self.issuer = Some(issuer.into());
        self
    }

    /// Whether it may be used with this authorization server (MCP-A-26).
    pub(super) fn is_known_to(&self, issuer: &str) -> bool {
        self.issuer.as_deref().is_none_or(|known| known == issuer)
    }

    /// Adds what proves who the client is to a request to the token endpoint.
    pub(super) fn authenticate(
        &self,
        server: &ServerMetadata,
        headers: &mut HeaderMap,
        fields: &mut Vec<(&'static str, String)>,
    ) -> Result<(), AuthError> {
        if let Some(key) = &self.key {
            let claims = json!({
                "iss": self.id, "sub": self.id, "aud": server.issuer,
                "iat": now(), "exp": now() + ASSERTION, "jti": random_id(),
            });
            fields.push(("client_id", self.id.clone()));
            fields.push(("client_assertion_type", JWT_BEARER.to_owned()));
            fields.push(("client_assertion", token(key, "JWT", &claims)?));
            return Ok(());
        }
        let Some(secret) = &self.secret else {
            fields.push(("client_id", self.id.clone()));
            return Ok(());
        };
        match self.method(server) {
            "client_secret_post" => {
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret.clone()));
            }
            "none" => fields.push(("client_id", self.id.clone())),
            _ => {
                let pair = STANDARD.encode(format!("{}:{}", escaped(&self.id), escaped(secret)));
                let value = HeaderValue::try_from(format!("Basic {pair}"));
                let mut value = value.map_err(|_| AuthError::Key("the secret is not text".to_owned()))?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
        }
        Ok(())
    }

    fn method(&self, server: &ServerMetadata) -> &str {
        let known = ["client_secret_basic", "client_secret_post", "none"];
        let given = self.method.as_deref().filter(|method| known.contains(method));
        let accepted = || known.into_iter().find(|method| server.accepts(method));
        given.or_else(accepted).unwrap_or("client_secret_basic")
    }
}

/// Shows the identifier only.
impl fmt::Debug for RegisteredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient")
            .field("id", &self.id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_sent_as_the_server_accepts_it() {
        let check = |accepted: Option<&[&str]>, client: &RegisteredClient, expected: &str| {
            let mut server = ServerMetadata::usual("https://auth.example");
            let methods = accepted.map(|methods| methods.iter().map(|method| (*method).to_owned()).collect());
            server.token_endpoint_auth_methods_supported = methods;
            let (mut headers, mut fields) = (HeaderMap::new(), Vec::new());
            client.authenticate(&server, &mut headers, &mut fields).unwrap();
            let header = headers.get(AUTHORIZATION).map(|value| format!("{} ", value.to_str().unwrap()));
            let fields = fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
            assert_eq!(header.unwrap_or_default() + &fields.join(" "), expected, "{accepted:?}");
        };
        let client = RegisteredClient::new("me").with_secret("a:b");
        check(None, &client, "Basic bWU6YSUzQWI= ");
        check(Some(&["client_secret_post", "client_secret_basic"]), &client, "Basic bWU6YSUzQWI= ");
        check(Some(&["client_secret_post"]), &client, "client_id=me client_secret=a:b");
        check(Some(&["none"]), &client, "client_id=me");
        check(Some(&["private_key_jwt"]), &RegisteredClient::new("me"), "client_id=me");
    }
}
