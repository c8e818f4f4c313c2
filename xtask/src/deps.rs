//! The dependency rules, over what `cargo metadata` says about the workspace.
//!
//! 1. Our crates depend downwards only; dev-dependencies are exempt.
//! 2. The core is small and knows no transport.
//! 3. Nothing pulls in a second TLS or a cryptography library we did not choose.
//! 4. Every dependency comes from a registry and carries a licence we allow.
//! 5. No package needs a newer Rust, through what it uses, than it states.
//! 6. What is published says where it comes from, and contains its licences.
//!
//! These are the checks of cargo-deny for licences, bans and sources, without its four minutes to compile; the rules about our own crates
//! are beyond it. Advisories are not checked: they come from a database on the internet, and CI runs without it.

mod graph;
mod licences;
mod order;
mod publishing;
mod rust_version;
mod spdx;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace;
use graph::Graph;

/// What the core may depend on directly.
const CORE_MAY_USE: &[&str] = &[
    "bytes",
    "fastrand",
    "foldhash",
    "futures-core",
    "futures-util",
    "memchr",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "thiserror",
    "tokio",
    "tracing",
];

/// The features of tokio that reach outside the process. A core that asks for one has become a transport.
const CORE_MUST_NOT_ASK_OF_TOKIO: &[&str] = &["fs", "full", "io-std", "net", "process", "signal"];

/// What the core must not reach by any path: transports, HTTP and TLS.
const NOT_UNDER_CORE: &[&str] = &[
    "async-nats",
    "axum",
    "h2",
    "http",
    "http-body",
    "hyper",
    "hyper-util",
    "quinn",
    "reqwest",
    "rustls",
    "soketto",
    "switchboard-transport",
    "tokio-rustls",
    "tokio-tungstenite",
    "tungstenite",
];

/// What must not be anywhere in the tree: TLS is rustls, with one provider of cryptography.
const NOWHERE: &[&str] = &["native-tls", "openssl", "openssl-sys", "ring"];

/// Runs the rules on the workspace.
pub(crate) fn run() -> Result<Done, Failure> {
    let metadata = workspace::metadata("Cargo.toml", "--all-features")?;
    let built = built(&built_list()?)?;
    let findings = findings(&metadata, &built);
    for finding in &findings {
        println!("  {finding}");
    }
    println!("  {} packages read", workspace::list(&metadata, "packages").count());
    match findings.len() {
        0 => Ok(Done::Passed),
        n => Err(Failure::new(
            format!("{n} dependency findings"),
            "fix each finding above; the rules are in xtask/src/deps.rs",
        )),
    }
}

/// All that is against the rules, one text each.
fn findings(metadata: &Value, built: &BTreeSet<String>) -> Vec<String> {
    let graph = Graph::parse(metadata);
    let mut findings = order::findings(&graph);
    findings.extend(core_findings(&graph));
    findings.extend(banned_findings(&graph, built));
    findings.extend(source_findings(&graph));
    findings.extend(licences::findings(&graph));
    findings.extend(rust_version::findings(&graph));
    findings.extend(publishing::findings(&graph));
    findings
}

fn core_findings(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    let Some(core) = graph.ours().find(|package| package.name == "switchboard-core") else {
        return findings;
    };
    for dependency in core.requires.iter().filter(|dependency| !dependency.dev) {
        let name = &dependency.name;
        if !CORE_MAY_USE.contains(&name.as_str()) {
            findings.push(format!(
                "switchboard-core depends on {name}: move what needs it to another crate, or add it to \
                 CORE_MAY_USE and say why in the commit"
            ));
        }
        let asked = dependency.features.iter().filter(|_| name == "tokio");
        for feature in asked.filter(|feature| CORE_MUST_NOT_ASK_OF_TOKIO.contains(&feature.as_str())) {
            findings.push(format!(
                "switchboard-core enables the feature {feature} of tokio: move the code that needs it to a transport"
            ));
        }
    }
    for path in graph.paths_from(core).filter(|path| path.len() > 1) {
        let last = path.last().map(|package| package.name.as_str()).unwrap_or_default();
        if NOT_UNDER_CORE.contains(&last) {
            let names: Vec<_> = path.iter().map(|package| package.name.as_str()).collect();
            findings.push(format!(
                "switchboard-core reaches {last} ({}): drop the dependency or the feature that brings it",
                names.join(" > ")
            ));
        }
    }
    findings
}

/// A line `name vVERSION` for each package that is compiled for any target, with all features, to run or to test.
fn built_list() -> Result<String, Failure> {
    let tree = "tree --quiet --workspace --all-features --target all --edges normal,build,dev --prefix none";
    Program::cargo(tree).args(["--format", "{p}"]).output()
}

/// The names in the list of what is built. Fails unless our own crates are there: then the list is not what it seems.
fn built(list: &str) -> Result<BTreeSet<String>, Failure> {
    let names = list.lines().filter_map(|line| line.split_once(" v")).map(|(name, _)| name.trim().to_owned());
    let names: BTreeSet<String> = names.collect();
    match ["switchboard-core", "switchboard-cli"].iter().find(|name| !names.contains(**name)) {
        None => Ok(names),
        Some(name) => Err(Failure::new(
            format!("`cargo tree` does not list {name}, so the dependencies cannot be checked"),
            "check its output, and fix built_list in xtask/src/deps.rs",
        )),
    }
}

/// What is banned and built. A resolution also names what an optional dependency would bring if it were asked for;
/// nobody builds that.
fn banned_findings(graph: &Graph, built: &BTreeSet<String>) -> Vec<String> {
    let named = |name: &str| graph.packages().find(|package| package.name == name);
    let banned = NOWHERE.iter().filter(|name| built.contains(**name));
    let finding = |name: &&str| {
        let users: Vec<_> = named(name)
            .into_iter()
            .flat_map(|package| graph.users(package))
            .map(|user| user.name.as_str())
            .collect();
        format!(
            "{name} is in the tree, brought by {}: choose other features there, or another crate",
            users.join(", ")
        )
    };
    banned.map(finding).collect()
}

fn source_findings(graph: &Graph) -> Vec<String> {
    let foreign = graph
        .packages()
        .filter(|package| package.source.as_ref().is_some_and(|source| !source.starts_with("registry+")));
    let finding = |package: &graph::Package| {
        format!("{} does not come from a registry: depend on a released version", package.name)
    };
    foreign.map(finding).collect()
}

#[cfg(test)]
mod tests;
