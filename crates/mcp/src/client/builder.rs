//! What a program says about itself, and what it answers, before it connects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use switchboard_core::{CallError, ErrorObject, Json, Peer, Service};
use switchboard_transport::Dial;

use super::about::About;
use super::connect::{Connector, settings};
use super::listener::Host;
use super::program::Program;
use super::{Client, Credentials, TIMEOUT};
use crate::model::{
    ElicitForm, ElicitUrl, Elicited, Implementation, LogLevel, LogParams, Revision, Root, Sampled, Sampling,
};

/// A client that is about to connect. What it has a callback for is declared to servers; nothing else can be asked.
///
/// The callbacks answer servers of every revision, those that ask by requests and those that ask by results. They can run at the same
/// time, and a call waits for them without a time limit: give up by an answer, such as [`Elicited::cancel`].
///
/// # Examples
///
/// ```no_run
/// use switchboard_mcp::Client;
/// use switchboard_mcp::model::{Elicited, ElicitForm, Root};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder("my-app", "1.0.0")
///     .on_elicit(|form: ElicitForm| async move {
///         println!("{}", form.message);
///         Elicited::decline()
///     })
///     .roots([Root::new("file:///home/ann/trips")])
///     .connect("exec:my-server --stdio")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it does not connect before `connect`"]
pub struct ClientBuilder {
    about: About,
    program: Program,
    timeout: Duration,
    revision: Option<Revision>,
    credentials: Option<Arc<dyn Credentials>>,
}

impl Client {
    /// A client of a program with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            about: About::new(Implementation::new(name, version)),
            program: Program::default(),
            timeout: TIMEOUT,
            revision: None,
            credentials: None,
        }
    }
}

/// Who the program is.
impl ClientBuilder {
    /// Replaces the description of the program.
    pub fn implementation(mut self, implementation: Implementation) -> ClientBuilder {
        self.about.implementation = implementation;
        self
    }

    /// Declares an extension with these settings, an object.
    pub fn extension<T: Serialize>(mut self, identifier: impl Into<String>, settings: &T) -> ClientBuilder {
        self.about.extensions.insert(identifier.into(), Json::encode_ref(settings).unwrap_or(Json::NULL));
        self
    }

    /// Shows the server over HTTP who calls.
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> ClientBuilder {
        self.credentials = Some(credentials);
        self
    }
}

/// What the program answers.
impl ClientBuilder {
    /// Fills in forms of a server for the user, who has to see which server asks, and can decline.
    pub fn on_elicit<R>(mut self, ask: impl Fn(ElicitForm) -> R + Send + Sync + 'static) -> ClientBuilder
    where
        R: Future<Output = Elicited> + Send + 'static,
    {
        self.program.on_form(ask);
        self
    }

    /// Asks the user to open a page of a server in a browser. Show the whole URL before, and open it only with consent.
    pub fn on_open_url<R>(mut self, ask: impl Fn(ElicitUrl) -> R + Send + Sync + 'static) -> ClientBuilder
    where
        R: Future<Output = Elicited> + Send + 'static,
    {
        self.program.on_url(ask);
        self
    }

    /// Asks a language model for a server.
    pub fn on_sample<R>(mut self, ask: impl Fn(Sampling) -> R + Send + Sync + 'static) -> ClientBuilder
    where
        R: Future<Output = Result<Sampled, ErrorObject>> + Send + 'static,
    {
        self.program.on_sample(ask);
        self
    }

    /// Lets servers give tools to the language model.
    pub fn sampling_tools(mut self) -> ClientBuilder {
        self.program.allow_tools();
        self
    }

    /// Sets the folders that the program works in. [`Client::set_roots`] replaces them.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> ClientBuilder {
        self.program.set_roots(roots.into_iter().collect());
        self.about.changes_roots = true;
        self
    }

    /// Takes the log messages of the server, from [`log_level`](ClientBuilder::log_level) on: `info` by default. Their text cannot be
    /// trusted. Without this they go to the log of the program.
    pub fn on_log(mut self, log: impl Fn(LogParams) + Send + Sync + 'static) -> ClientBuilder {
        self.program.on_log(log);
        self.about.level.get_or_insert(LogLevel::Info);
        self
    }

    /// Sets the least severe log messages that the server should send. By default it sends what it likes, or nothing if it has no session.
    pub fn log_level(mut self, level: LogLevel) -> ClientBuilder {
        self.about.level = Some(level);
        self
    }
}

/// How to connect.
impl ClientBuilder {
    /// Sets how long a request may take: 60 seconds by default. Requests can have their own timeout.
    pub fn timeout(mut self, timeout: Duration) -> ClientBuilder {
        self.timeout = timeout;
        self
    }

    /// Speaks this revision, or an older one if the server wants that. By default the newest that both know is found out.
    pub fn revision(mut self, revision: Revision) -> ClientBuilder {
        self.revision = Some(revision);
        self
    }

    /// Connects to the server at this URL: `http://127.0.0.1:8000/mcp`, or `exec:COMMAND` for a program that speaks MCP over its
    /// standard input and output. Every duplex transport works. Over HTTP, servers with sessions, without, and those that know only the
    /// event stream of 2024-11-05 are told apart.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not speak MCP.
    pub async fn connect(self, url: &str) -> Result<Client, CallError> {
        self.dial(Dial::new(url)?.with_settings(settings())).await
    }

    /// Connects in this way: with other headers, TLS settings or environment variables. The settings apply, except for
    /// the profile, which is that of MCP.
    ///
    /// # Errors
    ///
    /// As for [`connect`](ClientBuilder::connect).
    pub async fn dial(self, dial: Dial) -> Result<Client, CallError> {
        self.connector().dial(dial).await
    }

    /// Connects over a duplex transport, with [MCP's profile](crate::Server::profile). The function connects; the server calls the
    /// service that it gets. It is called again when the connection breaks.
    ///
    /// # Errors
    ///
    /// As for [`connect`](ClientBuilder::connect).
    pub async fn over<F, R, E>(self, connect: F) -> Result<Client, CallError>
    where
        F: Fn(Arc<dyn Service>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Peer, E>> + Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        self.connector().over(connect).await
    }

    fn connector(self) -> Connector {
        let ClientBuilder { mut about, program, timeout, revision, credentials } = self;
        about.features = program.features();
        let host = Host::Program(Arc::new(program));
        Connector { timeout, revision, credentials, ..Connector::of(host, about) }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("about", &self.about).finish_non_exhaustive()
    }
}
