//! The Rust version that each of our packages states holds for what it depends on too.

use super::graph::{Graph, Package};

/// Our packages without a version, and what they reach that needs a newer Rust.
pub(super) fn findings(graph: &Graph) -> Vec<String> {
    graph.ours().flat_map(|package| of_package(graph, package)).collect()
}

fn of_package(graph: &Graph, package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some(stated) = package.rust_version.as_deref() else {
        return vec![format!("{name} declares no Rust version: add `rust-version` to its manifest")];
    };
    let reached = graph.paths_from(package).filter_map(|path| path.last().copied());
    let newer = reached
        .filter(|used| used.rust_version.as_deref().is_some_and(|needed| version(needed) > version(stated)));
    let finding = |used: &Package| {
        format!(
            "{name} declares Rust {stated}, but uses {}, which needs {}: hold it back in Cargo.lock with `cargo update \
             --precise`, or state the newer version here and in the table of README.md",
            used.name,
            used.rust_version.as_deref().unwrap_or_default()
        )
    };
    newer.map(finding).collect()
}

/// The numbers of a version, `1.88` as `1.88.0`.
fn version(text: &str) -> [u64; 3] {
    let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(u64::MAX));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_compare_by_number() {
        assert!(version("1.100") > version("1.88"));
        assert_eq!(version("1.88"), version("1.88.0"));
        assert!(version("1.88.1") > version("1.88"));
    }

    #[test]
    fn a_version_that_cannot_be_read_counts_as_too_new() {
        assert!(version("2024-nightly") > version("1.95"));
    }
}
