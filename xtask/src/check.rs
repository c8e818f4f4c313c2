//! `cargo xtask check`: the quick loop while working.

use crate::options::{self, Options};
use crate::program::Program;
use crate::step::{self, Done, Failure, Step};
use crate::{deps, tidy, workspace};

/// The steps of the quick loop, in the order in which they fail fastest.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", about: "the code is formatted", run: fmt },
    Step { name: "tidy", about: "the files follow the style rules", run: tidy::run },
    Step {
        name: "deps",
        about: "dependencies point down, and packages declare what they need",
        run: deps::run,
    },
    Step { name: "clippy", about: "no warnings, in any target with all features", run: clippy },
    Step { name: "docs", about: "the documentation builds without warnings", run: docs },
];

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<bool, Failure> {
    let options = Options::parse(args)?;
    if options.help {
        println!("The quick loop: {}.\n", names());
        println!("usage: cargo xtask check [OPTIONS]\n\n{}", options::HELP);
        return Ok(true);
    }
    step::run(STEPS, &options)
}

fn names() -> String {
    STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ")
}

/// The manifests of the side workspaces that exist.
fn side_workspaces() -> impl Iterator<Item = &'static str> {
    ["fuzz/Cargo.toml", "benches/Cargo.toml", "tests/interop/Cargo.toml"]
        .into_iter()
        .filter(|manifest| workspace::existing(manifest).is_some())
}

fn fmt() -> Result<Done, Failure> {
    let advice = "run `cargo fmt --all` (with `--manifest-path` for fuzz, benches and tests/interop)";
    Program::cargo("fmt --all --check").run().map_err(|failure| failure.advise(advice))?;
    for manifest in side_workspaces() {
        let fmt = Program::cargo("fmt --all --check --manifest-path").arg(manifest);
        fmt.run().map_err(|failure| failure.advise(advice))?;
    }
    Ok(Done::Passed)
}

fn clippy() -> Result<Done, Failure> {
    Program::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()?;
    Ok(Done::Passed)
}

/// Builds what users read. Links to private items fail here by the workspace's lints.
fn docs() -> Result<Done, Failure> {
    let doc = Program::cargo("doc --no-deps --workspace --all-features");
    doc.env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Done::Passed)
}
