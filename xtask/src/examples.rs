//! The examples: each is built and run, and has to end well by itself.
//!
//! An example that serves ends after its first round when `SWITCHBOARD_EXAMPLE_ONCE=1` is set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::program::Program;
use crate::step::{self, Done, Failure};
use crate::workspace::{self, is_kind, list, text};

/// How long an example may run.
const LIMIT: Duration = Duration::from_secs(60);

/// Builds and runs every example of every crate of the workspace.
pub(crate) fn run() -> Result<Done, Failure> {
    let metadata = workspace::metadata("Cargo.toml", "--no-deps")?;
    let declared = declared(&metadata);
    verify_declared(&declared)?;
    if declared.is_empty() {
        return Ok(Done::Skipped("no crate has examples".to_owned()));
    }
    let build = Program::cargo("build --workspace --examples --all-features");
    println!("  $ {build}");
    let messages = build.arg("--message-format=json-render-diagnostics").output()?;
    step::all(executables(&messages).iter().map(|executable| run_one(executable)))
}

fn run_one(executable: &Path) -> Result<(), Failure> {
    let example = Program::at(executable).env("SWITCHBOARD_EXAMPLE_ONCE", "1");
    example.run_within(LIMIT).map_err(|failure| {
        failure.advise("fix the example; a server must exit by itself when SWITCHBOARD_EXAMPLE_ONCE is 1")
    })
}

/// The source files of all examples that cargo knows.
fn declared(metadata: &Value) -> BTreeSet<PathBuf> {
    let targets = list(metadata, "packages").flat_map(|package| list(package, "targets"));
    let examples = targets.filter(|target| is_kind(target, "example"));
    examples.map(|target| plain(Path::new(text(target, "src_path")))).collect()
}

/// Fails if a file in `examples/` belongs to no crate: it would never be compiled.
fn verify_declared(declared: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    let Ok(entries) = std::fs::read_dir(workspace::root().join("examples")) else { return Ok(()) };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    match sources.map(|path| plain(&path)).find(|path| !declared.contains(path)) {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            format!("{} is not listed as an example of any crate", path.display()),
            "add an [[example]] with its path to the Cargo.toml of a crate",
        )),
    }
}

/// The path without `..`, for comparison; cargo keeps the path as the manifest spells it.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The programs that cargo's messages say it built from examples, in order of their names.
fn executables(messages: &str) -> BTreeSet<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let examples = parsed.filter(|message| is_kind(&message["target"], "example"));
    examples.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_programs_built_from_examples_are_run() {
        let messages = [
            json!({"target": {"kind": ["lib"]}, "executable": null}).to_string(),
            json!({"target": {"kind": ["example"]}, "executable": "/t/02_serve"}).to_string(),
            json!({"target": {"kind": ["example"]}, "executable": "/t/01_call"}).to_string(),
            json!({"target": {"kind": ["example"]}, "executable": null}).to_string(),
            json!({"target": {"kind": ["bin"]}, "executable": "/t/switchboard"}).to_string(),
            json!({"reason": "build-finished", "success": true}).to_string(),
        ];
        let found: Vec<_> = executables(&messages.join("\n")).into_iter().collect();
        assert_eq!(found, [PathBuf::from("/t/01_call"), PathBuf::from("/t/02_serve")]);
    }

    #[test]
    fn examples_of_all_crates_are_declared() {
        let metadata = json!({"packages": [
            {"targets": [{"kind": ["lib"], "src_path": "/a/src/lib.rs"}]},
            {"targets": [{"kind": ["example"], "src_path": "/nowhere/b/examples/x.rs"}]},
        ]});
        assert_eq!(declared(&metadata), BTreeSet::from([PathBuf::from("/nowhere/b/examples/x.rs")]));
    }
}
