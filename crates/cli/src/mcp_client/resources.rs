//! `switchboard resources`: lists, reads and watches the resources of an MCP server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use futures_util::StreamExt as _;
use serde_json::json;
use switchboard::CallError;
use switchboard::mcp::model::{
    CompletionParams, CompletionRef, Contents, Resource, ResourceTemplate, methods,
};
use switchboard::mcp::{Change, Client};

use super::content::{Shown, size};
use super::lists::Listed;
use super::{Server, described, tools};
use crate::discover::METHOD;
use crate::exit;
use crate::failure::Failure;
use crate::table::{Cell, Table};
use crate::{output, table};

const EXAMPLES: &str = "\
Examples:
  switchboard resources http://127.0.0.1:8000/mcp                  # a table of them
  switchboard resources http://127.0.0.1:8000/mcp templates        # those with parts to fill in
  switchboard resources http://127.0.0.1:8000/mcp read file:///readme.md
  switchboard resources 'npx -y some-server' read img://logo --save .
  switchboard resources http://127.0.0.1:8000/mcp read clock://now --watch
  switchboard resources http://127.0.0.1:8000/mcp complete 'docs://{name}' name re";

const LONG: &str = "\
On a terminal, the text of a resource is printed, and anything else by its type and size, or saved with --save. In a pipe, lists are JSON, one resource \
per line, and the answer to `read` is the JSON of the server.";

/// Lists, reads and watches the resources of an MCP server.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
    subcommand_help_heading = "Actions",
    subcommand_value_name = "ACTION",
)]
pub(crate) struct Resources {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do. Without an action, the resources are listed.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the resources.
    List {
        /// Only those with this word in their URI, name or description.
        word: Option<String>,
    },
    /// List the templates of resources.
    Templates {
        /// Only those with this word in their URI, name or description.
        word: Option<String>,
    },
    /// Read a resource.
    Read(Read),
    /// Complete a part of a template.
    Complete {
        /// URI of the template.
        template: String,
        /// Part to complete.
        variable: String,
        /// What is known of it.
        #[arg(default_value = "")]
        value: String,
    },
}

/// A resource to read.
#[derive(Debug, Args)]
struct Read {
    /// URI of the resource.
    uri: String,
    /// Read it again each time that the server says that it has changed.
    #[arg(long)]
    watch: bool,
    /// Save what is not text in this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

impl Listed for Resource {
    const LIST: (&'static str, &'static str) = (methods::LIST_RESOURCES, "resources");
    const NAMES: (&'static str, &'static str) = ("resource", "resources");

    fn key(&self) -> &str {
        &self.uri
    }

    fn texts(&self) -> [Option<&str>; 3] {
        [Some(&self.name), self.title.as_deref(), self.description.as_deref()]
    }
}

impl Listed for ResourceTemplate {
    const LIST: (&'static str, &'static str) = (methods::LIST_TEMPLATES, "resourceTemplates");
    const NAMES: (&'static str, &'static str) = ("template", "templates");

    fn key(&self) -> &str {
        &self.uri_template
    }

    fn texts(&self) -> [Option<&str>; 3] {
        [Some(&self.name), self.title.as_deref(), self.description.as_deref()]
    }
}

impl Resources {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.server.run(async |client| match &self.action {
            None => self.list(client, None).await,
            Some(Action::List { word }) => self.list(client, word.as_deref()).await,
            Some(Action::Templates { word }) => self.templates(client, word.as_deref()).await,
            Some(Action::Read(read)) => read.run(&self.server, client).await,
            Some(Action::Complete { template, variable, value }) => {
                let of = CompletionRef::Resource(template.clone());
                self.server.complete(client, &CompletionParams::new(of, variable, value)).await
            }
        })
    }

    async fn list(&self, client: &Client, word: Option<&str>) -> Result<(), Failure> {
        let found = self.server.search::<Resource>(client, word).await?;
        if !self.server.is_for_people() {
            return self.server.write_all(&found.into_iter().map(|entry| entry.json).collect::<Vec<_>>());
        }
        let mut table = Table::new(["resource", "type", "size", "description"]);
        for entry in &found {
            let resource = &entry.value;
            let bytes = resource.size.and_then(|bytes| usize::try_from(bytes).ok());
            table.row([
                Cell::new(&resource.uri, METHOD),
                Cell::plain(resource.mime_type.as_deref().unwrap_or_default()),
                Cell::plain(bytes.map(size).unwrap_or_default()),
                Cell::plain(resource.description.as_deref().unwrap_or(resource.display_name())),
            ]);
        }
        output::page(&table.render(table::terminal_width())).map(drop)
    }

    async fn templates(&self, client: &Client, word: Option<&str>) -> Result<(), Failure> {
        let found = self.server.search::<ResourceTemplate>(client, word).await?;
        if !self.server.is_for_people() {
            return self.server.write_all(&found.into_iter().map(|entry| entry.json).collect::<Vec<_>>());
        }
        let mut table = Table::new(["template", "type", "description"]);
        for entry in &found {
            let template = &entry.value;
            table.row([
                Cell::new(&template.uri_template, METHOD),
                Cell::plain(template.mime_type.as_deref().unwrap_or_default()),
                Cell::plain(template.description.as_deref().unwrap_or(template.display_name())),
            ]);
        }
        output::page(&table.render(table::terminal_width())).map(drop)
    }
}

impl Read {
    async fn run(&self, server: &Server, client: &Client) -> Result<(), Failure> {
        if !self.watch {
            return self.read(server, client).await.map(drop);
        }
        // Watched first, so that no change is missed.
        let mut changes = client.watch([self.uri.as_str()]).await.map_err(|error| server.explain(error))?;
        let mut is_read = self.read(server, client).await?;
        while is_read && let Some(change) = changes.next().await {
            match change {
                Ok(Change::Resource(_)) => is_read = self.read(server, client).await?,
                Ok(_) => {}
                Err(CallError::Gap(gap)) => {
                    output::note(&format!("warning: {gap}\n"));
                    is_read = self.read(server, client).await?;
                }
                Err(error) => return Err(server.explain(error)),
            }
        }
        Ok(())
    }

    /// Reads it once. False if stdout is not read any more.
    async fn read(&self, server: &Server, client: &Client) -> Result<bool, Failure> {
        let read = tools::call(client, methods::READ_RESOURCE, json!({"uri": self.uri})).await;
        let result = read.map_err(|error| server.explain(error))?;
        let contents: Vec<Contents> =
            result.get("contents").and_then(|contents| contents.decode().ok()).unwrap_or_default();
        let mut shown = Shown::new(self.save.as_deref(), &self.uri);
        if !server.is_for_people() && self.save.is_none() {
            return server.write(&result);
        }
        let text: Result<String, Failure> =
            contents.iter().map(|contents| shown.contents(contents)).collect();
        output::page(&text?)
    }
}
