//! The licences that a dependency may carry.

use super::graph::{Graph, Package};
use super::spdx;

/// Permissive licences: they ask for a notice at most. Copyleft is not among them, since users link this
/// library into programs of any licence.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // Data, not code: the list of root certificates.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Exceptions give further permission, so they are as good as the licence they belong to. Named one by one
/// so that a new one is looked at.
const EXCEPTIONS: &[&str] = &["LLVM-exception"];

/// Packages from elsewhere whose licence we do not allow, or do not know.
pub(super) fn findings(graph: &Graph) -> Vec<String> {
    graph.packages().filter(|package| package.source.is_some()).filter_map(finding).collect()
}

fn finding(package: &Package) -> Option<String> {
    let name = &package.name;
    let Some(licence) = &package.licence else {
        return Some(format!("{name} declares no SPDX licence: replace it"));
    };
    match spdx::permits(licence, &is_allowed) {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "{name} is licensed {licence}, which is not allowed: replace it, or add the licence to ALLOWED in \
             xtask/src/deps/licences.rs and say why"
        )),
        Err(error) => Some(format!("{name} is licensed {licence:?}, which cannot be read: {error}")),
    }
}

/// Whether a licence, with its exception if it has one, is on the list.
fn is_allowed(licence: &str, exception: Option<&str>) -> bool {
    ALLOWED.contains(&licence) && exception.is_none_or(|exception| EXCEPTIONS.contains(&exception))
}
