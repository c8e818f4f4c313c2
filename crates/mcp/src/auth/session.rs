//! The token of one server: gets it, renews it, and asks for more scopes.

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use tokio::time::Instant;

use super::attempt::{Attempt, known_client, scopes};
use super::challenge::Challenge;
use super::discovery::{self, discover};
use super::dpop;
use super::error::AuthError;
use super::guard::origin;
use super::jws::SigningKey;
use super::login::Options;
use super::metadata::ServerMetadata;
use super::store::Kept;
use super::token::{Grant, Token, Tokens};
use super::web::Web;
use crate::client::Refusal;

/// How often one request is sent again with another token.
const TRIES: usize = 3;

/// How long before its end a token is renewed, in seconds.
const MARGIN: u64 = 30;

/// After a login that failed, how long others fail for the same reason, so that parallel requests do not ask a user again and again.
const FAILED: Duration = Duration::from_secs(10);

/// What is known about the server that a client calls.
#[derive(Default)]
pub(super) struct Session {
    place: Option<Place>,
    token: Option<Token>,
    /// Whether the server has not accepted the token yet.
    is_new: bool,
    /// The last token that was taken over from another program. None is taken over twice.
    adopted: Option<String>,
    /// The key that tokens are bound to, if the server wants that, and what its proofs must have.
    key: Option<SigningKey>,
    nonce: Option<String>,
    failed: Option<(Instant, AuthError)>,
}

/// The server, which the first request named.
struct Place {
    url: String,
    origin: Option<String>,
    /// For requests on behalf of that server.
    web: Web,
}

impl Session {
    /// Adds the token to a request, if there is one and the request is for the server of this session.
    pub(super) async fn authorize(
        &mut self,
        options: &Options,
        method: &Method,
        url: &str,
        headers: &mut HeaderMap,
    ) -> Result<(), AuthError> {
        self.begin(options, url)?;
        if !self.is_at(url) {
            return Ok(());
        }
        let ends = |token: &Token| token.ends_within(MARGIN);
        if !self.is_new && self.token.as_ref().is_some_and(ends) {
            self.adopt(options)?;
        }
        if let Some(token) = self.token.clone().filter(|token| !self.is_new && ends(token)) {
            match self.refresh(options, &token).await {
                Ok(renewed) => self.keep(options, renewed)?,
                Err(error) => {
                    tracing::debug!(%error, "the token was not renewed");
                    // Without one the server says what it wants.
                    self.token = Some(token).filter(|token| !token.ends_within(0));
                }
            }
        }
        let Some(token) = &self.token else { return Ok(()) };
        let value = header(token)?;
        headers.insert(AUTHORIZATION, value);
        if let Some(key) = self.key.as_ref().filter(|_| token.is_dpop) {
            dpop::prove(key, headers, method, url, self.nonce.as_deref(), Some(&token.access))?;
        }
        Ok(())
    }

