//! An MCP server for the commands that talk to any server: `call`, `watch` and `repl` with `--mcp`.

use futures_util::StreamExt as _;
use serde::Serialize;
use switchboard::mcp::adapt::Methods;
use switchboard::mcp::model::methods;
use switchboard::mcp::{Change, Connector};
use switchboard::{CallError, Json, Peer, Service};

use super::connect::{credentials, login};
use super::sampling::Sample;
use super::{Server, server_url, tools};
use crate::failure::Failure;
use crate::output;
use crate::params;
use crate::served::Served;
use crate::session::Session;
use crate::target::Target;

/// What `watch` shows of a change: the notification of MCP.
#[derive(Serialize)]
struct Notification<'a> {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Resource<'a>>,
}

#[derive(Serialize)]
struct Resource<'a> {
    uri: &'a str,
}

impl Server {
    /// The MCP server of this target, with nothing to tell or answer it.
    pub(crate) fn plain(mut target: Target) -> Server {
        target.url = server_url(&target.url);
        Server { target, roots: Vec::new(), sample: Sample::Refuse }
    }

    /// Its options.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Calls a method of MCP, or the tool of this name.
    pub(crate) fn call(&self, method: &str, words: &[String]) -> Result<(), Failure> {
        self.run(async |client| {
            if !methods::is_known(method) && !method.contains('/') {
                let call = tools::Call { name: method.to_owned(), arguments: words.to_vec(), save: None };
                return call.run(self, client).await;
            }
            let params = params::read(words)?;
            let result: Json =
                client.request(method.to_owned(), params).await.map_err(|error| self.explain(error))?;
            self.write(&result).map(drop)
        })
    }

    /// Shows changes of the lists, and of these resources, as they happen: all, or this many.
    pub(crate) async fn watch(
        &self,
        session: &Session<'_>,
        resources: &[String],
        count: Option<usize>,
    ) -> Result<(), Failure> {
        let client = self.connect(session).await?;
        let mut changes = client.watch(resources).await.map_err(|error| self.explain(error))?;
        let mut left = count.unwrap_or(usize::MAX);
        while left > 0
            && let Some(change) = changes.next().await
        {
            let change = match change {
                Ok(change) => change,
                Err(CallError::Gap(gap)) => {
                    output::note(&format!("warning: {gap}\n"));
                    continue;
                }
                Err(error) => return Err(self.explain(error)),
            };
            let (method, params) = match &change {
                Change::Tools => (methods::TOOLS_CHANGED, None),
                Change::Resources => (methods::RESOURCES_CHANGED, None),
                Change::Prompts => (methods::PROMPTS_CHANGED, None),
                Change::Resource(uri) => (methods::RESOURCE_UPDATED, Some(Resource { uri })),
                _ => continue,
            };
            if !self.write(&Notification { method, params })? {
                break;
            }
            left -= 1;
        }
        drop(changes);
        client.close().await;
        Ok(())
    }

    /// The tools as methods that describe themselves, with this service for what they notify of.
    pub(crate) async fn methods(
        &self,
        session: &Session<'_>,
        listener: impl Service,
    ) -> Result<Peer, Failure> {
        let dial = session.dial();
        self.target.check_token(dial.url().scheme())?;
        let mut connector = Connector::default();
        if let Some(credentials) = credentials(&self.target, login())? {
            connector = connector.with_credentials(credentials);
        }
        let explain = |error| self.explain(error);
        let client = connector.dial(dial).await.map_err(explain)?;
        let methods = Methods::of(&client).await.map_err(explain)?;
        let router = Served::Mcp(methods).router()?;
        Ok(switchboard::memory::connect(router, listener))
    }
}
