//! `switchboard prompts`: lists the prompts of an MCP server, and fills them in.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use switchboard::Json;
use switchboard::mcp::Client;
use switchboard::mcp::model::{CompletionParams, CompletionRef, Message, Prompt, methods};

use super::content::Shown;
use super::lists::Listed;
use super::terminal::HEAD;
use super::{Server, described, tools};
use crate::discover::METHOD;
use crate::exit;
use crate::failure::Failure;
use crate::table::{Cell, Table};
use crate::{output, params, suggest, table};

const EXAMPLES: &str = "\
Examples:
  switchboard prompts http://127.0.0.1:8000/mcp                 # a table of them
  switchboard prompts http://127.0.0.1:8000/mcp get review language=rust
  switchboard prompts http://127.0.0.1:8000/mcp complete review language ru
  switchboard prompts 'npx -y some-server' list | jq -r .name";

const LONG: &str = "\
Arguments are texts. On a terminal, the messages are printed with their roles. In a pipe, lists are JSON, one prompt per line, and a prompt that is \
filled in is the JSON of the server.";

/// Lists the prompts of an MCP server, and fills them in.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
    subcommand_help_heading = "Actions",
    subcommand_value_name = "ACTION",
)]
pub(crate) struct Prompts {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do. Without an action, the prompts are listed.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the prompts.
    List {
        /// Only those with this word in their name, title or description.
        word: Option<String>,
    },
    /// Fill in a prompt.
    Get(Get),
    /// Complete an argument.
    Complete {
        /// Name of the prompt.
        name: String,
        /// Argument to complete.
        argument: String,
        /// What is known of it.
        #[arg(default_value = "")]
        value: String,
    },
}

/// A prompt to fill in.
#[derive(Debug, Args)]
struct Get {
    /// Name of the prompt.
    name: String,
    /// Arguments, as name=value pairs.
    arguments: Vec<String>,
    /// Save images, sounds and files in this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

impl Listed for Prompt {
    const LIST: (&'static str, &'static str) = (methods::LIST_PROMPTS, "prompts");
    const NAMES: (&'static str, &'static str) = ("prompt", "prompts");

    fn key(&self) -> &str {
        &self.name
    }

    fn texts(&self) -> [Option<&str>; 3] {
        [self.title.as_deref(), self.description.as_deref(), None]
    }
}

impl Prompts {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.server.run(async |client| match &self.action {
            None => self.list(client, None).await,
            Some(Action::List { word }) => self.list(client, word.as_deref()).await,
            Some(Action::Get(get)) => get.run(&self.server, client).await,
            Some(Action::Complete { name, argument, value }) => {
                let of = CompletionRef::Prompt(name.clone());
                self.server.complete(client, &CompletionParams::new(of, argument, value)).await
            }
        })
    }

    async fn list(&self, client: &Client, word: Option<&str>) -> Result<(), Failure> {
        let found = self.server.search::<Prompt>(client, word).await?;
        if !self.server.is_for_people() {
            return self.server.write_all(&found.into_iter().map(|entry| entry.json).collect::<Vec<_>>());
        }
        let mut table = Table::new(["prompt", "description"]);
        for entry in &found {
            let prompt = &entry.value;
            let text = prompt.description.as_deref().unwrap_or(prompt.display_name());
            table.row([Cell::new(signature(prompt), METHOD), Cell::plain(text)]);
        }
        output::page(&table.render(table::terminal_width())).map(drop)
    }
}

impl Server {
    /// Prints the completions of an argument, one per line.
    pub(super) async fn complete(&self, client: &Client, params: &CompletionParams) -> Result<(), Failure> {
        let completion = client.complete(params).await.map_err(|error| self.explain(error))?;
        for value in &completion.values {
            let is_read = match self.is_for_people() {
                true => output::page(&format!("{}\n", crate::visible::visible(value)))?,
                false => self.write(value)?,
            };
            if !is_read {
                return Ok(());
            }
        }
        if completion.has_more {
            output::note("there are more\n");
        }
        Ok(())
    }
}

/// The prompt with its arguments, with `?` behind those that may be left out.
fn signature(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().map(|argument| {
        let mark = if argument.required { "" } else { "?" };
        format!("{}{mark}", argument.name)
    });
    format!("{}({})", prompt.name, arguments.collect::<Vec<_>>().join(", "))
}

impl Get {
    async fn run(&self, server: &Server, client: &Client) -> Result<(), Failure> {
        let prompt = server.find::<Prompt>(client, &self.name).await?.value;
        let params = json!({"name": self.name, "arguments": self.read(&prompt)?});
        let filled = tools::call(client, methods::GET_PROMPT, params).await;
        let filled: Json = filled.map_err(|error| server.explain(error))?;
        if !server.is_for_people() {
            return server.write(&filled).map(drop);
        }
        let messages: Vec<Message> =
            filled.get("messages").and_then(|messages| messages.decode().ok()).unwrap_or_default();
        let mut shown = Shown::new(self.save.as_deref(), &self.name);
        let mut text = String::new();
        for message in &messages {
            let content = shown.blocks([&message.content])?;
            text.push_str(&format!("{HEAD}{}:{HEAD:#} {content}", message.role.as_str()));
        }
        output::page(&text).map(drop)
    }

    /// The arguments, which are texts.
    fn read(&self, prompt: &Prompt) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for word in &self.arguments {
            let (name, value) = params::name_and_value(word).ok_or_else(|| {
                wrong(format!("{word:?} has no name; arguments are written as NAME=VALUE"), prompt)
            })?;
            if !prompt.arguments.iter().any(|argument| argument.name == name) {
                let names = prompt.arguments.iter().map(|argument| argument.name.as_str());
                let question = suggest::did_you_mean(name, names).map(|question| format!("; {question}"));
                return Err(wrong(
                    format!("unknown argument {name:?}{}", question.unwrap_or_default()),
                    prompt,
                ));
            }
            arguments.insert(name.to_owned(), Value::from(value));
        }
        let is_missing = |name: &str| !arguments.contains_key(name);
        match prompt.arguments.iter().find(|argument| argument.required && is_missing(&argument.name)) {
            Some(argument) => Err(wrong(format!("missing argument: {}", argument.name), prompt)),
            None => Ok(arguments),
        }
    }
}

/// What is wrong with the arguments, and what would be right.
fn wrong(what: String, prompt: &Prompt) -> Failure {
    let mut text = format!("expected {}", signature(prompt));
    for argument in &prompt.arguments {
        let mark = if argument.required { "" } else { " (optional)" };
        let about = argument.description.as_deref().map(|words| format!("  {words}")).unwrap_or_default();
        text.push_str(&format!("\n  {}{mark}{about}", argument.name));
    }
    Failure::usage(what).advise(text)
}