    /// Gets another token after a refusal. True if the request should be sent again.
    pub(super) async fn refused(
        &mut self,
        options: &Options,
        refusal: &Refusal<'_>,
    ) -> Result<bool, AuthError> {
        if !self.is_at(refusal.url) {
            return Ok(false);
        }
        let current = self.token.as_ref().map(header).transpose()?;
        if current.is_some() && current.as_ref() != refusal.sent.get(AUTHORIZATION) {
            // Another request has renewed it meanwhile.
            return Ok(refusal.times <= TRIES);
        }
        if refusal.status == StatusCode::UNAUTHORIZED && refusal.times <= TRIES && self.adopt(options)? {
            return Ok(true);
        }
        let is_bound = self.token.as_ref().is_some_and(|token| token.is_dpop);
        if let Some(nonce) =
            dpop::nonce(refusal.headers).filter(|nonce| is_bound && self.nonce.as_ref() != Some(nonce))
        {
            self.nonce = Some(nonce);
            return Ok(refusal.times <= TRIES);
        }
        if let Some((since, error)) = &self.failed
            && since.elapsed() < FAILED
        {
            return Err(error.clone());
        }
        let challenge = Challenge::of(refusal.headers);
        let renewed = match refusal.status {
            StatusCode::FORBIDDEN if challenge.error.as_deref() != Some("insufficient_scope") => {
                return Ok(false);
            }
            _ if refusal.times > TRIES || (self.is_new && refusal.status == StatusCode::UNAUTHORIZED) => {
                Err(AuthError::Rejected)
            }
            status => self.renew(options, &challenge, status, refusal.times).await,
        };
        match renewed.and_then(|token| self.keep(options, token)) {
            Ok(()) => Ok(true),
            Err(error) => {
                if error == AuthError::Rejected {
                    (self.token, self.is_new) = (None, false);
                }
                self.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Takes the token that another program, which shares the store, has got meanwhile. True if there is one.
    fn adopt(&mut self, options: &Options) -> Result<bool, AuthError> {
        let Some(place) = &self.place else { return Ok(false) };
        if self.is_new || self.token.as_ref().is_some_and(|own| own.is_dpop) {
            return Ok(false);
        }
        let Some(kept) = Kept::read(&*options.store)?.tokens.remove(&place.url) else { return Ok(false) };
        let own = self.token.as_ref().map(|own| &own.access);
        let is_other = own != Some(&kept.access) && self.adopted.as_ref() != Some(&kept.access);
        if is_other {
            self.adopted = Some(kept.access.clone());
            self.token = Some(kept);
        }
        Ok(is_other)
    }

    /// Gets a token, without a refusal.
    pub(super) async fn log_in(&mut self, options: &Options, url: &str) -> Result<(), AuthError> {
        self.begin(options, url)?;
        if !self.is_at(url) {
            let why = "these credentials are for another server".to_owned();
            return Err(AuthError::Forbidden { url: url.to_owned(), why });
        }
        let web = self.web(options);
        let challenge = ask(&web, url).await?;
        (self.token, self.is_new) = (None, false);
        let token = self.renew(options, &challenge, StatusCode::UNAUTHORIZED, 1).await?;
        self.keep(options, token)
    }

    /// The server has accepted the token.
    pub(super) fn answered(&mut self, headers: &HeaderMap) {
        self.is_new = false;
        if let Some(nonce) = dpop::nonce(headers) {
            self.nonce = Some(nonce);
        }
    }

    /// Remembers the server, and reads the token that is kept for it.
    fn begin(&mut self, options: &Options, url: &str) -> Result<(), AuthError> {
        if self.place.is_some() {
            return Ok(());
        }
        let mut web = options.web.clone();
        web.guard.allow(url);
        let origin = url.parse::<Uri>().ok().and_then(|uri| origin(&uri));
        self.token = Kept::read(&*options.store)?.tokens.remove(url);
        self.place = Some(Place { url: url.to_owned(), origin, web });
        Ok(())
    }

    /// Whether a URL is of the server of this session. No other one gets its token.
    fn is_at(&self, url: &str) -> bool {
        let asked = url.parse::<Uri>().ok().and_then(|uri| origin(&uri));
        asked.is_some() && self.place.as_ref().is_some_and(|place| place.origin == asked)
    }

    fn keep(&mut self, options: &Options, token: Token) -> Result<(), AuthError> {
        let url = self.place.as_ref().map(|place| place.url.clone()).unwrap_or_default();
        // Its key ends with this process, so a token that is bound to it is not kept.
        let kept = match token.is_dpop {
            true => Ok(()),
            false => {
                let keep = |kept: &mut Kept| kept.tokens.insert(url.clone(), token.clone());
                Kept::change(&*options.store, keep).map(drop)
            }
        };
        (self.token, self.failed) = (Some(token), None);
        kept
    }

    fn web(&self, options: &Options) -> Web {
        self.place.as_ref().map_or_else(|| options.web.clone(), |place| place.web.clone())
    }

    /// A token as the server wants it now.
    async fn renew(
        &mut self,
        options: &Options,
        challenge: &Challenge,
        status: StatusCode,
        times: usize,
    ) -> Result<Token, AuthError> {
        let web = self.web(options);
        let url = self.place.as_ref().map(|place| place.url.clone()).unwrap_or_default();
        let found = discover(&web, &url, challenge).await?;
        // Whatever belongs to another authorization server does not count here (MCP-A-26).
        let before = self
            .token
            .take_if(|token| token.issuer == found.server.issuer && token.resource == found.resource);
        let scopes = scopes(options, challenge, &found, before.as_ref());
        if status == StatusCode::FORBIDDEN
            && let Some(before) = &before
            && scopes.iter().all(|scope| before.scopes.contains(scope))
        {
            let asked = challenge.scope.clone().unwrap_or_default();
            self.token = Some(before.clone());
            return Err(AuthError::Scope(super::error::shown(&asked)));
        }
        if let Some(before) = before.filter(|_| status == StatusCode::UNAUTHORIZED && times == 1) {
            match self.refresh_at(options, &web, &found.server, &before).await {
                Ok(token) => return Ok(token),
                Err(error) => tracing::debug!(%error, "the token was not renewed"),
            }
        }
        if found.needs_dpop && self.key.is_none() {
            self.key = Some(SigningKey::generate()?);
        }
        let key = self.key.as_ref().filter(|_| found.needs_dpop);
        let login = Attempt { options, web: &web, found: &found, key, scopes };
        let token = login.token().await?;
        self.is_new = true;
        Ok(token)
    }

    /// Renews a token that is about to expire.
    async fn refresh(&self, options: &Options, token: &Token) -> Result<Token, AuthError> {
        let web = self.web(options);
        let server = discovery::server(&web, &token.issuer).await?;
        self.refresh_at(options, &web, &server, token).await
    }

    async fn refresh_at(
        &self,
        options: &Options,
        web: &Web,
        server: &ServerMetadata,
        token: &Token,
    ) -> Result<Token, AuthError> {
        let unable = || AuthError::Unfinished("it cannot be renewed without the user".to_owned());
        let refresh = token.refresh.as_deref().ok_or_else(unable)?;
        let client = known_client(options, &Kept::read(&*options.store)?, server).ok_or_else(unable)?;
        let key = self.key.as_ref().filter(|_| token.is_dpop);
        let tokens = Tokens { web, server, client: &client, resource: &token.resource, key };
        tokens.ask(&Grant::Refresh(refresh), &token.scopes).await
    }
}

/// What the server at this URL says to a request without a token.
async fn ask(web: &Web, url: &str) -> Result<Challenge, AuthError> {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    let response = web.post(url, "application/json", headers, message).await?;
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Ok(Challenge::of(response.headers())),
        // It may ask later, for a tool.
        _ if discovery::is_protected(web, url).await? => Ok(Challenge::default()),
        _ => Err(AuthError::Open(url.to_owned())),
    }
}

/// The value of `Authorization` with this token.
fn header(token: &Token) -> Result<HeaderValue, AuthError> {
    let scheme = if token.is_dpop { "DPoP" } else { "Bearer" };
    let value = HeaderValue::try_from(format!("{scheme} {}", token.access));
    let mut value = value.map_err(|_| AuthError::Unusable {
        url: token.issuer.clone(),
        why: "the token is not text".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}
