//! Requests for tokens: all of them are made here, so that each one names the resource (MCP-A-23).

use std::fmt;

use http::{HeaderMap, Method, StatusCode};
use serde::{Deserialize, Serialize};
use switchboard_layers::identity::jwt::SigningKey;

use super::client::RegisteredClient;
use super::dpop;
use super::error::{AuthError, Fault, shown};
use super::jws::now;
use super::metadata::ServerMetadata;
use super::web::{Web, form};

/// What a token is asked for with.
pub(super) enum Grant<'a> {
    Code {
        code: &'a str,
        verifier: &'a str,
        redirect_uri: &'a str,
    },
    Refresh(&'a str),
    ClientCredentials,
    /// An assertion about a user or a workload (RFC 7523).
    Assertion(&'a str),
}

/// A token for a server. It is not shown.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) access: String,
    /// Whether it is bound to our key.
    pub(super) is_dpop: bool,
    /// When it expires, in seconds since 1970.
    pub(super) expires: Option<u64>,
    pub(super) refresh: Option<String>,
    /// What it was asked for, and not what it is good for.
    pub(super) scopes: Vec<String>,
    /// Who issued it.
    pub(super) issuer: String,
    /// What it is for.
    pub(super) resource: String,
}

impl Token {
    /// Whether it expires within this many seconds.
    pub(super) fn ends_within(&self, seconds: u64) -> bool {
        self.expires.is_some_and(|end| end <= now().saturating_add(seconds))
    }
}

/// The answer of a token endpoint.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    error_description: Option<String>,
}

/// Asks one authorization server for tokens.
pub(super) struct Tokens<'a> {
    pub(super) web: &'a Web,
    pub(super) server: &'a ServerMetadata,
    pub(super) client: &'a RegisteredClient,
    pub(super) resource: &'a str,
    /// The key that tokens are to be bound to.
    pub(super) key: Option<&'a SigningKey>,
}

impl Tokens<'_> {
    /// Asks for a token with these scopes.
    pub(super) async fn ask(&self, grant: &Grant<'_>, scopes: &[String]) -> Result<Token, AuthError> {
        let mut fields: Vec<(&'static str, String)> = match grant {
            Grant::Code { code, verifier, redirect_uri } => vec![
                ("grant_type", "authorization_code".to_owned()),
                ("code", (*code).to_owned()),
                ("code_verifier", (*verifier).to_owned()),
                ("redirect_uri", (*redirect_uri).to_owned()),
            ],
            Grant::Refresh(token) => {
                vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", (*token).to_owned())]
            }
            Grant::ClientCredentials => vec![("grant_type", "client_credentials".to_owned())],
            Grant::Assertion(assertion) => vec![
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
                ("assertion", (*assertion).to_owned()),
            ],
        };
        // A code has the scopes that were asked for with it, and a refreshed token those of the first.
        if !scopes.is_empty() && matches!(grant, Grant::ClientCredentials | Grant::Assertion(_)) {
            fields.push(("scope", scopes.join(" ")));
        }
        fields.push(("resource", self.resource.to_owned()));
        let answer = self.post(fields).await?;
        let before = match grant {
            Grant::Refresh(token) => Some((*token).to_owned()),
            _ => None,
        };
        let is_dpop = match answer.token_type.to_ascii_lowercase().as_str() {
            "bearer" => false,
            "dpop" if self.key.is_some() => true,
            other => {
                let why = format!("the token has the type {:?}", shown(other));
                return Err(AuthError::Unusable { url: self.server.token_endpoint.clone(), why });
            }
        };
        Ok(Token {
            access: answer.access_token,
            is_dpop,
            expires: answer.expires_in.map(|left| now().saturating_add(left)),
            // The old one stays in use unless there is a new one.
            refresh: answer.refresh_token.or(before),
            scopes: scopes.to_vec(),
            issuer: self.server.issuer.clone(),
            resource: self.resource.to_owned(),
        })
    }

    async fn post(&self, mut fields: Vec<(&'static str, String)>) -> Result<Answer, AuthError> {
        let url = &self.server.token_endpoint;
        let mut common = HeaderMap::new();
        self.client.authenticate(self.server, &mut common, &mut fields)?;
        let content = form(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let mut nonce = None;
        // The server may want a nonce of its own, once.
        for is_last in [false, true] {
            let mut headers = common.clone();
            if let Some(key) = self.key {
                dpop::prove(key, &mut headers, &Method::POST, url, nonce.as_deref(), None)?;
            }
            let kind = "application/x-www-form-urlencoded";
            let answer = self.web.post(url, kind, headers, content.clone()).await?;
            match read(url, answer.status(), answer.body()) {
                Err(AuthError::Refused(fault)) if fault.code == "use_dpop_nonce" && !is_last => {
                    nonce = dpop::nonce(answer.headers());
                    if nonce.is_none() {
                        return Err(AuthError::Refused(fault));
                    }
                }
                answer => return answer,
            }
        }
        Err(AuthError::Unusable { url: url.clone(), why: "it wants another nonce each time".to_owned() })
    }
}

fn read(url: &str, status: StatusCode, body: &[u8]) -> Result<Answer, AuthError> {
    let unusable = |why: String| AuthError::Unusable { url: shown(url), why };
    if status.is_success() {
        return serde_json::from_slice(body).map_err(|_| unusable("the answer is not a token".to_owned()));
    }
    match serde_json::from_slice::<Refused>(body) {
        Ok(refused) => {
            Err(AuthError::Refused(Fault::new(&refused.error, refused.error_description.as_deref())))
        }
        Err(_) => Err(unusable(format!("HTTP {status}"))),
    }
}

/// Exchanges the login of a user at a company's identity provider for an assertion to another authorization server (RFC 8693).
pub(super) async fn exchange(
    web: &Web,
    provider: &ServerMetadata,
    client: &RegisteredClient,
    identity: &str,
    found: (&str, &str),
    scopes: &[String],
) -> Result<String, AuthError> {
    let (audience, resource) = found;
    let mut fields = vec![
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag".to_owned()),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token".to_owned()),
        ("subject_token", identity.to_owned()),
        ("audience", audience.to_owned()),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", scopes.join(" ")));
    }
    fields.push(("resource", resource.to_owned()));
    // The answer has the form of one with a token.
    let tokens = Tokens { web, server: provider, client, resource, key: None };
    Ok(tokens.post(fields).await?.access_token)
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}
