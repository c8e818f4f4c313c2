//! The library with the oldest version of each direct dependency that its manifests allow.
//!
//! It is built in a copy, with a lock file of its own, and without what only tests need: their versions bind no user.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

/// What is built: the facade with all features, and through it every library.
const FACADE: &str = "check --quiet --package switchboard --all-features --locked --manifest-path";

/// The crates of the workspace that are no libraries.
const PROGRAMS: &[&str] = &["cli"];

/// Builds the library with its floors.
pub(crate) fn run() -> Result<Done, Failure> {
    let target = workspace::target()?;
    let copy = target.join("floors");
    copy_libraries(workspace::root(), &copy).map_err(|error| {
        Failure::new(format!("cannot copy the library to {}: {error}", copy.display()), "delete that folder")
    })?;
    let manifest = copy.join("Cargo.toml").display().to_string();
    // The choice of versions is not stable yet, what it chooses is built with what users have.
    Program::cargo("-Zdirect-minimal-versions generate-lockfile --manifest-path")
        .arg(&manifest)
        .env("RUSTC_BOOTSTRAP", "1")
        .run()
        .map_err(|failure| {
            failure.advise("in Cargo.toml, raise the version of the dependency that others need newer")
        })?;
    let check = Program::cargo(FACADE).arg(&manifest).arg("--target-dir");
    check.arg(target.join("floors-target").display().to_string()).run().map_err(|failure| {
        failure.advise("in Cargo.toml, raise the version of the dependency that is too old")
    })?;
    Ok(Done::Passed)
}

/// The workspace with its libraries alone.
fn copy_libraries(root: &Path, copy: &Path) -> io::Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    fs::create_dir_all(copy)?;
    fs::copy(root.join("README.md"), copy.join("README.md"))?;
    fs::write(copy.join("Cargo.toml"), libraries_only(&fs::read_to_string(root.join("Cargo.toml"))?))?;
    for entry in fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name();
        if PROGRAMS.iter().any(|program| name == *program) {
            continue;
        }
        let folder = copy.join("crates").join(&name);
        copy_folder(&root.join("crates").join(&name), &folder)?;
        let manifest = folder.join("Cargo.toml");
        fs::write(&manifest, without_tests(&fs::read_to_string(&manifest)?))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// The manifest of the workspace without members outside of `crates`, and without what is built by default.
fn libraries_only(manifest: &str) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some(("members", _)) => "members = [\"crates/*\"]\n".to_owned(),
        Some(("default-members", _)) => String::new(),
        _ => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

/// The manifest of a package without the tables of what only tests and examples need.
fn without_tests(manifest: &str) -> String {
    let mut is_kept = true;
    let kept = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_kept = !line.contains("dev-dependencies]") && *line != "[[example]]";
        }
        is_kept
    });
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_stay_members() {
        let manifest = "[workspace]\nmembers = [\"crates/*\", \"tests\"]\ndefault-members = [\"crates/cli\"]\nresolver = \"3\"\n";
        assert_eq!(libraries_only(manifest), "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n");
    }

    #[test]
    fn what_only_tests_need_is_left_out() {
        let manifest = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\n[target.'cfg(unix)'.dev-dependencies]\nc = \"1\"\n\
                        [[example]]\nname = \"d\"\n[lints]\nworkspace = true\n";
        assert_eq!(without_tests(manifest), "[dependencies]\na = \"1\"\n[lints]\nworkspace = true\n");
    }
}
