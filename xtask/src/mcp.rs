//! Runs the official conformance suite of the Model Context Protocol against `examples/mcp_conformance_server`: the requirements of
//! both revisions that have them, and all its scenarios, those that are not scored included. Then the official Inspector calls the
//! server in both eras, over HTTP, over the event stream of 2024-11-05 and as a child process. The suite also tests
//! `examples/mcp_conformance_client`.
//!
//! The suite is pinned in `tests/mcp/`. Both are installed where cargo builds, in `mcp/`.

mod client;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::node;
use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

/// Where the suite is pinned.
const HERE: &str = "tests/mcp";

/// The sets of scenarios, and how many checks of each have to pass.
const SETS: [(&str, &[&str], usize); 3] = [
    ("2025-11-25", &["--requirements", "2025-11-25"], 83),
    ("2026-07-28", &["--requirements", "2026-07-28"], 196),
    ("all", &["--suite", "all"], 233),
];

/// Runs the suite.
pub(crate) fn run() -> Result<Done, Failure> {
    let target = workspace::target()?;
    let folder = target.join("mcp");
    let node = node::ensure(&folder.join("node"))?;
    install(&folder)?;
    install_inspector(&folder.join("inspector"))?;
    Program::cargo(
        "build -p switchboard --example mcp_conformance_server --example mcp_conformance_client --all-features",
    )
    .run()?;
    let client = target.join("debug/examples/mcp_conformance_client");
    let of_client = client::run_sets(&folder, &node, &client)?;
    let program = target.join("debug/examples/mcp_conformance_server");
    let (mut server, url) = start(&program)?;
    let ran = run_sets(&folder, &node, &url).and_then(|passed| {
        let old = url.replace("/mcp", "/sse");
        let child = program.display().to_string();
        client::reach(&client, &[&url, &old, &format!("exec:{child} stdio")])?;
        // The transport of 2024-11-05 has only sessions.
        inspect(&folder, &node, &[&old], "legacy")?;
        for era in ["legacy", "modern"] {
            inspect(&folder, &node, &[&url], era)?;
            inspect(&folder, &node, &[&child, "stdio"], era)?;
        }
        Ok(passed)
    });
    // It runs until it is stopped.
    let _ = server.kill();
    let _ = server.wait();
    let passed = ran?;
    println!("    {} checks passed, none failed", passed.iter().sum::<usize>() + of_client);
    Ok(Done::Passed)
}

/// Runs each set. Gives how many checks passed.
fn run_sets(folder: &Path, node: &str, url: &str) -> Result<Vec<usize>, Failure> {
    let program = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut passed = Vec::new();
    for (name, args, least) in SETS {
        let results = folder.join("results").join(name);
        if results.exists() {
            fs::remove_dir_all(&results).map_err(|error| failed(&error))?;
        }
        let suite = Program::new(node).arg(program.display().to_string()).args(["server", "--url", url]);
        let suite = suite.args(args.to_vec()).args(["--output-dir", &results.display().to_string()]);
        suite.run().map_err(|failure| failure.advise(advice(&results)))?;
        let counts = count(&results).map_err(|error| failed(&error))?;
        let (good, bad) = (counts.get("SUCCESS"), counts.get("FAILURE"));
        let (good, bad) = (good.copied().unwrap_or(0), bad.copied().unwrap_or(0));
        println!("    {name}: {good} checks passed, {bad} failed");
        if bad > 0 || good == 0 || good < least {
            let what =
                format!("{name}: {good} checks passed and {bad} failed; at least {least} have to pass");
            return Err(Failure::new(what, advice(&results)));
        }
        passed.push(good);
    }
    Ok(passed)
}

/// What the Inspector is told to do, and a part of what it prints then.
const INSPECTED: [(&[&str], &str); 6] = [
    (&["tools/list", "--strict"], "\"test_simple_text\""),
    (&["tools/call", "--tool-name", "greet", "--tool-arg", "name=Ann"], "Hello, Ann!"),
    (&["resources/list"], "test://static-text"),
    (&["resources/read", "--uri", "test://template/7/data"], "Data for ID: 7"),
    (&["prompts/list"], "\"test_simple_prompt\""),
    (
        &["prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"],
        "arg1='a', arg2='b'",
    ),
];

