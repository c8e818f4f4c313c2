//! What a package says about itself where it is published.

use std::path::Path;

use super::graph::{Graph, Package};

/// The keys of `cargo metadata` that each published package fills in.
pub(super) const KEYS: &[&str] = &["description", "documentation", "license", "readme", "repository"];

/// The files that each published package contains.
const FILES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// Published packages of ours that leave something out.
pub(super) fn findings(graph: &Graph) -> Vec<String> {
    graph.ours().filter(|package| package.is_published).flat_map(of_package).collect()
}

fn of_package(package: &Package) -> Vec<String> {
    let name = &package.name;
    let keys =
        package.missing_keys.iter().map(|key| format!("{name} has no `{key}` in its manifest: add it"));
    let folder = Path::new(&package.manifest).parent().unwrap_or(Path::new(""));
    let absent = FILES.iter().filter(|file| !package.manifest.is_empty() && !folder.join(file).is_file());
    let files =
        absent.map(|file| format!("{name} has no {file} in its folder: link it to the one in the root"));
    keys.chain(files).collect()
}
