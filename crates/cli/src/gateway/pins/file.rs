//! The file that remembers approved tools: JSON that people can read and compare.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::Approved;
use crate::failure::Failure;

/// What the file has; nothing if it does not exist yet.
pub(super) fn read(path: &Path) -> Result<Approved, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        let what = format!("cannot read the pinned tools in {}: {error}", path.display());
        Failure::usage(what).advise("repair the file, or remove it to approve all tools as they are")
    };
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| wrong(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Approved::default()),
        Err(error) => Err(wrong(&error)),
    }
}

/// Replaces the file as a whole, so that it is never half written.
pub(super) fn write(path: &Path, approved: &Approved) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(approved)?;
    text.push(b'\n');
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let written = private(&beside).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// A new file that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
