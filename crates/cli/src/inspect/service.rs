//! The methods that the page calls. The server is a stranger to them: params and results pass as they are.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::mcp::Progress;
use switchboard::mcp::model::{Body, LogLevel, Root, methods};
use switchboard::{Context, ErrorObject, Json, service};

use super::connection::{About, Inspected};
use super::page::Page;
use super::sandbox::{MEDIA_TYPE, Sandbox};
use super::token::Door;
use super::transcript::transcript;
use crate::units;

pub(super) struct Methods {
    pub(super) door: Arc<Door>,
    pub(super) page: Page,
    pub(super) inspected: Arc<Inspected>,
    pub(super) sandbox: Arc<Sandbox>,
}

/// What a page gets that opens.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Opened {
    version: &'static str,
    /// The token for when the page is loaded again.
    token: String,
    /// The URL of the command line.
    target: String,
    /// The server, if there is a connection.
    about: Option<About>,
}

/// A list of the server.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// A folder.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Folder {
    uri: String,
    name: Option<String>,
}

#[derive(Serialize)]
struct Reported {
    key: u64,
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// A view that can be loaded.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct View {
    url: String,
    /// What it may load, as the server says.
    csp: Option<Json>,
}

/// The most pages that are read of a list.
const PAGES: usize = 1000;

#[service(namespace = "inspect")]
impl Methods {
    /// Begins with the page that calls, in place of any other.
    async fn open(&self, cx: &Context) -> Opened {
        self.page.open(cx.peer());
        let about = self.inspected.about().await;
        let (token, target) = (self.door.session().to_owned(), self.inspected.url().to_owned());
        Opened { version: env!("CARGO_PKG_VERSION"), token, target, about }
    }

    /// Returns the messages of the connection after this one, as many as fit.
    fn messages(&self, after: u64) -> Vec<super::wire::Record> {
        const ROOM: usize = 4 << 20;
        self.page.log.after(after, ROOM)
    }

    /// Connects to the server of the command line, or to another URL.
    async fn connect(&self, url: Option<String>) -> Result<About, ErrorObject> {
        let url = url.unwrap_or_else(|| self.inspected.url().to_owned());
        self.inspected.connect(&url).await
    }

    /// Ends the connection.
    async fn disconnect(&self) {
        self.inspected.disconnect().await;
    }

    /// Returns all entries of a list, over all its pages, as the server writes them.
    async fn list(&self, kind: Kind) -> Result<Vec<Json>, ErrorObject> {
        let client = self.inspected.client().await?;
        let (method, member) = match kind {
            Kind::Tools => (methods::LIST_TOOLS, "tools"),
            Kind::Resources => (methods::LIST_RESOURCES, "resources"),
            Kind::Templates => (methods::LIST_TEMPLATES, "resourceTemplates"),
            Kind::Prompts => (methods::LIST_PROMPTS, "prompts"),
        };
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page: Json = client.request(method, Cursor { cursor: cursor.take() }).fresh().await?;
            let [entries, next] = page.pick([member, "nextCursor"]);
            all.extend(entries.iter().flat_map(Json::elements).map(|entry| entry.detached()));
            cursor = next.filter(|next| *next != Json::NULL).map(|next| next.detached());
            if cursor.is_none() {
                return Ok(all);
            }
        }
        Err(ErrorObject::upstream_failed(format!("{method} has more than {PAGES} pages")))
    }

    /// Sends a request to the server, and returns the result as it is. Progress is reported with the key.
    async fn request(
        &self,
        method: String,
        params: Option<Json>,
        key: Option<u64>,
    ) -> Result<Json, ErrorObject> {
        let client = self.inspected.client().await?;
        let request = client.request(method, params.unwrap_or(Json::NULL)).timeout(units::LONGEST).fresh();
        let page = self.page.clone();
        let request = match key {
            Some(key) => request.on_progress(move |Progress { progress, total, message, .. }| {
                page.tell("inspect/progress", &Reported { key, progress, total, message });
            }),
            None => request,
        };
        Ok(request.await?)
    }

    /// Gets a view of the server ready to be shown.
    async fn view(&self, uri: String) -> Result<View, ErrorObject> {
        if !uri.starts_with("ui://") {
            return Err(ErrorObject::invalid_params("views have ui: URIs"));
        }
        let contents = self.inspected.client().await?.read(&uri).fresh().await?;
        let found = contents.into_iter().find(|content| content.mime_type.as_deref() == Some(MEDIA_TYPE));
        let found = found.ok_or_else(|| {
            ErrorObject::upstream_failed(format!(
                "the resource {uri} is not a view, which has the type {MEDIA_TYPE}"
            ))
        })?;
        let html = match found.body {
            Body::Text(text) => text,
            Body::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let csp = found.meta.get("ui").and_then(|ui| ui.get("csp"));
        let url = self.sandbox.keep(html, csp.as_ref()).map_err(|error| ErrorObject::internal(&error))?;
        Ok(View { url, csp })
    }

    /// Reports changes of these resources from now on, and of no others.
    async fn watch(&self, uris: Vec<String>) -> Result<(), ErrorObject> {
        self.inspected.watch(uris).await
    }

    /// Replaces the folders that the server may ask for.
    async fn roots(&self, roots: Vec<Folder>) -> Result<(), ErrorObject> {
        let roots = roots.into_iter().map(|Folder { uri, name }| {
            let mut root = Root::new(uri);
            root.name = name;
            root
        });
        self.inspected.client().await?.set_roots(roots).await;
        Ok(())
    }

    /// Sets the least severe log messages that the server sends.
    async fn log_level(&self, level: String) -> Result<(), ErrorObject> {
        let level: LogLevel = level
            .parse()
            .map_err(|_| ErrorObject::invalid_params(format!("{level:?} is not a log level")))?;
        Ok(self.inspected.client().await?.set_log_level(level).await?)
    }

    /// Returns what went over the wire as a recording.
    fn transcript(&self) -> String {
        let (records, began) = self.page.log.all();
        transcript(&records, began)
    }
}

#[derive(Serialize)]
struct Cursor {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<Json>,
}
