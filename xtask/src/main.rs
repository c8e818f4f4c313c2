//! The project's own commands, run as `cargo xtask COMMAND`.
//!
//! One file a command: `check`, `test`, `fuzz`, `bench`. A command is a list of steps (`step`), a step runs
//! programs (`program`) or rules of our own (`deps`, `tidy`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program talks to its terminal")]

mod a2a;
mod autobahn;
mod bench;
mod check;
mod deps;
mod examples;
mod features;
mod floors;
mod fuzz;
mod install;
mod interop;
mod mcp;
mod needs;
mod node;
mod options;
mod package;
mod playground;
mod program;
mod step;
mod summary;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use step::Failure;

const HELP: &str = "\
The project's own commands.

usage: cargo xtask COMMAND [OPTIONS]

commands:
  check   the quick loop: format, lints, docs, dependency rules, tidy rules
  test    everything: check, tests, features, examples, fuzz targets, benches
  fuzz    run one fuzz target for as long as you like
  bench   run the comparisons or the instruction gate

`cargo xtask COMMAND --help` shows its options.";

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        println!("{HELP}");
        return ExitCode::FAILURE;
    }
    let command = args.remove(0);
    match dispatch(&command, &args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; `Ok(false)` means that it ran and has already said what failed.
fn dispatch(command: &str, args: &[String]) -> Result<bool, Failure> {
    match command {
        "check" => check::main(args),
        "test" => test::main(args),
        "fuzz" => fuzz::main(args),
        "bench" => bench::main(args),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(true)
        }
        other => Err(Failure::new(
            format!("unknown command `{other}`"),
            "run `cargo xtask help` for the list of commands",
        )),
    }
}
