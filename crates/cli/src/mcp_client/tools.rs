//! `switchboard tools`: lists the tools of an MCP server, and calls them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchboard::Json;
use switchboard::mcp::Client;
use switchboard::mcp::model::{Block, Tool, ToolResult, methods};

use super::content::Shown;
use super::lists::{Entry, Listed};
use super::{Server, arguments, described as for_mcp};
use crate::discover::{FAINT, METHOD, detail};
use crate::discovery::{self, Method};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::layout::Layout;
use crate::shell::quoted;
use crate::table::{Cell, Table};
use crate::visible::visible;
use crate::{output, table};

const EXAMPLES: &str = "\
Examples:
  switchboard tools http://127.0.0.1:8000/mcp                       # a table of its tools
  switchboard tools http://127.0.0.1:8000/mcp list math             # those about math
  switchboard tools http://127.0.0.1:8000/mcp show math_add         # what it takes and returns
  switchboard tools http://127.0.0.1:8000/mcp call math_add a=2 b=3
  switchboard tools 'npx -y some-server --stdio' call draw what=cat --save .
  switchboard tools https://mcp.example.com/mcp --token \"$TOKEN\" | jq -r .name";

const LONG: &str = "\
The server is a URL, or a command that speaks MCP on its standard input and output. Values are read as the tool's schema says: where it wants text, \
a word that looks like a number stays text, and an argument that is given several times is a list. The MCP revision is detected.

Questions from the server appear on the terminal; without a terminal, they are declined. Over HTTP, a server that needs a login gets the token of \
`switchboard login`; at a terminal, the browser is opened.

On a terminal, results are shown as text, and images and sounds by their type and size, or saved with --save. In a pipe, lists are JSON, one tool \
per line, and a result is the JSON of the server. If the tool fails, the exit code is 1.";

/// Lists the tools of an MCP server, and calls them.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(for_mcp),
    subcommand_help_heading = "Actions",
    subcommand_value_name = "ACTION",
)]
pub(crate) struct Tools {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do. Without an action, the tools are listed.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools.
    List {
        /// Only those with this word in their name, title or description.
        word: Option<String>,
    },
    /// Show what a tool takes and returns.
    Show {
        /// Name of the tool.
        name: String,
    },
    /// Call a tool.
    Call(Call),
}

/// A call of a tool.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// Name of the tool.
    pub(super) name: String,
    /// Arguments: name=value pairs, or one JSON object, or `-` to read it from stdin.
    pub(super) arguments: Vec<String>,
    /// Save images, sounds and files of the result in this folder.
    #[arg(long, value_name = "DIR")]
    pub(super) save: Option<PathBuf>,
}

impl Listed for Tool {
    const LIST: (&'static str, &'static str) = (methods::LIST_TOOLS, "tools");
    const NAMES: (&'static str, &'static str) = ("tool", "tools");

    fn key(&self) -> &str {
        &self.name
    }

    fn texts(&self) -> [Option<&str>; 3] {
        [self.title.as_deref(), self.description.as_deref(), None]
    }
}

impl Tools {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.server.run(async |client| match &self.action {
            None => self.list(client, None).await,
            Some(Action::List { word }) => self.list(client, word.as_deref()).await,
            Some(Action::Show { name }) => self.show(client, name).await,
            Some(Action::Call(call)) => call.run(&self.server, client).await,
        })
    }

    async fn list(&self, client: &Client, word: Option<&str>) -> Result<(), Failure> {
        let found = self.server.search::<Tool>(client, word).await?;
        if !self.server.is_for_people() {
            return self.server.write_all(&found.into_iter().map(|entry| entry.json).collect::<Vec<_>>());
        }
        output::page(&listing(&found, table::terminal_width())).map(drop)
    }

    async fn show(&self, client: &Client, name: &str) -> Result<(), Failure> {
        let entry = self.server.find::<Tool>(client, name).await?;
        if !self.server.is_for_people() {
            return self.server.write(&entry.json).map(drop);
        }
        let method = described(&entry.value);
        let mut text = detail(&method, &self.server.target.url, table::terminal_width());
        if is_destructive(&entry.value) {
            text.push_str(&format!("\n{FAINT}destructive: it may delete or overwrite something{FAINT:#}\n"));
        }
        let required = method.params.iter().filter(|param| param.is_required);
        let words: Vec<String> = required.map(|param| format!(" {}=…", quoted(&param.name))).collect();
        let (url, name) = (quoted(&self.server.target.url), quoted(name));
        let command = format!("switchboard tools {url} call {name}{}", words.concat());
        text.push_str(&format!("\n{FAINT}{}{FAINT:#}\n", visible(&command)));
        output::page(&text).map(drop)
    }
}