/// Lets the Inspector call the server at this place, a URL or a program and its argument: with sessions or without.
fn inspect(folder: &Path, node: &str, place: &[&str], era: &str) -> Result<(), Failure> {
    let program = folder.join("inspector").join(INSPECTOR).join("clients/launcher/build/index.js");
    for (method, expected) in INSPECTED {
        let inspector = Program::new(node).arg(program.display().to_string()).arg("--cli");
        let inspector = inspector.args(place.to_vec()).args(["--protocol-era", era]);
        let inspector = inspector.arg("--method").args(method.to_vec());
        let printed = inspector.output()?;
        if !printed.contains(expected) {
            let what = format!("{inspector} did not print {expected:?} but:\n{printed}");
            return Err(Failure::new(what, "run it by hand and correct crates/mcp"));
        }
    }
    println!("    the Inspector ({era}) got {} answers from {}", INSPECTED.len(), place[0]);
    Ok(())
}

fn advice(results: &Path) -> String {
    format!("read {} and correct crates/mcp", results.display())
}

/// Installs the suite, unless it is there.
fn install(folder: &Path) -> Result<(), Failure> {
    let lists = ["package.json", "package-lock.json"];
    let here = workspace::root().join(HERE);
    let wanted: Vec<String> = lists
        .iter()
        .map(|list| fs::read_to_string(here.join(list)))
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))?;
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted.concat()) {
        println!("  the suite is installed");
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    for (list, text) in lists.iter().zip(&wanted) {
        fs::write(folder.join(list), text).map_err(|error| failed(&error))?;
    }
    let npm = Program::new("npm").args(["ci", "--prefix", &folder.display().to_string(), "--ignore-scripts"]);
    npm.args(["--no-audit", "--no-fund"]).run().map_err(unreachable)?;
    // Last, so that what was left half done is begun anew.
    fs::write(stamp, wanted.concat()).map_err(|error| failed(&error))
}

/// Where the Inspector is in its folder.
const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector";

/// Installs the Inspector, unless it is there. Its list of packages names some that are made for other platforms only, which `npm ci`
/// does not accept.
fn install_inspector(folder: &Path) -> Result<(), Failure> {
    const PACKAGE: &str = "@modelcontextprotocol/inspector@2.12.0";
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == PACKAGE) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let npm = Program::new("npm").args(["install", "--prefix", &folder.display().to_string()]);
    let npm = npm.args(["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", PACKAGE]);
    npm.run().map_err(unreachable)?;
    fs::write(stamp, PACKAGE).map_err(|error| failed(&error))
}

fn unreachable(failure: Failure) -> Failure {
    failure
        .advise("check that packages can be downloaded, and run the step again; or skip it with `--skip mcp`")
}

/// Starts the server on a free port. Gives its URL.
fn start(program: &Path) -> Result<(Child, String), Failure> {
    let mut server = Command::new(program)
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut line = String::new();
    let read = server.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    let url = line.trim().strip_prefix("MCP at ").map(str::to_owned);
    match (read, url) {
        (Some(Ok(_)), Some(url)) => Ok((server, url)),
        _ => {
            let _ = server.kill();
            let _ = server.wait();
            Err(failed(&format!("the server did not say where it listens, but {line:?}")))
        }
    }
}

/// How many checks have which status, over all scenarios in a folder of results.
fn count(results: &Path) -> io::Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(results)? {
        let Ok(text) = fs::read_to_string(entry?.path().join("checks.json")) else { continue };
        let checks: Value = serde_json::from_str(&text)?;
        for check in checks.as_array().into_iter().flatten() {
            *counts.entry(workspace::text(check, "status").to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

fn failed(error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("the conformance suite cannot be run: {error}"), "run the step again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_all_scenarios_are_counted_by_status() {
        let folder = std::env::temp_dir().join(format!("switchboard-xtask-mcp-{}", std::process::id()));
        for (scenario, checks) in [
            ("one", r#"[{"status": "SUCCESS"}, {"status": "SUCCESS"}]"#),
            ("two", r#"[{"status": "SUCCESS"}, {"status": "FAILURE"}]"#),
        ] {
            fs::create_dir_all(folder.join(scenario)).unwrap();
            fs::write(folder.join(scenario).join("checks.json"), checks).unwrap();
        }
        let counts = count(&folder).unwrap();
        assert_eq!((counts["SUCCESS"], counts["FAILURE"]), (3, 1));
        fs::remove_dir_all(&folder).unwrap();
    }
}
