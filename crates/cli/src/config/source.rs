//! The files that a configuration is read from. A place in them is an offset, as if their texts followed each other.

use std::hash::{Hash, Hasher};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::faults::Fault;
use super::tree::{Base, Table, read_table};

/// The main file and those that are included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    main: File,
    included: Vec<File>,
}

/// One of the files.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// Its path without links, to recognize it.
    real: PathBuf,
    /// The offset of its first byte.
    start: usize,
}

impl Source {
    /// Reads the main file.
    pub(crate) fn read(path: &Path) -> io::Result<Source> {
        Ok(Source::of(path, std::fs::read_to_string(path)?))
    }

    /// A main file with this text.
    pub(crate) fn of(path: &Path, text: String) -> Source {
        let real = std::fs::canonicalize(path).unwrap_or_default();
        Source { main: File { path: path.to_owned(), text, real, start: 0 }, included: Vec::new() }
    }

    /// Adds a text that is not in a file.
    pub(crate) fn add(&mut self, path: PathBuf, text: String) -> &File {
        let start = self.end();
        self.included.push(File { real: path.clone(), path, text, start });
        self.included.last().unwrap_or(&self.main)
    }

    /// Reads an included file. None if it was read before.
    pub(crate) fn include(&mut self, path: PathBuf) -> io::Result<Option<&File>> {
        let real = std::fs::canonicalize(&path)?;
        if self.files().any(|file| file.real == real) {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path)?;
        let start = self.end();
        self.included.push(File { path, text, real, start });
        Ok(self.included.last())
    }

    /// The offset of the next file: one more, so that the end of a file is not its start.
    fn end(&self) -> usize {
        let last = self.included.last().unwrap_or(&self.main);
        last.start + last.text.len() + 1
    }

    /// Whether there is a main file.
    pub(crate) fn has_main(&self) -> bool {
        !self.main.path.as_os_str().is_empty()
    }

    /// The main file; empty if there is none.
    pub(crate) fn main(&self) -> &File {
        &self.main
    }

    /// The file that has this place.
    pub(crate) fn file(&self, span: &Range<usize>) -> &File {
        self.included.iter().rfind(|file| file.start <= span.start).unwrap_or(&self.main)
    }

    fn files(&self) -> impl Iterator<Item = &File> {
        std::iter::once(&self.main).chain(&self.included)
    }
}

/// Two sources with the same files have the same hash.
impl Hash for Source {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for file in self.files() {
            (&file.path, &file.text).hash(hasher);
        }
    }
}

impl File {
    /// Parses the file. Every syntax error is reported.
    pub(crate) fn parse(&self, faults: &mut Vec<Fault>) -> Table {
        let base = Base { folder: self.folder(), start: self.start };
        let (table, errors) = DeTable::parse_recoverable(&self.text);
        for error in &errors {
            let place = base.place(error.span().unwrap_or_default());
            faults.push(Fault::new(place, "invalid TOML", error.message()));
        }
        match errors.is_empty() {
            true => read_table(table.get_ref(), base, faults),
            false => Table::default(),
        }
    }

    /// The folder that relative paths in the file start from.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// The bytes of this file that a place is.
    pub(crate) fn bytes(&self, span: &Range<usize>) -> Range<usize> {
        let local = |at: usize| at.saturating_sub(self.start).min(self.text.len());
        local(span.start)..local(span.end).max(local(span.start))
    }

    /// A place in this file in short: `switchboard.toml:14`.
    pub(crate) fn line(&self, span: &Range<usize>) -> String {
        let before = &self.text.as_bytes()[..self.bytes(span).start];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}", self.path.display())
    }
}