impl Call {
    pub(super) async fn run(&self, server: &Server, client: &Client) -> Result<(), Failure> {
        let Entry { value: tool, .. } = server.find::<Tool>(client, &self.name).await?;
        let arguments = arguments::read(&self.arguments, &tool.input_schema, &described(&tool))?;
        let arguments =
            arguments.map_or_else(|| json!({}), |arguments| arguments.decode().unwrap_or_default());
        let params = json!({"name": self.name, "arguments": arguments});
        let result: Json =
            call(client, methods::CALL_TOOL, params).await.map_err(|error| server.explain(error))?;
        self.print(server, &result)
    }

    fn print(&self, server: &Server, json: &Json) -> Result<(), Failure> {
        let result: ToolResult = json.decode().map_err(|error| {
            Failure::new(Exit::Protocol, format!("this is not a result of a tool: {error}"))
        })?;
        let mut shown = Shown::new(self.save.as_deref(), &self.name);
        if !server.is_for_people() {
            if self.save.is_some() {
                output::note(&shown.blocks(result.content.iter().filter(|content| is_file(&content.block)))?);
            }
            server.write(json)?;
        } else {
            output::page(&text(&result, &mut shown)?)?;
        }
        match result.is_error {
            // Its text has been shown.
            true => Err(Failure::Shown(Exit::Rejected, "the tool failed\n".to_owned())),
            false => Ok(()),
        }
    }
}

/// Sends a request that shows its progress.
pub(super) async fn call(
    client: &Client,
    method: &'static str,
    params: Value,
) -> Result<Json, switchboard::CallError> {
    /// How long a call may take that reports progress.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let request = client.request(method, params).reset_on_progress(LONGEST);
    request
        .on_progress(|progress| output::note(&format!("progress: {}\n", visible(&progress.to_string()))))
        .await
}

fn is_file(block: &Block) -> bool {
    !matches!(block, Block::Text(_) | Block::Link(_))
}

/// The result of a tool for people: what is structured, and the content that says something else.
fn text(result: &ToolResult, shown: &mut Shown<'_>) -> Result<String, Failure> {
    let Some(structured) = &result.structured else { return shown.blocks(&result.content) };
    let value: Value = structured.decode().unwrap_or_default();
    let repeats = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|text| text == value);
    let others = result.content.iter().filter(|content| !content.as_text().is_some_and(repeats));
    Ok(format!("{}{}\n", shown.blocks(others)?, Layout::Page.of(structured)))
}

/// All tools as a table.
fn listing(tools: &[Entry<Tool>], width: usize) -> String {
    let mut table = Table::new(["tool", "description"]);
    for Entry { value: tool, .. } in tools {
        let read_only = tool.annotations.as_ref().and_then(|hints| hints.read_only) == Some(true);
        let mark = match (read_only, is_destructive(tool)) {
            (true, _) => " [read-only]",
            (_, true) => " [destructive]",
            _ => "",
        };
        let text = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default();
        table.row([Cell::new(described(tool).signature(), METHOD), Cell::plain(format!("{text}{mark}"))]);
    }
    table.render(width)
}

/// Whether the server says so. What it does not say is not assumed.
fn is_destructive(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|hints| hints.destructive) == Some(true)
}

