//! One login: what is asked for, as whom, and how.

use switchboard_layers::identity::jwt::SigningKey;

use super::challenge::Challenge;
use super::client::RegisteredClient;
use super::discovery::Found;
use super::error::AuthError;
use super::issuer::code;
use super::login::{How, IdentityProvider, Options};
use super::metadata::ServerMetadata;
use super::pkce::Verifier;
use super::registration::register;
use super::store::Kept;
use super::token::{Grant, Token, Tokens, exchange};
use super::user::UserAgent;
use super::web::{Web, form};
use crate::ask::seal::random_id;

/// One login.
pub(super) struct Attempt<'a> {
    pub(super) options: &'a Options,
    pub(super) web: &'a Web,
    pub(super) found: &'a Found,
    /// The key that the token is to be bound to.
    pub(super) key: Option<&'a SigningKey>,
    pub(super) scopes: Vec<String>,
}

impl Attempt<'_> {
    /// The token.
    pub(super) async fn token(&self) -> Result<Token, AuthError> {
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
        let store = &*self.options.store;
        let known = known_client(self.options, &Kept::read(store)?, server);
        let visit = agent.begin(known.as_ref().and_then(|client| client.redirect_uri.as_deref())).await?;
        let redirect_uri = visit.redirect_uri().to_owned();
        let fits =
            |client: &RegisteredClient| client.redirect_uri.as_ref().is_none_or(|uri| *uri == redirect_uri);
        let client = match known.filter(fits) {
            Some(client) => client,
            None => {
                let client = register(self.web, server, &self.options.about, &redirect_uri).await?;
                Kept::change(store, |kept| kept.clients.insert(server.issuer.clone(), client.clone()))?;
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

/// What to ask for (MCP-A-27): what the server wants now, else what its metadata name; and all that was asked for before.
pub(super) fn scopes(
    options: &Options,
    challenge: &Challenge,
    found: &Found,
    before: Option<&Token>,
) -> Vec<String> {
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
pub(super) fn known_client(
    options: &Options,
    kept: &Kept,
    server: &ServerMetadata,
) -> Option<RegisteredClient> {
    let issuer = &server.issuer;
    let by_hand = options.clients.iter().find(|client| client.is_known_to(issuer)).cloned();
    let by_document = || {
        let document =
            options.about.document.as_ref().filter(|_| server.client_id_metadata_document_supported)?;
        Some(RegisteredClient { method: Some("none".to_owned()), ..RegisteredClient::new(document) })
    };
    by_hand.or_else(by_document).or_else(|| kept.clients.get(issuer).cloned())
}
