//! Which files the rules look at.

use std::fs;
use std::path::Path;

use crate::needs;
use crate::program::Program;
use crate::step::Failure;
use crate::workspace;

/// Folders that hold what tools make, for a tree without git.
const MADE: &[&str] = &[".git", "artifacts", "node_modules", "target"];

/// The paths of all tracked files. Outside of a git repository (an unpacked archive) the paths of all files
/// that no tool made.
pub(super) fn list() -> Result<Vec<String>, Failure> {
    if workspace::existing(".git").is_none() {
        println!("  not a git repository; reading all files");
        let mut paths = Vec::new();
        walk(workspace::root(), "", &mut paths);
        paths.sort();
        return Ok(paths);
    }
    needs::GIT.ensure()?;
    // A checkout that belongs to another user, as in containers, is still ours to read.
    let git = Program::new("git").args(["-c", "safe.directory=*", "ls-files", "-z"]);
    Ok(git.output()?.split_terminator('\0').map(str::to_owned).collect())
}

/// The file, if it is there and is text. A link is left out: its target is read on its own.
pub(super) fn read(path: &str) -> Option<super::Source> {
    let full = workspace::root().join(path);
    if !fs::symlink_metadata(&full).ok()?.is_file() {
        return None;
    }
    let text = String::from_utf8(fs::read(full).ok()?).ok()?;
    (!text.contains('\0')).then(|| super::Source { path: path.to_owned(), text })
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !MADE.contains(&name.as_str()) => walk(&entry.path(), &path, paths),
            Ok(kind) if kind.is_file() => paths.push(path),
            _ => {}
        }
    }
}
