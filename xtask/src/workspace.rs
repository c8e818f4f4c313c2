//! Where the repository is and what cargo knows about it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::Program;
use crate::step::Failure;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

/// A path inside the repository, if it exists.
pub(crate) fn existing(path: &str) -> Option<PathBuf> {
    Some(root().join(path)).filter(|path| path.exists())
}

/// `cargo metadata` of the workspace with this manifest, with the line of further arguments.
pub(crate) fn metadata(manifest: &str, line: &str) -> Result<Value, Failure> {
    let program = Program::cargo("metadata --format-version 1 --manifest-path").arg(manifest);
    let text = program.args(line.split_whitespace()).output()?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("`cargo metadata` did not write JSON: {error}"), "update the Rust toolchain")
    })
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let metadata = metadata("Cargo.toml", "--no-deps")?;
    Ok(PathBuf::from(text(&metadata, "target_directory")))
}

/// The elements of an array in `cargo metadata`; nothing if it is absent.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A text in `cargo metadata`; empty if it is absent.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Whether a target of `cargo metadata` is of this kind (`bin`, `lib`, `example`, …).
pub(crate) fn is_kind(target: &Value, kind: &str) -> bool {
    list(target, "kind").any(|entry| entry == kind)
}
