//! Reads typed values from the tree, and collects everything that is wrong.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::faults::Fault;
use super::key::{Key, Kind, find_in};
use super::keys::KEYS;
use super::source::Source;
use super::tree::{Node, Place, Table, Value};
use crate::units;

/// Reads a configuration.
pub(crate) struct Reader<'a> {
    pub(crate) table: &'a Table,
    pub(crate) source: &'a Source,
    pub(crate) faults: Vec<Fault>,
    pub(super) keys: &'static [Key],
    /// Where the table is; empty for the whole configuration.
    pub(super) path: String,
    pub(super) at: Place,
    /// Whether the table stands for a value that was written without it.
    pub(super) is_short: bool,
}

impl<'a> Reader<'a> {
    /// Reports the keys of this table that do not exist.
    pub(crate) fn new(table: &'a Table, source: &'a Source) -> Reader<'a> {
        let (path, at) = (String::new(), Place::Default);
        let mut reader = Reader { table, source, faults: Vec::new(), keys: KEYS, path, at, is_short: false };
        reader.check_names();
        reader
    }

    /// The path of a key from the top of the configuration.
    pub(super) fn full(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path if self.is_short => path.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// Reports a value that cannot be used.
    pub(crate) fn wrong(&mut self, node: &Node, path: &str, advice: &str) {
        let title = format!("invalid value for `{}`", self.full(path));
        self.faults.push(Fault::new(node.place.clone(), title, advice));
    }

    /// The value that was set, or the default.
    pub(super) fn node(&self, path: &str) -> Option<Node> {
        if let Some(node) = self.table.get(path) {
            return Some(node.clone());
        }
        let default =
            find_in(self.keys, path).map(|key| key.default).filter(|default| !default.is_empty())?;
        Some(Node::literal(default, Place::Default))
    }

    /// Whether the key was set.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        self.table.get(path).is_some()
    }

    /// Whether the key was not set, or is an empty list.
    pub(crate) fn is_empty(&self, path: &str) -> bool {
        self.table.get(path).is_none_or(|node| node.each().is_empty())
    }

    /// Where the key was set.
    pub(crate) fn place(&self, path: &str) -> Place {
        self.table.get(path).map_or(Place::Default, |node| node.place.clone())
    }

    /// Reads one value. If it is wrong, that is reported, and there is none.
    pub(super) fn one<T>(&mut self, path: &str, parse: impl Fn(&Node) -> Result<T, String>) -> Option<T> {
        let node = self.node(path)?;
        parse(&node).map_err(|advice| self.wrong(&node, path, &advice)).ok()
    }

    pub(crate) fn flag(&mut self, path: &str) -> bool {
        let parse = |node: &Node| match node.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err("write true or false".to_owned()),
        };
        self.one(path, parse).unwrap_or_default()
    }

    pub(crate) fn count(&mut self, path: &str) -> Option<usize> {
        const ADVICE: &str = "use a whole number, 1 or more";
        self.one(path, |node| units::count(number(node).ok_or(ADVICE)?))
    }

    /// A whole number, 0 or more.
    pub(crate) fn whole<T: FromStr>(&mut self, path: &str) -> Option<T> {
        self.integer(path, "use a whole number, 0 or more")
    }

    /// A whole number, which may be negative.
    pub(crate) fn code(&mut self, path: &str) -> Option<i64> {
        self.integer(path, "use a whole number, such as -32000")
    }

    fn integer<T: FromStr>(&mut self, path: &str, advice: &str) -> Option<T> {
        let parse = |node: &Node| number(node).and_then(|number| number.parse().ok());
        self.one(path, |node| parse(node).ok_or_else(|| advice.to_owned()))
    }

    pub(crate) fn duration(&mut self, path: &str) -> Duration {
        self.one(path, time).unwrap_or(Duration::MAX)
    }

    /// A duration; none for `never`.
    pub(crate) fn duration_or_never(&mut self, path: &str) -> Option<Duration> {
        let time = self.one(path, |node| timed(node, units::duration_or_never))?;
        Some(time).filter(|time| *time < units::LONGEST)
    }

    pub(crate) fn size(&mut self, path: &str) -> usize {
        let size = self.one(path, |node| match &node.value {
            Value::Number(number) => {
                Err(format!("the unit is missing; write \"{number}B\", \"{number}KB\" or \"{number}MB\""))
            }
            Value::Text(text) => units::size(&text.text),
            _ => Err("write a size such as \"4MB\"".to_owned()),
        });
        size.unwrap_or(usize::MAX)
    }

    pub(crate) fn text(&mut self, path: &str) -> Option<String> {
        self.one(path, text)
    }

    /// A share such as "10%", from 0.0 to 1.0.
    pub(crate) fn percent(&mut self, path: &str) -> f64 {
        let parse = |node: &Node| {
            let share = text(node)?.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            let percent = share.filter(|percent| (0.0..=100.0).contains(percent));
            percent
                .map(|percent| percent / 100.0)
                .ok_or_else(|| "write a percentage such as \"10%\"".to_owned())
        };
        self.one(path, parse).unwrap_or(1.0)
    }

    pub(crate) fn choice(&mut self, path: &str) -> String {
        let allowed: &[&str] = match find_in(self.keys, path) {
            Some(Key { kind: Kind::Choice(allowed), .. }) => allowed,
            _ => &[],
        };
        let parse = |node: &Node| {
            let text = text(node)?;
            match allowed.contains(&&*text) {
                true => Ok(text),
                false => Err(format!("use {}", allowed.join(" or "))),
            }
        };
        self.one(path, parse).unwrap_or_default()
    }

    /// A path; in the file, relative ones start at its folder.
    pub(crate) fn path(&mut self, path: &str) -> Option<PathBuf> {
        let written = self.text(path)?;
        Some(self.beside(path, &written))
    }

    /// A path that is written in the value of this key: in a file, it is relative to the file's folder.
    pub(crate) fn beside(&self, key: &str, path: &str) -> PathBuf {
        match self.place(key) {
            Place::File(span) => self.source.file(&span).folder().join(path),
            _ => PathBuf::from(path),
        }
    }

    /// One or many texts.
    pub(crate) fn texts(&mut self, path: &str) -> Vec<String> {
        let items = self.node(path).into_iter().flat_map(|node| node.each().to_vec());
        let texts: Vec<_> = items.map(|item| (text(&item), item)).collect();
        self.good(path, texts)
    }

    /// One or many texts, each read as such a value.
    pub(crate) fn parsed<T>(&mut self, path: &str) -> Vec<T>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let items = self.node(path).into_iter().flat_map(|node| node.each().to_vec());
        let read: Vec<_> = items.map(|item| (parsed(&item), item)).collect();
        self.good(path, read)
    }

    /// One text, read as such a value.
    pub(crate) fn one_parsed<T>(&mut self, path: &str) -> Option<T>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        self.one(path, parsed)
    }

    fn good<T>(&mut self, path: &str, read: Vec<(Result<T, String>, Node)>) -> Vec<T> {
        let good = read
            .into_iter()
            .filter_map(|(read, node)| read.map_err(|advice| self.wrong(&node, path, &advice)).ok());
        good.collect()
    }
}

