//! The commands that use an MCP server: `switchboard tools`, `resources` and `prompts`, and `login` and `logout`.

mod answers;
mod arguments;
pub(crate) mod connect;
mod content;
mod form;
mod lists;
pub(crate) mod login;
mod plain;
pub(crate) mod prompts;
pub(crate) mod resources;
mod sampling;
mod terminal;
pub(crate) mod tools;

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser as _;
use serde::Serialize;
use switchboard::Json;

use self::sampling::Sample;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::target::Target;

/// An MCP server, and what it may ask for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Server {
    #[command(flatten)]
    target: Target,
    /// Folder that the server should work in. Can be repeated.
    #[arg(long = "root", value_name = "DIR", help_heading = HEADING)]
    roots: Vec<PathBuf>,
    /// How to answer when the server asks for a language model: `refuse`, `ask` to write the answer yourself, or `exec:COMMAND`,
    /// a program that reads the request as JSON and writes the answer.
    #[arg(long, value_name = "HOW", default_value = "refuse", help_heading = HEADING)]
    sample: Sample,
}

const HEADING: &str = "MCP";

/// The options of a server to call, where they are different for MCP.
fn described(argument: clap::Arg) -> clap::Arg {
    // Options may follow the action.
    let is_option = !argument.is_positional();
    let argument = argument.global(is_option);
    match argument.get_id().as_str() {
        "url" => server(argument),
        "timeout" => argument.help("How long to wait for an answer. Each report of progress starts it again"),
        "retry" | "repeatable" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

/// The argument that names the server: a URL, or a command.
pub(crate) fn server(argument: clap::Arg) -> clap::Arg {
    let parser =
        clap::builder::StringValueParser::new().try_map(|text| Ok::<_, Infallible>(server_url(&text)));
    argument.value_name("SERVER").value_parser(parser).help(
        "MCP server: a URL such as http://127.0.0.1:8000/mcp, or a command to start, such as 'npx -y some-server'",
    )
}

/// The URL of a server. What is not a URL is a command.
fn server_url(text: &str) -> String {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    // One letter is a drive.
    let is_scheme = |scheme: &str| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    match scheme {
        Some(scheme) if is_scheme(scheme) => text.to_owned(),
        _ => format!("exec:{text}"),
    }
}

impl Server {
    fn is_for_people(&self) -> bool {
        self.target.format.is_for_people()
    }

    /// Writes a value as one line of JSON, or formatted on a terminal. False if stdout is not read any more.
    fn write(&self, value: &impl Serialize) -> Result<bool, Failure> {
        let json =
            Json::encode_ref(value).map_err(|error| Failure::new(Exit::Protocol, error.to_string()))?;
        output::result(&json, self.target.format)
    }

    /// Writes values, each on a line.
    fn write_all(&self, values: &[Json]) -> Result<(), Failure> {
        for value in values {
            if !self.write(value)? {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_url_is_a_command() {
        let check = |text: &str, expected: &str| assert_eq!(server_url(text), expected);
        check("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp");
        check("exec:server --stdio", "exec:server --stdio");
        check("npx -y server", "exec:npx -y server");
        check("npx -y @scope/server:1 --at http://h", "exec:npx -y @scope/server:1 --at http://h");
        check("./server", "exec:./server");
        check(r"C:\server.exe", r"exec:C:\server.exe");
    }
}
