//! Libraries of others call us, and we call theirs: installs them, builds the program that they call, then runs the tests
//! of the `tests/interop/` workspace.
//!
//! They are installed where cargo builds, in `interop/`, and again when what is asked for has changed.

use std::fs;
use std::io;
use std::path::Path;

use crate::needs;
use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

/// The folder of the workspace.
const HERE: &str = "tests/interop";

/// The libraries for Python, and those that exclude one of them.
const PYTHON: &str = "python/requirements.txt";
const PYTHON_OLD: &str = "python/requirements-old.txt";

/// Installs what is missing and runs the tests.
pub(crate) fn run() -> Result<Done, Failure> {
    if !cfg!(unix) {
        return Ok(Done::Skipped("it needs Unix sockets and symbolic links".to_owned()));
    }
    needs::NODE.ensure()?;
    needs::NPM.ensure()?;
    needs::PYTHON.ensure()?;
    needs::CURL.ensure()?;
    let target = workspace::target()?;
    let folder = target.join("interop");
    install(&folder.join("node"), "node", &["node/package.json", "node/package-lock.json"], node)?;
    link(&folder.join("node"))?;
    for (name, list) in [("python", PYTHON), ("python-old", PYTHON_OLD)] {
        install(&folder.join(name), "python3", &[list], |folder| python(folder, list))?;
    }

    // With the features that the other tests gave it, so that it is there already where they have run.
    Program::cargo("build --workspace --all-features --bin switchboard --test commands").run()?;
    Program::cargo("build -p switchboard --all-features --example mcp_conformance_server --example a2a_conformance_agent").run()?;
    let program = target.join("debug/switchboard").display().to_string();

    let target = target.display().to_string();
    let tests = if needs::has_nextest() {
        Program::cargo("nextest run --no-fail-fast --manifest-path tests/interop/Cargo.toml --config-file")
            .arg(format!("{HERE}/.config/nextest.toml"))
    } else {
        Program::cargo("test --no-fail-fast --manifest-path tests/interop/Cargo.toml")
    };
    // What was built for the other tests serves here too.
    tests
        .args(["--target-dir", &target])
        .env("SWITCHBOARD_INTEROP", folder.display().to_string())
        .env("SWITCHBOARD_PROGRAM", program)
        .run()?;
    Ok(Done::Passed)
}

/// Fills a folder anew, unless it was filled for the same lists with the same version of the program.
fn install(
    folder: &Path,
    program: &str,
    lists: &[&str],
    fill: impl Fn(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::new(
            format!("{} cannot be filled: {error}", folder.display()),
            "make the folder writable, or remove it, and run the step again",
        )
    };
    let mut wanted = Program::new(program).arg("--version").output()?;
    for list in lists {
        wanted.push_str(&fs::read_to_string(workspace::root().join(HERE).join(list)).map_err(failed)?);
    }
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("  the libraries for {program} are installed");
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    fill(folder)?;
    // Last, so that what was left half done is begun anew.
    fs::write(stamp, wanted).map_err(failed)
}

/// Puts a link to the scripts beside the libraries for Node, because Node looks for libraries from where a script is.
fn link(folder: &Path) -> Result<(), Failure> {
    let (here, there) = (workspace::root().join(HERE).join("node"), folder.join("scripts"));
    Program::new("ln").args(["-sfn", &here.display().to_string(), &there.display().to_string()]).run()
}

/// Libraries for Node.
fn node(folder: &Path) -> Result<(), Failure> {
    let (here, there) = (workspace::root().join(HERE).join("node"), folder.display().to_string());
    for list in ["package.json", "package-lock.json"] {
        Program::new("cp").arg(here.join(list).display().to_string()).arg(&there).run()?;
    }
    // Without the scripts of packages: what they build only makes things faster.
    let npm = Program::new("npm").args(["ci", "--prefix", &there, "--ignore-scripts", "--engine-strict"]);
    npm.args(["--no-audit", "--no-fund"]).run().map_err(unreachable)
}

/// Libraries for Python, in a separate environment for each list.
fn python(folder: &Path, list: &str) -> Result<(), Failure> {
    let there = folder.display().to_string();
    Program::new("python3").args(["-m", "venv", &there]).run()?;
    let pip = Program::at(&folder.join("bin/python")).args(["-m", "pip", "install", "--quiet"]);
    // The list is complete, so nothing has to be looked for.
    let pip = pip.args(["--disable-pip-version-check", "--no-deps", "--requirement"]);
    pip.arg(format!("{HERE}/{list}")).run().map_err(unreachable)
}

fn unreachable(failure: Failure) -> Failure {
    failure.advise(
        "check that packages can be downloaded, and run the step again; or skip it with `--skip interop`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    static FILLED: AtomicU32 = AtomicU32::new(0);

    fn fill(_: &Path) -> Result<(), Failure> {
        FILLED.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    #[test]
    fn a_folder_is_filled_when_its_list_has_changed_and_only_then() {
        let folder = std::env::temp_dir().join(format!("switchboard-xtask-interop-{}", std::process::id()));
        let filled = |lists: &[&str]| {
            install(&folder, "cargo", lists, fill).unwrap();
            FILLED.load(Ordering::Relaxed)
        };
        assert_eq!(filled(&["Cargo.toml"]), 1);
        assert_eq!(filled(&["Cargo.toml"]), 1);
        assert_eq!(filled(&["Cargo.toml", "python/requirements.txt"]), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