/// The value that a text is read as.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(node: &Node) -> Result<T, String> {
    text(node)?.parse::<T>().map_err(|error| error.to_string())
}

/// The text that a value is.
pub(crate) fn text(node: &Node) -> Result<String, String> {
    match &node.value {
        Value::Text(text) => Ok(text.text.clone()),
        // A port, or a version.
        Value::Number(number) => Ok(number.clone()),
        _ => Err(format!("{} is not a text; write \"…\"", node.kind())),
    }
}

/// The number that a value is.
fn number(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Number(number) => Some(number),
        // As the command line has it.
        Value::Text(text) if !matches!(node.place, Place::File(_)) => Some(&text.text),
        _ => None,
    }
}

/// The duration that a value is.
pub(crate) fn time(node: &Node) -> Result<Duration, String> {
    timed(node, units::duration)
}

fn timed(node: &Node, parse: impl Fn(&str) -> Result<Duration, String>) -> Result<Duration, String> {
    let without_unit =
        |number: &str| format!("the unit is missing; write \"{number}s\", \"{number}ms\" or \"{number}m\"");
    match &node.value {
        Value::Number(number) => Err(without_unit(number)),
        Value::Text(text) if units::has_no_unit(&text.text) => Err(without_unit(&text.text)),
        Value::Text(text) => parse(&text.text),
        _ => Err("write a duration such as \"5s\"".to_owned()),
    }
}
