//! A file that is replaced when it is full.

use std::fs::{File, OpenOptions, rename};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file for a log, readable only by its owner. When it is full, `calls.log` becomes `calls.log.1`, `calls.log.1` becomes
/// `calls.log.2`, and so on; the oldest is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogFile {
    /// Where it is.
    pub path: PathBuf,
    /// How many bytes it may have: 16 MiB.
    pub size: u64,
    /// How many full files are kept besides it: 8.
    pub kept: u32,
}

impl LogFile {
    /// A file at this path.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> LogFile {
        LogFile { path: path.into(), size: 16 << 20, kept: 8 }
    }

    /// Sets [`size`](LogFile::size).
    #[must_use]
    pub fn with_size(mut self, size: u64) -> LogFile {
        self.size = size;
        self
    }

    /// Sets [`kept`](LogFile::kept).
    #[must_use]
    pub fn with_kept(mut self, kept: u32) -> LogFile {
        self.kept = kept;
        self
    }

    pub(crate) fn open(self) -> io::Result<Rotating> {
        let (file, written) = open(&self.path)?;
        Ok(Rotating { options: self, file, written })
    }

    /// The name of the full file with this number; the current one has 0.
    fn numbered(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.path.clone();
        }
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }
}

impl<P: Into<PathBuf>> From<P> for LogFile {
    fn from(path: P) -> LogFile {
        LogFile::new(path)
    }
}

/// The file while it is written.
pub(crate) struct Rotating {
    options: LogFile,
    file: File,
    written: u64,
}

impl Rotating {
    /// Makes room by starting a new file.
    fn rotate(&mut self) -> io::Result<()> {
        for number in (0..self.options.kept).rev() {
            match rename(self.options.numbered(number), self.options.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.options.kept == 0 {
            self.file.set_len(0)?;
        }
        (self.file, self.written) = open(&self.options.path)?;
        Ok(())
    }
}

impl Write for Rotating {
    /// Writes whole lines, as many as still fit, and at least one.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let line_within = |room: u64| {
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(text.len());
            text[..room].iter().rposition(|byte| *byte == b'\n').map(|end| end + 1)
        };
        let mut fitting = line_within(self.options.size.saturating_sub(self.written));
        if fitting.is_none() {
            if self.written > 0 {
                self.rotate()?;
            }
            fitting = line_within(self.options.size);
        }
        let first = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        let end = fitting.unwrap_or(first);
        self.file.write_all(&text[..end])?;
        self.written += end as u64;
        Ok(end)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    let written = file.metadata()?.len();
    Ok((file, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn full_files_are_numbered_and_the_oldest_goes() {
        let folder = Folder::new("audit");
        let options = LogFile::new(folder.0.join("a.log")).with_size(10).with_kept(2);
        let mut file = options.clone().open().unwrap();
        for line in ["one 1\n", "two\n", "three\n", "four 4\nfive 5\n", "six six six\n"] {
            file.write_all(line.as_bytes()).unwrap();
        }
        let files: Vec<String> = (0..4).map(|number| read(&options.numbered(number))).collect();
        assert_eq!(files, ["six six six\n", "five 5\n", "four 4\n", ""]);
        // What is there already counts.
        let mut file = options.clone().open().unwrap();
        file.write_all(b"seven\n").unwrap();
        assert_eq!(
            (read(&options.path), read(&options.numbered(1))),
            ("seven\n".into(), "six six six\n".into())
        );
    }

    #[test]
    fn without_kept_files_a_full_one_starts_again() {
        let folder = Folder::new("audit-alone");
        let options = LogFile::new(folder.0.join("a.log")).with_size(8).with_kept(0);
        let mut file = options.clone().open().unwrap();
        file.write_all(b"one 1\ntwo 2\n").unwrap();
        assert_eq!(read(&options.path), "two 2\n");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = Folder::new("audit-mode");
        let options = LogFile::new(folder.0.join("a.log"));
        let _file = options.clone().open().unwrap();
        let mode = std::fs::metadata(&options.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
