//! `cargo xtask bench`: the comparisons and the instruction gate of the `benches/` workspace.

use crate::needs;
use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

const HELP: &str = "\
Compares Switchboard with other libraries, or checks its instruction budget.

usage: cargo xtask bench [NAME] [--quick] [--gate]

NAME       one comparison: http, batch, ws, stream, subscription, idle, in-process, large, security, observability, mcp, gateway, nats or
           instructions; runs all of them by default
--quick    fewer and shorter rounds
--gate     fail if a goal of the comparison is missed, or a program that it needs is not installed; without NAME, count
           instructions and fail if one is over its budget
--help     print this help

Other arguments go to the benches' own program, `compare`.";

const BUILD: &str = "build --release --manifest-path benches/Cargo.toml --bins";
const BUILD_SHIPPED: &str = "build --release -p switchboard-cli";
const RUN: &str = "run --release --manifest-path benches/Cargo.toml";

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<bool, Failure> {
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if has("--help") || has("-h") {
        println!("{HELP}");
        return Ok(true);
    }
    let done = match Asked::of(args) {
        Asked::Gate => gate()?,
        Asked::Instructions => count(&[])?,
        Asked::Comparison => compare(args)?,
    };
    if let Done::Skipped(why) = done {
        println!("skipped: {why}");
    }
    Ok(true)
}

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// Instructions against their budget.
    Gate,
    Instructions,
    /// Comparisons; `compare` reads the arguments.
    Comparison,
}

impl Asked {
    fn of(args: &[String]) -> Asked {
        let has = |name: &str| args.iter().any(|arg| arg == name);
        // Other words are values of options, which are numbers.
        let names_one = args.iter().any(|arg| arg.starts_with(|first: char| first.is_ascii_lowercase()));
        match (has("instructions"), has("--gate")) {
            (true, false) => Asked::Instructions,
            (true, true) => Asked::Gate,
            (false, true) if !names_one => Asked::Gate,
            (false, _) => Asked::Comparison,
        }
    }
}

/// Counts instructions and fails over budget.
pub(crate) fn gate() -> Result<Done, Failure> {
    count(&["--gate"]).map_err(|failure| {
        failure.advise("find what made the code slower, or raise the budget in benches/ and say why")
    })
}

/// Counts instructions.
fn count(options: &[&str]) -> Result<Done, Failure> {
    if let Some(why) = absent() {
        return Ok(Done::Skipped(why));
    }
    if !cfg!(target_os = "linux") {
        return Ok(Done::Skipped("instructions are counted with valgrind, which needs Linux".to_owned()));
    }
    needs::VALGRIND.ensure()?;
    // The programs start each other, so all of them must be there.
    Program::cargo(BUILD).run()?;
    let counting = Program::cargo(RUN).args(["--bin", "instructions", "--"]);
    counting.args(options.iter().copied()).run()?;
    Ok(Done::Passed)
}

fn compare(args: &[String]) -> Result<Done, Failure> {
    if let Some(why) = absent() {
        return Ok(Done::Skipped(why));
    }
    Program::cargo(BUILD).run()?;
    Program::cargo(BUILD_SHIPPED).run()?;
    let compare = Program::cargo(RUN).args(["--bin", "compare", "--"]);
    compare.args(args.iter().cloned()).run()?;
    Ok(Done::Passed)
}

fn absent() -> Option<String> {
    let is_there = workspace::existing("benches/Cargo.toml").is_some();
    (!is_there).then(|| "there is no benches/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_that_of_the_comparison_if_one_is_named() {
        let check = |line: &str, expected| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(Asked::of(&args), expected, "{line}");
        };
        check("", Asked::Comparison);
        check("--quick", Asked::Comparison);
        check("--gate", Asked::Gate);
        check("--gate --seconds 2", Asked::Gate);
        check("mcp", Asked::Comparison);
        check("mcp --gate --seconds 2", Asked::Comparison);
        check("all --gate", Asked::Comparison);
        check("instructions", Asked::Instructions);
        check("instructions --gate", Asked::Gate);
    }
}
