//! Runs the fuzzing client of the Autobahn test suite against our WebSocket, and compares its results with those that
//! `tests/autobahn/results.txt` states.
//!
//! It is written for Python 2.7, which few systems have. `SWITCHBOARD_PYTHON2` names one that has the package
//! `autobahntestsuite`; without it the step is skipped, and the same cases run as data in `tests/autobahn`.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

const RESULTS: &str = "tests/autobahn/results.txt";
const RUN: &str = "from autobahntestsuite.wstest import run; run()";
const AGENT: &str = "switchboard";

/// Runs the suite.
pub(crate) fn run() -> Result<Done, Failure> {
    let python = std::env::var("SWITCHBOARD_PYTHON2").unwrap_or_else(|_| "python2.7".to_owned());
    if !Program::new(&python).args(["-c", "import autobahntestsuite"]).succeeds() {
        let why = "no Python 2.7 with the package autobahntestsuite; name one in SWITCHBOARD_PYTHON2";
        return Ok(Done::Skipped(why.to_owned()));
    }
    Program::cargo("build -p switchboard --example ws_echo --features ws").run()?;
    let target = workspace::target()?;
    let folder = target.join("autobahn");
    let address = free_address().map_err(|error| failed(&error))?;
    let spec = json!({
        "outdir": folder.join("reports"),
        "servers": [{ "agent": AGENT, "url": format!("ws://{address}") }],
        "cases": ["*"],
        "exclude-cases": ["12.*", "13.*"],
        "exclude-agent-cases": {},
    });
    fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    let file = folder.join("spec.json");
    fs::write(&file, spec.to_string()).map_err(|error| failed(&error))?;
    let mut server = Program::at(&target.join("debug/examples/ws_echo")).arg(&address).spawn_filtered()?;
    let suite = Program::new(&python).args(["-c", RUN, "-m", "fuzzingclient", "-s"]);
    let ran = suite.arg(file.display().to_string()).run();
    // It runs until it is stopped.
    let _ = server.kill();
    let _ = server.wait();
    ran?;
    compare(&read(&folder.join("reports/index.json"))?)
}

/// An address that nothing listens on. Another program may take it first; the suite then fails to connect.
fn free_address() -> std::io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn read(index: &Path) -> Result<Value, Failure> {
    let text = fs::read_to_string(index).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}

fn compare(index: &Value) -> Result<Done, Failure> {
    let stated = fs::read_to_string(workspace::root().join(RESULTS)).map_err(|error| failed(&error))?;
    let stated = stated_results(&stated);
    let cases = index[AGENT].as_object().filter(|cases| !cases.is_empty());
    let cases = cases.ok_or_else(|| failed(&"its report contains no cases"))?;
    let surprises = surprises(cases, &stated);
    println!("    {} cases, {} with the recorded result", cases.len(), cases.len() - surprises.len());
    if surprises.is_empty() {
        return Ok(Done::Passed);
    }
    let advice = format!("fix the WebSocket code, or record the result and its reason in {RESULTS}");
    Err(Failure::new(format!("results of Autobahn: {}", surprises.join(", ")), advice))
}

/// The cases whose result is not the stated one.
fn surprises(cases: &serde_json::Map<String, Value>, stated: &BTreeMap<&str, &str>) -> Vec<String> {
    let differs = |(id, case): (&String, &Value)| {
        let expected = stated.get(id.as_str()).copied().unwrap_or("OK");
        let found = workspace::text(case, "behavior");
        let close = workspace::text(case, "behaviorClose");
        let is_closed_well = close == "OK" || close == expected;
        (found != expected || !is_closed_well).then(|| format!("{id} is {found}, closing {close}"))
    };
    cases.iter().filter_map(differs).collect()
}

/// The results of Autobahn itself: the second word of each line.
fn stated_results(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect()
}

fn failed(error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("the Autobahn test suite cannot be run: {error}"), "run the step again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_not_stated_is_a_surprise_better_or_worse() {
        let stated = stated_results("# cases\n2.10 FAILED OK why\n7.1.6 INFORMATIONAL OK why\n");
        let case = |found: &str, close: &str| json!({ "behavior": found, "behaviorClose": close });
        let check = |id: &str, case: Value, expected: usize| {
            let cases = json!({ id: case });
            assert_eq!(surprises(cases.as_object().unwrap(), &stated).len(), expected, "{cases}");
        };
        check("1.1.1", case("OK", "OK"), 0);
        check("1.1.1", case("FAILED", "OK"), 1);
        check("1.1.1", case("OK", "UNCLEAN"), 1);
        check("2.10", case("FAILED", "OK"), 0);
        check("2.10", case("OK", "OK"), 1);
        check("7.1.6", case("INFORMATIONAL", "INFORMATIONAL"), 0);
    }
}
