//! Reads typed values from the tree, and collects everything that is wrong.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::faults::Fault;
use super::keys::{self, KEYS, Key, Kind};
use super::source::Source;
use super::tree::{Entry, Node, Place, Table, Value};
use crate::suggest::did_you_mean;
use crate::units;

/// Reads a configuration.
pub(crate) struct Reader<'a> {
    pub(crate) table: &'a Table,
    pub(crate) source: &'a Source,
    pub(crate) faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    /// Reports the keys of this table that do not exist.
    pub(crate) fn new(table: &'a Table, source: &'a Source) -> Reader<'a> {
        let mut reader = Reader { table, source, faults: Vec::new() };
        reader.check_names(table, "");
        reader
    }

    fn check_names(&mut self, table: &'a Table, prefix: &str) {
        for entry in &table.0 {
            let path = format!("{prefix}{}", entry.name);
            // A quoted name with a dot, such as "limits.batch", is one name and not a path.
            if entry.name.contains('.') {
                let advice = format!("write {path} without quotes");
                self.faults.push(Fault::new(
                    entry.name_place.clone(),
                    format!("unknown key `{}`", entry.name),
                    advice,
                ));
                continue;
            }
            if let Some(key) = keys::find(&path) {
                if let Kind::Tables(inner) = key.kind {
                    self.check_tables(&entry.node, &path, inner);
                }
                continue;
            }
            let inside = format!("{path}.");
            match &entry.node.value {
                Value::Table(table) if KEYS.iter().any(|key| key.path.starts_with(&inside)) => {
                    self.check_names(table, &inside);
                }
                _ => {
                    let known = KEYS.iter().filter_map(|key| first_segment(key.path, prefix));
                    self.unknown(entry, prefix, known);
                }
            }
        }
    }

    fn check_tables(&mut self, node: &'a Node, path: &str, keys: &'static [Key]) {
        for item in node.each() {
            match &item.value {
                Value::Table(table) => {
                    for entry in table.0.iter().filter(|entry| !keys.iter().any(|key| key.path == entry.name))
                    {
                        self.unknown(entry, &format!("{path}."), keys.iter().map(|key| key.path));
                    }
                }
                _ => self.wrong(item, path, &format!("{} is not a table; write {{ … }}", item.kind())),
            }
        }
    }

    /// Reports an unknown key, with where it belongs or what was probably meant.
    fn unknown(&mut self, entry: &Entry, prefix: &str, known: impl Iterator<Item = &'static str>) {
        let inside = prefix.trim_end_matches('.');
        let title = match inside {
            "" => format!("unknown key `{}`", entry.name),
            inside => format!("unknown key `{}` in `{inside}`", entry.name),
        };
        let elsewhere = KEYS.iter().find(|key| {
            let (table, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
            name == entry.name && table != inside
        });
        let advice = match did_you_mean(&entry.name, known) {
            Some(question) => question,
            None => match elsewhere.map(|key| key.path.rsplit_once('.')) {
                Some(None) => {
                    format!("`{}` is a top-level key; move this line above the first `[…]`", entry.name)
                }
                Some(Some((table, name))) => format!("`{name}` belongs to `[{table}]`"),
                None => "`switchboard config show` lists all keys".to_owned(),
            },
        };
        self.faults.push(Fault::new(entry.name_place.clone(), title, advice));
    }

    /// Reports a value that cannot be used.
    pub(crate) fn wrong(&mut self, node: &Node, path: &str, advice: &str) {
        self.faults.push(Fault::new(node.place.clone(), format!("invalid value for `{path}`"), advice));
    }

    /// The value that was set, or the default.
    fn node(&self, path: &str) -> Option<Node> {
        if let Some(node) = self.table.get(path) {
            return Some(node.clone());
        }
        let default = keys::find(path).map(|key| key.default).filter(|default| !default.is_empty())?;
        Some(Node::literal(default, Place::Default))
    }

    /// Whether the key was set.
    pub(crate) fn is_set(&self, path: &str) -> bool {
        self.table.get(path).is_some()
    }

    /// Where the key was set.
    pub(crate) fn place(&self, path: &str) -> Place {
        self.table.get(path).map_or(Place::Default, |node| node.place.clone())
    }

    /// Reads one value. If it is wrong, that is reported, and there is none.
    fn one<T>(&mut self, path: &str, parse: impl Fn(&Node) -> Result<T, String>) -> Option<T> {
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
        self.one(path, |node| match &node.value {
            Value::Number(text) => units::count(text),
            // As the command line has it.
            Value::Text(text) if !matches!(node.place, Place::File(_)) => units::count(&text.text),
            _ => Err("use a whole number, 1 or more".to_owned()),
        })
    }

    pub(crate) fn duration(&mut self, path: &str) -> Duration {
        self.one(path, |node| timed(node, units::duration)).unwrap_or(Duration::MAX)
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
            let text = text(node)?;
            let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
            percent
                .map(|percent| percent / 100.0)
                .ok_or_else(|| "write a percentage such as \"10%\"".to_owned())
        };
        self.one(path, parse).unwrap_or(1.0)
    }

    pub(crate) fn choice(&mut self, path: &str) -> String {
        let allowed: &[&str] = match keys::find(path) {
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

    fn good<T>(&mut self, path: &str, read: Vec<(Result<T, String>, Node)>) -> Vec<T> {
        let good = read
            .into_iter()
            .filter_map(|(read, node)| read.map_err(|advice| self.wrong(&node, path, &advice)).ok());
        good.collect()
    }

    /// One or many texts of a table within a list, each read as such a value.
    pub(crate) fn many<T>(&mut self, table: &Table, path: &str, name: &str) -> Option<Vec<T>>
    where
        T: FromStr<Err: std::fmt::Display>,
    {
        let node = table.get(name)?.clone();
        let read = node.each().iter().map(|item| (parsed(item), item.clone())).collect();
        Some(self.good(&format!("{path}.{name}"), read))
    }
}

/// The segment after this prefix.
fn first_segment(path: &'static str, prefix: &str) -> Option<&'static str> {
    path.strip_prefix(prefix).map(|rest| rest.split('.').next().unwrap_or(rest))
}

/// The value that a text is read as.
fn parsed<T: FromStr<Err: std::fmt::Display>>(node: &Node) -> Result<T, String> {
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

fn timed(node: &Node, parse: impl Fn(&str) -> Result<Duration, String>) -> Result<Duration, String> {
    match &node.value {
        Value::Number(number) => {
            Err(format!("the unit is missing; write \"{number}s\", \"{number}ms\" or \"{number}m\""))
        }
        Value::Text(text) => parse(&text.text),
        _ => Err("write a duration such as \"5s\"".to_owned()),
    }
}
