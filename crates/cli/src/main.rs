//! The `switchboard` command: serves and calls JSON-RPC.
//!
//! One file a command; what they share is a [`Failure`](failure::Failure) with its [`Exit`](exit::Exit) code, and the
//! way to write to a terminal or a pipe in `output`.

mod address;
mod allowance;
mod banner;
mod batch;
mod bench;
mod call;
mod call_options;
mod changes;
mod check;
mod completions;
mod demo;
mod discover;
mod discovery;
mod exit;
mod explain;
mod failure;
mod generate;
mod layout;
mod logs;
mod man;
mod notify;
mod output;
mod params;
mod repl;
mod responses;
mod retry;
mod serve;
mod session;
mod signals;
mod source;
mod spec;
mod suggest;
mod table;
mod target;
mod text;
mod units;
mod usage;
mod watch;
mod wire;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Examples:
  switchboard serve
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard discover http://127.0.0.1:8000
  switchboard watch ws://127.0.0.1:8000 ticks

`switchboard help COMMAND` says more about a command.";

const LONG: &str = "\
On a terminal results are laid out, in tables where that helps, and in colours unless NO_COLOR is set. In a pipe they are \
JSON. `--json` and `--raw` say so for a terminal, too. Errors go to stderr and say what to do next; an error that the far \
side answered is one line of JSON there in a pipe.

Environment:
  NO_COLOR           no colours, if it is set and not empty
  SWITCHBOARD_TOKEN  the token to send, as with `--token`
  RUST_LOG           what is logged, in detail, such as `debug` or `switchboard_transport=trace`";

/// Serves and calls JSON-RPC.
#[derive(Debug, Parser)]
#[command(
    name = "switchboard",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Batch(batch::Batch),
    Bench(bench::Bench),
    Call(call::Call),
    Check(check::Check),
    Completions(completions::Completions),
    Discover(discover::Discover),
    Generate(generate::Generate),
    Man(man::Man),
    Notify(notify::Notify),
    Repl(repl::Repl),
    Serve(serve::Serve),
    Watch(watch::Watch),
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        let given: Vec<String> =
            std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
        usage::explain(error, &given).exit()
    });
    let outcome = match arguments.command {
        Command::Batch(batch) => batch.run(),
        Command::Bench(bench) => bench.run(),
        Command::Call(call) => call.run(),
        Command::Check(check) => check.run(),
        Command::Completions(completions) => completions.run(Arguments::command()),
        Command::Discover(discover) => discover.run(),
        Command::Generate(generate) => generate.run(),
        Command::Man(man) => man.run(Arguments::command()),
        Command::Notify(notify) => notify.run(),
        Command::Repl(repl) => repl.run(),
        Command::Serve(serve) => serve.run(),
        Command::Watch(watch) => watch.run(),
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
    use super::*;

    #[test]
    fn the_command_line_is_well_defined() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_example_is_on_one_line() {
        // The help is broken at this width.
        const WIDTH: usize = 100;
        let all = Arguments::command();
        for command in all.get_subcommands().chain([&all]) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > WIDTH).collect();
            assert!(long.is_empty(), "{}: {long:?}", command.get_name());
        }
    }
}
