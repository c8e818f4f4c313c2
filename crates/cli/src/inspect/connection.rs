//! The connection to the server, which the page makes and ends.

use std::sync::Arc;

use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use switchboard::mcp::auth::Login;
use switchboard::mcp::model::Wire as _;
use switchboard::mcp::{Change, Client, Watch};
use switchboard::{CallError, ErrorObject, Json, Settings, Tap};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::callbacks::{LoginInPage, answering};
use super::page::Page;
use crate::failure::Failure;
use crate::mcp_client::connect::{credentials, explain};
use crate::target::Target;

/// The server that is inspected.
pub(super) struct Inspected {
    /// The server of the command line.
    target: Target,
    page: Page,
    connection: Mutex<Option<Connection>>,
}

struct Connection {
    about: About,
    client: Client,
    /// Reports changes.
    watching: Option<JoinHandle<()>>,
}

/// What is known about a server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct About {
    /// The URL that was connected to.
    pub(super) url: String,
    /// The revision of MCP in use.
    pub(super) revision: String,
    /// Whether the server has no sessions.
    pub(super) stateless: bool,
    /// What the server says about itself.
    pub(super) server: Option<Json>,
    /// Instructions for models.
    pub(super) instructions: Option<String>,
    /// What it offers.
    pub(super) capabilities: Json,
}

/// Something that has changed on the server.
#[derive(Serialize)]
struct Changed {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

impl Inspected {
    pub(super) fn new(target: Target, page: Page) -> Inspected {
        Inspected { target, page, connection: Mutex::default() }
    }

    /// The URL of the command line.
    pub(super) fn url(&self) -> &str {
        &self.target.url
    }

    /// What is connected to; none if nothing is.
    pub(super) async fn about(&self) -> Option<About> {
        self.connection.lock().await.as_ref().map(|connection| connection.about.clone())
    }

    /// The client, if there is a connection.
    pub(super) async fn client(&self) -> Result<Client, ErrorObject> {
        let connection = self.connection.lock().await;
        let client = connection.as_ref().map(|connection| connection.client.clone());
        client.ok_or_else(|| ErrorObject::new(NOT_CONNECTED, "not connected; connect to a server first"))
    }

    /// Connects in place of what was connected to.
    pub(super) async fn connect(&self, url: &str) -> Result<About, ErrorObject> {
        let mut connection = self.connection.lock().await;
        drop(connection.take());
        let target = self.target_at(url)?;
        self.page.log.clear();
        let client = self.open(&target).await.map_err(|failure| refusal(&failure))?;
        let revision = client.revision();
        let about = About {
            url: url.to_owned(),
            revision: revision.as_str().to_owned(),
            stateless: revision.is_stateless(),
            server: client.server().map(|server| server.to_json(revision)),
            instructions: client.instructions().map(str::to_owned),
            capabilities: client.capabilities().to_json(revision),
        };
        // Not every server says when its lists change.
        let watch = client.watch(Vec::<String>::new()).await.ok();
        let watching = watch.map(|watch| self.report(watch));
        *connection = Some(Connection { about: about.clone(), client, watching });
        Ok(about)
    }

    pub(super) async fn disconnect(&self) {
        drop(self.connection.lock().await.take());
    }

    /// Reports changes of these resources, besides those of lists.
    pub(super) async fn watch(&self, uris: Vec<String>) -> Result<(), ErrorObject> {
        let mut connection = self.connection.lock().await;
        let Some(connection) = connection.as_mut() else { return Ok(()) };
        let watch = connection.client.watch(uris).await?;
        if let Some(before) = connection.watching.replace(self.report(watch)) {
            before.abort();
        }
        Ok(())
    }

    fn report(&self, mut watch: Watch) -> JoinHandle<()> {
        let page = self.page.clone();
        tokio::spawn(async move {
            while let Some(change) = watch.next().await {
                let (kind, uri) = match change {
                    Ok(Change::Tools) => ("tools", None),
                    Ok(Change::Resources) => ("resources", None),
                    Ok(Change::Prompts) => ("prompts", None),
                    Ok(Change::Resource(uri)) => ("resource", Some(uri)),
                    // The connection was made again: anything may have changed.
                    Err(CallError::Gap(_)) => ("all", None),
                    Ok(_) | Err(_) => continue,
                };
                page.tell("inspect/changed", &Changed { kind, uri });
            }
        })
    }

    /// The server at this URL. Programs are started only as the command line says.
    fn target_at(&self, url: &str) -> Result<Target, ErrorObject> {
        if url == self.target.url {
            return Ok(self.target.clone());
        }
        let scheme = url.split(':').next().unwrap_or_default();
        if !PLACES.contains(&scheme) {
            let text = format!("the page can connect to {} URLs only", PLACES.join(", "));
            let advice = "to start another program, use the command line: switchboard inspect 'exec:COMMAND'";
            return Err(
                ErrorObject::new(REFUSED, text).with_data(&Advice { advice: Some(advice.to_owned()) })
            );
        }
        Ok(self.target.at(url))
    }

    async fn open(&self, target: &Target) -> Result<Client, Failure> {
        let dial = target.dial()?;
        let settings = self.tapped(target, dial.settings());
        let dial = dial.with_settings(settings);
        let builder =
            answering(Client::builder("switchboard-inspect", env!("CARGO_PKG_VERSION")), &self.page);
        let builder =
            match credentials(target, Login::user(LoginInPage(self.page.clone())).allow(&target.url))? {
                Some(credentials) => builder.credentials(credentials),
                None => builder,
            };
        builder.dial(dial).await.map_err(|error| explain(target, error))
    }

    /// Shows messages in the page, and on stderr if `-v` asks for it.
    fn tapped(&self, target: &Target, settings: &Settings) -> Settings {
        let (log, shown) = (Arc::clone(&self.page.log), target.tap());
        let tap = Tap::new(move |direction, what| {
            if let Some(shown) = &shown {
                shown.show(direction, what);
            }
            log.add(direction, what);
        });
        settings.clone().with_tap(Some(tap))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.watching.as_ref().inspect(|watching| watching.abort());
    }
}

/// The schemes that the page may name. Others start programs, or open files of this machine.
const PLACES: [&str; 6] = ["http", "https", "ws", "wss", "tcp", "tls"];

/// Codes of the errors of this service.
const NOT_CONNECTED: i64 = 1;
const REFUSED: i64 = 2;
const FAILED: i64 = 3;

#[derive(Serialize)]
struct Advice {
    advice: Option<String>,
}

/// Why there is no connection, and what to do about it.
fn refusal(failure: &Failure) -> ErrorObject {
    let (text, advice) = match failure {
        Failure::Rejected(error, advice) => {
            (format!("the server refused: {} ({})", error.message, error.code.0), advice.clone())
        }
        Failure::Trouble(trouble) => (trouble.what.clone(), trouble.advice.clone()),
        Failure::Shown(_, text) => (text.clone(), None),
    };
    ErrorObject::new(FAILED, text).with_data(&Advice { advice })
}
