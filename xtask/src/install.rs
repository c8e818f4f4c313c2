//! The commands of `docs/installing.md`, run as a reader would, with a home folder of the step's own.
//!
//! The address of the repository leads to this checkout. Commands of docker are left out where no engine answers.

use std::fs;
use std::path::Path;

use crate::needs;
use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;

const PAGE: &str = "docs/installing.md";

/// Installs, builds and uninstalls the program.
pub(crate) fn run() -> Result<Done, Failure> {
    needs::MUSL.ensure()?;
    let folder = workspace::target()?.join("install");
    let home = folder.join("home");
    let advice = |error| Failure::new(format!("{}: {error}", home.display()), "make that folder writable");
    fs::create_dir_all(&home).map_err(advice)?;
    let page = fs::read_to_string(workspace::root().join(PAGE))
        .map_err(|error| Failure::new(format!("{PAGE}: {error}"), "restore the page"))?;
    let has_docker = Program::new("docker").arg("info").succeeds();
    for script in scripts(&page) {
        if script.starts_with("docker") && !has_docker {
            println!("  no docker engine answers, left out:\n{script}");
            continue;
        }
        reader(&folder, &home, &script)?.run()?;
    }
    if home.join(".cargo/bin/switchboard").exists() {
        return Err(Failure::new("the program is still there after its removal", format!("mend {PAGE}")));
    }
    Ok(Done::Passed)
}

/// The scripts of the page in their order.
fn scripts(page: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut script: Option<String> = None;
    for line in page.lines() {
        match (line, script.as_mut()) {
            ("```sh", None) => script = Some(String::new()),
            ("```", Some(_)) => scripts.extend(script.take()),
            (_, Some(script)) => script.extend([line, "\n"]),
            (_, None) => {}
        }
    }
    scripts
}

/// A shell with the script, in the environment of a reader who has Rust.
fn reader(folder: &Path, home: &Path, script: &str) -> Result<Program, Failure> {
    let metadata = workspace::metadata("Cargo.toml", "--no-deps")?;
    let mut repositories =
        workspace::list(&metadata, "packages").map(|package| workspace::text(package, "repository"));
    let repository = repositories.find(|text| !text.is_empty()).unwrap_or_default();
    // Adding a dependency needs a package to add it to.
    let in_package = "cd \"$(mktemp -d)\"\ncargo init --quiet --name demo\n";
    let before = if script.starts_with("cargo add") { in_package } else { "" };
    let installed = home.join(".cargo");
    let path = format!("{}/bin:{}", installed.display(), std::env::var("PATH").unwrap_or_default());
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| in_home(".cargo"));
    let rustup_home = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| in_home(".rustup"));
    let shell = Program::new("sh").arg("-c").arg(format!("set -e\n{before}{script}"));
    let shell = shell
        .env("HOME", home.display().to_string())
        .env("PATH", path)
        .env("CARGO_HOME", cargo_home)
        .env("RUSTUP_HOME", rustup_home)
        .env("CARGO_INSTALL_ROOT", installed.display().to_string())
        .env("CARGO_TARGET_DIR", folder.join("build").display().to_string())
        .env("CARGO_NET_GIT_FETCH_WITH_CLI", "true")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", workspace::root().display()))
        .env("GIT_CONFIG_VALUE_0", repository);
    // It is about the commands, not about the speed of the program.
    Ok(shell
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"))
}

fn in_home(name: &str) -> String {
    Path::new(&std::env::var("HOME").unwrap_or_default()).join(name).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_a_page_are_its_blocks_of_shell() {
        let page = "a\n```sh\nb\nc\n```\n```console\n$ d\n```\n```sh\ne\n```\n";
        assert_eq!(scripts(page), ["b\nc\n", "e\n"]);
    }
}
