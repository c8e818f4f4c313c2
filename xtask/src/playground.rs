//! The playground and the live page: their source gives the pages that are kept, and each does in a browser what it is for.
//!
//! Its tools are installed in `playground/node_modules`, and again when what is asked for has changed.

use std::fs;
use std::io;

use crate::needs;
use crate::program::{Program, find};
use crate::step::{Done, Failure};
use crate::workspace;

/// The folder of the source.
const HERE: &str = "playground";

/// Installs the tools, checks types, runs the tests without a browser, compares the pages, then tests them in Chromium.
pub(crate) fn run() -> Result<Done, Failure> {
    needs::NODE.ensure()?;
    needs::NPM.ensure()?;
    install()?;
    npm("types").run()?;
    npm("unit").run()?;
    npm("check").run().map_err(|failure| {
        failure
            .advise("run `npm run build` in playground/, and commit the changes in crates/playground/built")
    })?;
    needs::CHROMIUM.ensure()?;
    // These run the snippets.
    needs::CURL.ensure()?;
    needs::PYTHON.ensure()?;
    // The same programs that the tests of the workspace build.
    Program::cargo("build --workspace --all-features --bin switchboard --example mcp_conformance_server")
        .run()?;
    let server = workspace::target()?.join("debug").join("switchboard");
    let browser = ["chromium", "chromium-browser"].iter().find_map(|name| find(name));
    npm("browser")
        .env("SWITCHBOARD", server.display().to_string())
        .env("CHROMIUM", browser.map(|path| path.display().to_string()).unwrap_or_default())
        .run()?;
    Ok(Done::Passed)
}

/// Installs the tools, unless they were for the same list with the same Node.
fn install() -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::new(
            format!("cannot install the tools of the playground: {error}"),
            "make playground/node_modules writable, or remove it, and run the step again",
        )
    };
    let folder = workspace::root().join(HERE);
    let mut wanted = Program::new("node").arg("--version").output()?;
    wanted.push_str(&fs::read_to_string(folder.join("package-lock.json")).map_err(failed)?);
    let stamp = folder.join("node_modules/.installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        println!("  the tools of the playground are installed");
        return Ok(());
    }
    // Without the scripts of packages: nothing here needs them.
    let npm = Program::new("npm").args(["ci", "--prefix", HERE, "--ignore-scripts", "--engine-strict"]);
    npm.args(["--no-audit", "--no-fund"]).run().map_err(|failure| {
        failure.advise("check that packages can be downloaded, and run the step again; or skip it with `--skip playground`")
    })?;
    // Last, so that what was left half done is begun anew.
    fs::write(stamp, wanted).map_err(failed)
}

/// A script of the playground.
fn npm(script: &str) -> Program {
    Program::new("npm").args(["run", "--silent", "--prefix", HERE, script])
}
