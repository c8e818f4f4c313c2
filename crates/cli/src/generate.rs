//! `switchboard generate`: a typed client from the description of a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use switchboard::openrpc::{Language, client};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::target::Target;
use crate::{output, source};

const EXAMPLES: &str = "\
Examples:
  switchboard generate typescript http://127.0.0.1:8000 -o client.ts
  switchboard generate python openrpc.json -o client.py
  switchboard generate rust - < openrpc.json > src/client.rs";

const LONG: &str = "\
The OpenRPC document comes from a file, from stdin, or from a server with rpc.discover. The client is a single file:

  typescript  no dependencies; HTTP and WebSocket
  python      Python 3.10 or later, standard library only; HTTP
  rust        the crates switchboard and serde; any transport";

/// Generates a typed client from a server or an OpenRPC document.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(source::described),
)]
pub(crate) struct Generate {
    /// Language of the client.
    language: Written,
    #[command(flatten)]
    target: Target,
    /// Write to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The languages, as they are written on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Written {
    #[value(alias = "ts")]
    Typescript,
    #[value(alias = "py")]
    Python,
    #[value(alias = "rs")]
    Rust,
}

impl Generate {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let document = source::document(&self.target.url, &self.target)?;
        let language = match self.language {
            Written::Typescript => Language::TypeScript,
            Written::Python => Language::Python,
            Written::Rust => Language::Rust,
        };
        let text = client(&document, language).map_err(|error| Failure::usage(error.to_string()))?;
        let Some(file) = &self.output else { return output::bytes(text.as_bytes()).map(drop) };
        std::fs::write(file, text).map_err(|error| {
            Failure::new(Exit::CannotWrite, format!("cannot write {}: {error}", file.display()))
        })
    }
}
