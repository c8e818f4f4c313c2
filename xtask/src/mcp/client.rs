//! The client suites, against `examples/mcp_conformance_client`.

use std::fs;
use std::path::Path;

use super::{advice, count, failed};
use crate::program::Program;
use crate::step::Failure;

/// The sets of scenarios, and how many checks of each have to pass. Both contain scenarios that are not scored.
const SETS: [(&str, usize); 2] = [("2025-11-25", 310), ("2026-07-28", 473)];

/// A scenario that belongs to no set.
const ALONE: &str = "sep-2640-client-no-prefetch";

/// Runs each set against this program. Gives how many checks passed.
pub(super) fn run_sets(folder: &Path, node: &str, client: &Path) -> Result<usize, Failure> {
    let mut passed = 0;
    for (revision, least) in SETS {
        passed += run(folder, node, client, &["--requirements", revision], revision, least)?;
    }
    Ok(passed + run(folder, node, client, &["--scenario", ALONE], ALONE, 1)?)
}

/// Lets the client list the tools of our own server at these URLs: the suite knows only streamable HTTP.
pub(super) fn reach(client: &Path, urls: &[&str]) -> Result<(), Failure> {
    for url in urls {
        let program = Program::at(client).arg(*url).env("MCP_CONFORMANCE_SCENARIO", "tools");
        program.run()?;
    }
    Ok(())
}

fn run(
    folder: &Path,
    node: &str,
    client: &Path,
    args: &[&str],
    name: &str,
    least: usize,
) -> Result<usize, Failure> {
    let program = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let results = folder.join("results/client").join(name);
    if results.exists() {
        fs::remove_dir_all(&results).map_err(|error| failed(&error))?;
    }
    let suite = Program::new(node).arg(program.display().to_string());
    let suite = suite.args(["client", "--command", &client.display().to_string()]).args(args.to_vec());
    let suite = suite.args(["--output-dir", &results.display().to_string()]);
    suite.run().map_err(|failure| failure.advise(advice(&results)))?;
    let mut counts = count(&results).map_err(|error| failed(&error))?;
    // The results of the scenarios about authorization are in another folder.
    let authorization = results.join("auth");
    if authorization.exists() {
        for (status, number) in count(&authorization).map_err(|error| failed(&error))? {
            *counts.entry(status).or_default() += number;
        }
    }
    let of = |status| counts.get(status).copied().unwrap_or(0);
    let (good, bad) = (of("SUCCESS"), of("FAILURE") + of("WARNING"));
    println!("    client, {name}: {good} checks passed, {bad} failed");
    if bad > 0 || good < least {
        let what =
            format!("client, {name}: {good} checks passed and {bad} failed; at least {least} have to pass");
        return Err(Failure::new(what, format!("run `{suite}`, {}", advice(&results))));
    }
    Ok(good)
}