/// A tool as a method, whose description has words for people.
pub(super) fn described(tool: &Tool) -> Method {
    let schema: Value = tool.input_schema.decode().unwrap_or_default();
    let output: Option<Value> = tool.output_schema.as_ref().and_then(|schema| schema.decode().ok());
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let properties = tool.input_schema.get("properties");
    let params = properties.iter().flat_map(Json::entries).map(|(name, schema)| {
        let is_required = required.iter().any(|required| required.as_str() == Some(&*name));
        json!({"name": name, "required": is_required, "schema": schema.decode::<Value>().unwrap_or_default()})
    });
    let hints = tool.annotations.as_ref();
    let is = |hint: Option<bool>| hint == Some(true);
    let title = tool.title.as_ref().filter(|title| **title != tool.name);
    let method = json!({
        "name": tool.name,
        "summary": title,
        "description": tool.description,
        "params": params.collect::<Vec<_>>(),
        "result": {"schema": output.clone().unwrap_or_else(|| json!({"title": "content", "type": "object"}))},
        "x-safe": is(hints.and_then(|hints| hints.read_only)),
        "x-idempotent": is(hints.and_then(|hints| hints.idempotent)),
    });
    let mut document = json!({"methods": [method]});
    // References within the schemas lead there.
    for schema in [Some(schema.clone()), output].into_iter().flatten() {
        for definitions in ["$defs", "definitions"] {
            let Some(Value::Object(own)) = schema.get(definitions) else { continue };
            if let Some(all) = document[definitions].as_object_mut() {
                for (name, schema) in own {
                    all.entry(name).or_insert_with(|| schema.clone());
                }
            } else {
                document[definitions] = Value::Object(own.clone());
            }
        }
    }
    let found = Json::encode_ref(&document).ok().and_then(|document| discovery::read(&document));
    let mut method = found.and_then(|mut found| found.methods.pop()).unwrap_or_default();
    method.takes_others =
        schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
    method
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        let tool = r##"{"name":"add","title":"Add","description":"Adds.\nMore.","inputSchema":{"type":"object",
            "required":["a"],"properties":{"b":{"$ref":"#/$defs/N"},"a":{"type":"integer","minimum":1}},
            "$defs":{"N":{"type":"number","description":"The other."}}},
            "outputSchema":{"type":"object","properties":{"result":{"type":"number"}}},
            "annotations":{"readOnlyHint":true}}"##;
        Json::parse(tool).unwrap().decode().unwrap()
    }

    #[test]
    fn a_tool_is_described_by_its_schema() {
        let text = detail(&described(&tool()), "http://h:1", 80);
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected = "add(b?, a)\nAdd\nAdds. More.\nsafe: it changes nothing\n\n\
            parameter  type\n\
            b          number   optional; The other.\n\
            a          integer  at least 1\n\n\
            result  object\n\n\
            member   type\n\
            .result  number  optional\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn tools_are_listed_with_their_arguments() {
        let entry = Entry { json: Json::NULL, value: tool() };
        let text = anstream::adapter::strip_str(&listing(&[entry], 80)).to_string();
        assert_eq!(text, "tool        description\nadd(b?, a)  Adds. [read-only]\n");
    }

    #[test]
    fn a_text_that_repeats_what_is_structured_is_left_out() {
        let check = |result: Value, expected: &str| {
            let result: ToolResult = serde_json::from_value(result).unwrap();
            let text = text(&result, &mut Shown::new(None, "t")).unwrap();
            assert_eq!(anstream::adapter::strip_str(&text).to_string(), expected);
        };
        let structured = json!({"a": 1});
        check(
            json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": structured}),
            "{\n  \"a\": 1\n}\n",
        );
        check(
            json!({"content": [{"type": "text", "text": "One."}], "structuredContent": structured}),
            "One.\n{\n  \"a\": 1\n}\n",
        );
        check(json!({"content": [{"type": "text", "text": "One."}]}), "One.\n");
    }
}
