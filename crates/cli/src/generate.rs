//! `switchboard generate`: a typed client from what a far side describes.

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
The document comes from a file, from stdin, or from a far side that answers rpc.discover. The client is one file: in \
TypeScript without dependencies, calling over HTTP and WebSocket; in Python from 3.10 on with the standard library, calling over \
HTTP; in Rust over any peer of switchboard, with serde.";

/// Writes a typed client for what a far side or a document describes.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(source::described),
)]
pub(crate) struct Generate {
    /// The language of the client.
    language: Written,
    #[command(flatten)]
    target: Target,
    /// Write it to this file, and not to stdout.
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
