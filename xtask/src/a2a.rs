//! Runs the official compatibility kit of Agent2Agent against `examples/a2a_conformance_agent`, over JSON-RPC.
//!
//! The kit is in no package registry, so this step needs a copy: the folder in `SWITCHBOARD_A2A_TCK`, or `a2a-tck` beside this
//! repository. Its branch is `1.0-dev`. What it needs is installed where cargo builds, in `a2a-tck/`.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::needs;
use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

/// The libraries of the kit.
const LIBRARIES: &str = "tests/a2a/requirements.txt";

/// The folder of its tests.
const TESTS: &str = "tests/compatibility";

/// How many of its tests have to pass.
const LEAST: usize = 100;

/// The kit sends a media type that no agent takes, and expects an answer, although its requirement is the error that we answer.
const WRONG: &str =
    "tests/compatibility/core_operations/test_requirements.py::test_must_requirement[CORE-SEND-003-jsonrpc]";

/// Runs the kit.
pub(crate) fn run() -> Result<Done, Failure> {
    let Some(kit) = kit() else {
        return Ok(Done::Skipped(
            "the kit is missing; unpack the branch 1.0-dev of a2aproject/a2a-tck and name its folder in SWITCHBOARD_A2A_TCK"
                .to_owned(),
        ));
    };
    needs::PYTHON.ensure()?;
    let target = workspace::target()?;
    let python = install(&target.join("a2a-tck"))?;
    Program::cargo("build -p switchboard --example a2a_conformance_agent --all-features").run()?;
    let (mut agent, url) = start(&target.join("debug/examples/a2a_conformance_agent"))?;
    let ran = test(&python, &kit, &url);
    // It runs until it is stopped.
    let _ = agent.kill();
    let _ = agent.wait();
    let passed = ran?;
    println!("    {passed} tests of the kit passed, none failed");
    Ok(Done::Passed)
}

/// Where the kit is.
fn kit() -> Option<PathBuf> {
    let named = env::var_os("SWITCHBOARD_A2A_TCK").map(PathBuf::from);
    let beside = workspace::root().parent().map(|parent| parent.join("a2a-tck"));
    [named, beside].into_iter().flatten().find(|folder| folder.join(TESTS).is_dir())
}

/// Installs the libraries of the kit, unless they are there. Gives the Python that has them.
fn install(folder: &Path) -> Result<PathBuf, Failure> {
    let wanted = fs::read_to_string(workspace::root().join(LIBRARIES)).map_err(|error| failed(&error))?;
    let (stamp, python) = (folder.join("installed"), folder.join("bin/python"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("  the libraries of the kit are installed");
        return Ok(python);
    }
    Program::new("python3").args(["-m", "venv", "--clear"]).arg(folder.display().to_string()).run()?;
    let pip = Program::at(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--no-deps", "--requirement", LIBRARIES])
        .run()
        .map_err(|failure| failure.advise("check that packages can be downloaded, and run the step again"))?;
    // Last, so that what was left half done is begun anew.
    fs::write(stamp, wanted).map_err(|error| failed(&error))?;
    Ok(python)
}

fn start(program: &Path) -> Result<(Child, String), Failure> {
    let mut agent = Command::new(program)
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut line = String::new();
    let read = agent.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    let url = line.trim().strip_prefix("Agent at ").map(|url| url.trim_end_matches('/').to_owned());
    match (read, url) {
        (Some(Ok(_)), Some(url)) => Ok((agent, url)),
        _ => {
            let _ = agent.kill();
            let _ = agent.wait();
            Err(Failure::new(
                format!("the agent did not say where it listens, but {line:?}"),
                "run examples/a2a_conformance_agent by hand",
            ))
        }
    }
}

/// Runs the tests of the kit. Gives how many passed.
fn test(python: &Path, kit: &Path, url: &str) -> Result<usize, Failure> {
    let mut command = Command::new(python);
    command.args(["-m", "pytest", TESTS, "-q", "--tb=short", "-rfExX", "-p", "no:cacheprovider"]);
    command.args(["--transport=jsonrpc", &format!("--sut-host={url}"), "--deselect", WRONG]);
    // Its code is run where it is, and not changed.
    command.current_dir(kit).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (passed, others) = counts(&text);
    if output.status.success() && others == 0 && passed >= LEAST {
        return Ok(passed);
    }
    let what = format!(
        "{passed} tests passed and {others} did not; at least {LEAST} have to pass:\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Err(Failure::new(what, "read what failed and correct crates/a2a"))
}

/// How many tests passed, and how many failed or were expected to: the last line says so.
fn counts(text: &str) -> (usize, usize) {
    let line = text.lines().rev().find(|line| line.contains(" passed")).unwrap_or_default();
    let number = |part: &str| part.split_whitespace().next().and_then(|number| number.parse::<usize>().ok());
    let count = |names: &[&str]| -> usize {
        let parts = line.trim_matches(['=', ' ']).split(", ");
        parts
            .filter(|part| part.split_whitespace().nth(1).is_some_and(|name| names.contains(&name)))
            .filter_map(number)
            .sum()
    };
    (count(&["passed"]), count(&["failed", "error", "errors", "xfailed", "xpassed"]))
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(error.to_string(), "see what is wrong with the folder target/a2a-tck, or remove it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_how_many_tests_passed() {
        let check = |line: &str, expected: (usize, usize)| assert_eq!(counts(line), expected, "{line}");
        check("x\n99 passed, 163 skipped, 1 deselected in 35.48s", (99, 0));
        check("=== 3 failed, 99 passed, 2 xfailed, 163 skipped in 35.48s ===", (99, 5));
        check("no tests ran", (0, 0));
    }
}
