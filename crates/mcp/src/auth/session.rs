//! The token of one server: gets it, renews it, and asks for more scopes.

use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use tokio::time::Instant;

use super::challenge::Challenge;
use super::client::RegisteredClient;
use super::discovery::{self, Found, discover};
use super::dpop;
use super::error::AuthError;
use super::guard::origin;
use super::issuer::code;
use super::jws::SigningKey;
use super::login::{How, IdentityProvider, Options};
use super::metadata::ServerMetadata;
use super::pkce::Verifier;
use super::registration::register;
use super::store::Kept;
use super::token::{Grant, Token, Tokens, exchange};
use super::user::UserAgent;
use super::web::{Web, form};
use crate::ask::seal::random_id;
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
        if let Some(token) = self.token.clone().filter(|token| !self.is_new && token.ends_within(MARGIN)) {
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
                self.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
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
        if !token.is_dpop {
            let mut kept = Kept::read(&*options.store)?;
            kept.tokens.insert(url, token.clone());
            kept.write(&*options.store)?;
        }
        (self.token, self.failed) = (Some(token), None);
        Ok(())
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
        let login = LoggingIn { options, web: &web, found: &found, key, scopes };
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

/// What to ask for (MCP-A-27): what the server wants now, else what its metadata name; and all that was asked for before.
fn scopes(options: &Options, challenge: &Challenge, found: &Found, before: Option<&Token>) -> Vec<String> {
    let wanted: Vec<String> = match &challenge.scope {
        Some(scope) => scope.split_ascii_whitespace().map(str::to_owned).collect(),
        None => found.scopes.clone().unwrap_or_default(),
    };
    let before = before.map(|token| token.scopes.clone()).unwrap_or_default();
    let mut scopes: Vec<String> = Vec::new();
    for scope in before.into_iter().chain(wanted).chain(options.scopes.iter().cloned()) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    // Without it, some servers give no token to renew others with (MCP-A-30).
    let offline = "offline_access".to_owned();
    let is_offered = matches!(options.how, How::User(_)) && found.server.scopes_supported.contains(&offline);
    if is_offered && !scopes.is_empty() && !scopes.contains(&offline) {
        scopes.push(offline);
    }
    scopes
}

/// The client as this authorization server knows it: registered by hand, by document, or earlier by this client.
fn known_client(options: &Options, kept: &Kept, server: &ServerMetadata) -> Option<RegisteredClient> {
    let issuer = &server.issuer;
    let by_hand = options.clients.iter().find(|client| client.is_known_to(issuer)).cloned();
    let by_document = || {
        let document =
            options.about.document.as_ref().filter(|_| server.client_id_metadata_document_supported)?;
        Some(RegisteredClient { method: Some("none".to_owned()), ..RegisteredClient::new(document) })
    };
    by_hand.or_else(by_document).or_else(|| kept.clients.get(issuer).cloned())
}

/// One login.
struct LoggingIn<'a> {
    options: &'a Options,
    web: &'a Web,
    found: &'a Found,
    key: Option<&'a SigningKey>,
    scopes: Vec<String>,
}

impl LoggingIn<'_> {
    async fn token(&self) -> Result<Token, AuthError> {
        match &self.options.how {
            How::User(agent) => self.by_user(&**agent).await,
            How::ClientCredentials => self.ask(&self.client()?, &Grant::ClientCredentials).await,
            How::Workload(identity) => {
                self.ask(&self.client()?, &Grant::Assertion(&identity.token().await?)).await
            }
            How::Enterprise(provider) => self.by_provider(provider).await,
        }
    }

    fn client(&self) -> Result<RegisteredClient, AuthError> {
        let issuer = &self.found.server.issuer;
        let mut clients = self.options.clients.iter();
        let client = clients.find(|client| client.is_known_to(issuer)).cloned();
        client.ok_or_else(|| AuthError::NoClient(issuer.clone()))
    }

    async fn ask(&self, client: &RegisteredClient, grant: &Grant<'_>) -> Result<Token, AuthError> {
        let Found { resource, server, .. } = self.found;
        Tokens { web: self.web, server, client, resource, key: self.key }.ask(grant, &self.scopes).await
    }

    async fn by_provider(&self, provider: &IdentityProvider) -> Result<Token, AuthError> {
        let server = ServerMetadata {
            token_endpoint: provider.token_endpoint.clone(),
            ..ServerMetadata::usual(&provider.issuer)
        };
        let (client, identity) = (self.client()?, provider.identity.token().await?);
        let found = (self.found.server.issuer.as_str(), self.found.resource.as_str());
        let assertion = exchange(self.web, &server, &provider.client, &identity, found, &self.scopes).await?;
        self.ask(&client, &Grant::Assertion(&assertion)).await
    }

    async fn by_user(&self, agent: &dyn UserAgent) -> Result<Token, AuthError> {
        let server = &self.found.server;
        let unsupported = |why| AuthError::Unsupported { issuer: server.issuer.clone(), why };
        let page = server.authorization_endpoint.as_ref();
        let page = page.ok_or_else(|| unsupported("it has no page for users"))?;
        self.web.guard.check_page(page)?;
        let mut kept = Kept::read(&*self.options.store)?;
        let known = known_client(self.options, &kept, server);
        let visit = agent.begin(known.as_ref().and_then(|client| client.redirect_uri.as_deref())).await?;
        let redirect_uri = visit.redirect_uri().to_owned();
        let fits =
            |client: &RegisteredClient| client.redirect_uri.as_ref().is_none_or(|uri| *uri == redirect_uri);
        let client = match known.filter(fits) {
            Some(client) => client,
            None => {
                let client = register(self.web, server, &self.options.about, &redirect_uri).await?;
                kept.clients.insert(server.issuer.clone(), client.clone());
                kept.write(&*self.options.store)?;
                client
            }
        };
        let (verifier, state) = (Verifier::random(), random_id());
        let url = self.page(page, &client, &redirect_uri, &verifier, &state);
        let query = visit.visit(url, state.clone()).await?;
        let code = code(server, &state, &query)?;
        let grant = Grant::Code { code: &code, verifier: &verifier.0, redirect_uri: &redirect_uri };
        self.ask(&client, &grant).await
    }

    /// The page that the user is shown.
    fn page(
        &self,
        page: &str,
        client: &RegisteredClient,
        redirect_uri: &str,
        verifier: &Verifier,
        state: &str,
    ) -> String {
        let (challenge, scopes) = (verifier.challenge(), self.scopes.join(" "));
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", redirect_uri),
            ("state", state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &self.found.resource),
        ];
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        // OpenID Connect asks the user before it gives access while the user is away.
        if self.scopes.iter().any(|scope| scope == "offline_access") {
            fields.push(("prompt", "consent"));
        }
        format!("{page}{}{}", if page.contains('?') { '&' } else { '?' }, form(fields))
    }
}
