//! A folder that lasts as long as the fleet.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A folder that is removed when this is dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("switchboard-cluster-{:016x}", fastrand::u64(..)));
        // It fails if it is there already, as a trap of somebody else may be.
        fs::create_dir(&path)?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
