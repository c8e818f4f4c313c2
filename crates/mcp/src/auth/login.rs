//! The login of a client: how it gets a token, and what it says about itself.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::HeaderMap;
use switchboard_transport::http::HttpClientOptions;
use tokio::sync::Mutex;

use super::client::RegisteredClient;
use super::error::AuthError;
use super::guard::Guard;
use super::registration::About;
use super::session::Session;
use super::store::{MemoryTokens, TokenStore};
use super::user::UserAgent;
use super::web::Web;
use crate::client::{Credentials, CredentialsFuture, Refusal, Unsent};

/// Gets the tokens that a client of one MCP server needs. Tokens are sent to that server only, and never shown.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::auth::{Browser, Login, TokenFile};
///
/// let login = Login::user(Browser::default())
///     .named("desk-cli")
///     .kept_in(TokenFile::new("/home/ann/.config/desk-cli/tokens.json"));
/// ```
pub struct Login {
    pub(super) options: Options,
    session: Mutex<Session>,
}

/// What does not change while a client runs.
pub(super) struct Options {
    pub(super) how: How,
    pub(super) about: About,
    /// Clients that were registered by hand.
    pub(super) clients: Vec<RegisteredClient>,
    /// Scopes that are asked for in addition.
    pub(super) scopes: Vec<String>,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) web: Web,
}

/// How tokens are asked for.
#[derive(Debug)]
pub(super) enum How {
    User(Box<dyn UserAgent>),
    ClientCredentials,
    Workload(TokenSource),
    Enterprise(IdentityProvider),
}

/// Gives a token that proves who a workload or a user is, each time one is needed.
#[derive(Clone)]
pub struct TokenSource(Arc<Source>);

type Source = dyn Fn() -> Pin<Box<dyn Future<Output = Result<String, AuthError>> + Send>> + Send + Sync;

impl TokenSource {
    /// What this function returns.
    pub fn new<F, R>(source: F) -> TokenSource
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        TokenSource(Arc::new(move || Box::pin(source())))
    }

    /// The content of a file, as platforms write it and replace it from time to time.
    pub fn file(path: impl Into<std::path::PathBuf>) -> TokenSource {
        let path = path.into();
        TokenSource::new(move || {
            let read = std::fs::read_to_string(&path);
            let read = read.map_err(|error| AuthError::Source(format!("{}: {error}", path.display())));
            std::future::ready(read.map(|text| text.trim().to_owned()))
        })
    }

    pub(super) async fn token(&self) -> Result<String, AuthError> {
        (self.0)().await
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSource(..)")
    }
}

/// A company's identity provider, which its user has logged in to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Its issuer.
    pub issuer: String,
    /// Its token endpoint.
    pub token_endpoint: String,
    /// The client that the user logged in to.
    pub client: RegisteredClient,
    /// The ID tokens of the user.
    pub identity: TokenSource,
}

impl IdentityProvider {
    /// The provider with this issuer and token endpoint.
    #[must_use]
    pub fn new(
        issuer: impl Into<String>,
        token_endpoint: impl Into<String>,
        client: RegisteredClient,
        identity: TokenSource,
    ) -> IdentityProvider {
        IdentityProvider { issuer: issuer.into(), token_endpoint: token_endpoint.into(), client, identity }
    }
}

impl Login {
    /// A user logs in, and may be asked again when the server wants more scopes.
    #[must_use]
    pub fn user(agent: impl UserAgent) -> Login {
        Login::by(How::User(Box::new(agent)))
    }

    /// The program logs in as itself.
    #[must_use]
    pub fn client_credentials(client: RegisteredClient) -> Login {
        Login::by(How::ClientCredentials).client(client)
    }

    /// The program shows a token that its platform gave it.
    #[must_use]
    pub fn workload(client: RegisteredClient, identity: TokenSource) -> Login {
        Login::by(How::Workload(identity)).client(client)
    }

    /// The program shows that its user has logged in at the company's identity provider, which decides about the access.
    #[must_use]
    pub fn enterprise(provider: IdentityProvider, client: RegisteredClient) -> Login {
        Login::by(How::Enterprise(provider)).client(client)
    }

    fn by(how: How) -> Login {
        let mut web = Web { guard: Guard::default(), options: HttpClientOptions::default() };
        if let How::Enterprise(provider) = &how {
            web.guard.allow(&provider.token_endpoint);
        }
        let options = Options {
            how,
            about: About { name: "Switchboard".to_owned(), document: None },
            clients: Vec::new(),
            scopes: Vec::new(),
            store: Arc::new(MemoryTokens::default()),
            web,
        };
        Login { options, session: Mutex::default() }
    }

    /// Sets the name that users see when they are asked.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Login {
        self.options.about.name = name.into();
        self
    }

    /// Names the document about this client: an `https` URL, which authorization servers that read such documents take as its identifier.
    #[must_use]
    pub fn described_at(mut self, url: impl Into<String>) -> Login {
        self.options.about.document = Some(url.into());
        self
    }

    /// Adds a client that was registered by hand.
    #[must_use]
    pub fn client(mut self, client: RegisteredClient) -> Login {
        self.options.clients.push(client);
        self
    }

    /// Asks for these scopes in addition to those that the server names.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Login {
        self.options.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps tokens there: in memory by default.
    #[must_use]
    pub fn kept_in(mut self, store: impl TokenStore) -> Login {
        self.options.store = Arc::new(store);
        self
    }

    /// Sets how authorization servers are connected to, such as the certificates that are trusted.
    #[must_use]
    pub fn http(mut self, options: HttpClientOptions) -> Login {
        self.options.web.options = options;
        self
    }

    /// Logs in to the server at this URL now, and keeps the token. One that is kept already is replaced.
    ///
    /// # Errors
    ///
    /// When the server does not ask for a login, or the login does not succeed.
    pub async fn log_in(&self, url: &str) -> Result<(), AuthError> {
        self.session.lock().await.log_in(&self.options, url).await
    }

    /// Also requests URLs of this server, which may be in a private network.
    #[must_use]
    pub fn allow(mut self, url: &str) -> Login {
        self.options.web.guard.allow(url);
        self
    }
}

impl Credentials for Login {
    fn authorize<'a>(&'a self, request: Unsent<'a>) -> CredentialsFuture<'a, ()> {
        Box::pin(async move {
            let mut session = self.session.lock().await;
            Ok(session.authorize(&self.options, request.method, request.url, request.headers).await?)
        })
    }

    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> CredentialsFuture<'a, bool> {
        Box::pin(async move {
            let mut session = self.session.lock().await;
            Ok(session.refused(&self.options, &refusal).await?)
        })
    }

    fn answered(&self, headers: &HeaderMap) {
        // Another request is being authorized, or logs in. It sees for itself what the server wants.
        if let Ok(mut session) = self.session.try_lock() {
            session.answered(headers);
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("how", &self.options.how).finish_non_exhaustive()
    }
}
