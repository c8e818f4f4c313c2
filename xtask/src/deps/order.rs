//! The order of our crates: a crate depends only on crates below its own row.

use super::graph::Graph;

/// The rows, from the bottom. Crates in the same row do not know each other.
const ROWS: &[&[&str]] = &[
    &["switchboard-core"],
    &["switchboard-macros", "switchboard-openrpc", "switchboard-transport", "switchboard-layers"],
    &["switchboard-a2a", "switchboard-gateway", "switchboard-mcp", "switchboard-playground"],
    &["switchboard"],
    &["switchboard-cli"],
];

/// Members of the workspace that are no part of the product.
const TOOLS: &[&str] = &["switchboard-tests", "xtask"];

/// Crates without a place in the order, and dependencies that do not point down.
pub(super) fn findings(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    for package in graph.ours() {
        let name = package.name.as_str();
        if TOOLS.contains(&name) {
            continue;
        }
        let Some(row) = row(name) else {
            findings.push(format!(
                "{name} is missing from the order of crates: add it to ROWS in xtask/src/deps/order.rs"
            ));
            continue;
        };
        // The manifest, not the resolved graph: an optional dependency counts, used or not.
        for required in package.requires.iter().filter(|required| !required.dev) {
            let points_down = match self::row(&required.name) {
                Some(below) => below < row,
                None => !TOOLS.contains(&required.name.as_str()),
            };
            if !points_down {
                findings.push(format!(
                    "{name} depends on {}, which is not below it: move the shared part down",
                    required.name
                ));
            }
        }
    }
    findings
}

fn row(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}
