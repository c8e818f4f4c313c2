//! The `switchboard` command: serves and calls JSON-RPC.
//!
//! One file a command; what they share is a [`Failure`](failure::Failure) with its [`Exit`](exit::Exit) code, and the
//! way to write to a terminal or a pipe in `output`.

mod address;
mod banner;
mod call;
mod demo;
mod exit;
mod failure;
mod layout;
mod logs;
mod output;
mod params;
mod serve;
mod signals;
mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Examples:
  switchboard serve
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3

`switchboard help COMMAND` says more about a command.";

/// Serves and calls JSON-RPC.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Log more to stderr; twice for even more. `RUST_LOG` says it in detail.
    #[arg(short, long, global = true, display_order = 100, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Call(call::Call),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    logs::start(arguments.verbose);
    let outcome = match arguments.command {
        Command::Serve(serve) => serve.run(),
        Command::Call(call) => call.run(),
    };
    match outcome {
        Ok(()) => exit::Exit::Done.into(),
        Err(failure) => {
            output::failure(&failure);
            failure.exit().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_defined() {
        super::Arguments::command().debug_assert();
    }
}
