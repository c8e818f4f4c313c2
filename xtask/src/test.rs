//! `cargo xtask test`: everything that has to hold before a change goes in.

use crate::options::{self, Options};
use crate::program::Program;
use crate::step::{self, Done, Failure, Step};
use crate::{
    a2a, autobahn, bench, check, examples, features, floors, fuzz, install, interop, mcp, needs, package,
    playground,
};

/// The steps that follow those of `check`.
const STEPS: &[Step] = &[
    Step {
        name: "docs-private",
        about: "the documentation of private items builds without warnings",
        run: docs_private,
    },
    Step { name: "tests", about: "the tests of the workspace with all features", run: tests },
    Step { name: "doctests", about: "the examples in the documentation", run: doctests },
    Step { name: "features", about: "each feature alone, none, the defaults and all", run: features::run },
    Step { name: "examples", about: "every example builds, runs and exits successfully", run: examples::run },
    Step { name: "interop", about: "other libraries call us, and we call them", run: interop::run },
    Step {
        name: "mcp",
        about: "the official conformance suite of the Model Context Protocol",
        run: mcp::run,
    },
    Step {
        name: "playground",
        about: "the built pages are up to date, and work in a browser",
        run: playground::run,
    },
    Step { name: "fuzz", about: "each fuzz target for a short time", run: fuzz::run_all },
    Step {
        name: "gate",
        about: "the benches compile, and the instruction counts are within their budget",
        run: bench::gate,
    },
];

/// The steps that take too long for every change.
const THOROUGH: &[Step] = &[
    Step { name: "tests-release", about: "the tests of the core, optimised", run: tests_release },
    Step {
        name: "leaks-release",
        about: "oracles, allocations, 100,000 connections over each transport and 10,000 through a gateway, optimised",
        run: leaks_release,
    },
    Step {
        name: "chaos-long",
        about: "workers, gateways and NATS servers that are killed, paused and cut off for minutes, optimised",
        run: chaos_long,
    },
    Step { name: "floors", about: "the library with its minimum dependency versions", run: floors::run },
    Step { name: "install", about: "the program, as docs/installing.md says", run: install::run },
    Step { name: "package", about: "every published package, built from its archive", run: package::run },
    Step {
        name: "work",
        about: "parsers take linear time, and wrong credentials the same, counted in instructions",
        run: work,
    },
    Step {
        name: "autobahn",
        about: "Autobahn's fuzzing client against our WebSocket; needs Python 2",
        run: autobahn::run,
    },
    Step {
        name: "a2a-tck",
        about: "the official compatibility kit of Agent2Agent; needs a copy of it (SWITCHBOARD_A2A_TCK)",
        run: a2a::run,
    },
    Step { name: "fuzz-long", about: "100,000,000 inputs over all fuzz targets", run: fuzz::run_many },
];

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<bool, Failure> {
    let options = Options::parse(args)?;
    if options.help {
        println!("Runs all checks. `--list` lists the steps.\n");
        println!("usage: cargo xtask test [OPTIONS]\n\n{}", options::HELP);
        return Ok(true);
    }
    let thorough = if options.thorough { THOROUGH } else { &[] };
    step::run(&[check::STEPS, STEPS, thorough].concat(), &options)
}

/// The links in private documentation are for the people who read the code; they must not rot either.
fn docs_private() -> Result<Done, Failure> {
    let doc = Program::cargo("doc --no-deps --workspace --all-features --document-private-items");
    doc.env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Done::Passed)
}

fn tests() -> Result<Done, Failure> {
    needs::CURL.ensure()?;
    needs::OPENSSL.ensure()?;
    needs::NGINX.ensure()?;
    needs::PROMETHEUS.ensure()?;
    needs::NATS.ensure()?;
    let line = if needs::has_nextest() {
        "nextest run --workspace --all-features --no-fail-fast --no-tests=pass"
    } else {
        println!("  cargo-nextest is not installed, the tests run with `cargo test`");
        "test --workspace --all-features --lib --bins --tests --no-fail-fast"
    };
    Program::cargo(line).run()?;
    Ok(Done::Passed)
}

/// An optimiser can be wrong too, about safe code: what the tests compare with an oracle is compared as it ships.
fn tests_release() -> Result<Done, Failure> {
    optimised("-p switchboard-core --lib")
}

/// What compares with an oracle, and what needs the speed to be thorough.
fn leaks_release() -> Result<Done, Failure> {
    needs::CURL.ensure()?;
    optimised("-p switchboard-mcp --test memory")?;
    optimised("-p switchboard-a2a --test memory")?;
    optimised("-p switchboard-gateway --test chaos")?;
    optimised("-p switchboard-cli --test memory gateway")?;
    optimised("-p switchboard-tests --test allocations --test leaks --test properties --test vectors")
}

/// The same as in every run of the tests, for longer: `CHAOS_MS` milliseconds, with one broker and with three.
fn chaos_long() -> Result<Done, Failure> {
    if !cfg!(target_os = "linux") {
        return Ok(Done::Skipped("it reads /proc, which needs Linux".to_owned()));
    }
    needs::NATS.ensure()?;
    let run = if needs::has_nextest() { "nextest run --cargo-profile" } else { "test --profile" };
    let line = format!("{run} optimised -p switchboard-cli --test chaos --all-features --no-fail-fast");
    let chaos = Program::cargo(&line);
    chaos.env("CHAOS_MS", "180000").run()?;
    Ok(Done::Passed)
}

fn work() -> Result<Done, Failure> {
    if !cfg!(target_os = "linux") {
        return Ok(Done::Skipped("instructions are counted with valgrind, which needs Linux".to_owned()));
    }
    needs::VALGRIND.ensure()?;
    Program::cargo("bench -p switchboard-tests --all-features --profile dev --bench work").run()?;
    Ok(Done::Passed)
}

fn optimised(tests: &str) -> Result<Done, Failure> {
    let line = if needs::has_nextest() {
        format!("nextest run --cargo-profile optimised {tests} --all-features --no-fail-fast")
    } else {
        format!("test --profile optimised {tests} --all-features --no-fail-fast")
    };
    Program::cargo(&line).run()?;
    Ok(Done::Passed)
}

fn doctests() -> Result<Done, Failure> {
    Program::cargo("test --doc --workspace --all-features").run()?;
    Ok(Done::Passed)
}
