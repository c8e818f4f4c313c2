//! A configuration as TOML: all keys, each with its origin, or only those that are set.

use std::fmt::Write as _;
use std::path::Path;

use switchboard::carrier::redacted;

use super::Config;
use super::expand::{MASK, escape, masked as without_references};
use super::faults::Fault;
use super::include;
use super::key::{Form, Key, Kind, find_in};
use super::keys::KEYS;
use super::tree::{Entry, Node, Place, Table, Value};

/// How texts that may be secrets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    /// As stars.
    Masked,
    /// As references to variables and files.
    Referenced,
    /// As they are.
    Plain,
}

/// All keys with their values and origins, loadable in place of the main file except for secrets.
pub(crate) fn show(config: &Config) -> String {
    page(|key, name| {
        let mut out = String::new();
        entry(&mut out, config, key, name);
        out
    })
}

/// The keys that are set, as a file in the working directory.
pub(crate) fn print(config: &Config) -> String {
    set(config, Path::new(""), Secrets::Referenced)
}

/// The keys that are set, without secrets, as a file in the folder of the main one: the same wherever that folder is.
pub(crate) fn portable(config: &Config) -> String {
    set(config, config.source.main().folder(), Secrets::Masked)
}

/// The keys that are set, as a file in this folder.
fn set(config: &Config, base: &Path, secrets: Secrets) -> String {
    let page = page(|key, name| {
        let Some(node) = located(config, key, base) else { return String::new() };
        let write = |node: &Node| written(node, secrets);
        match (&key.kind, &node.value) {
            _ if key.path == include::KEY => String::new(),
            (Kind::Named(Kind::Form(form)), Value::Table(Table(entries))) => {
                let lines = |table: &Table| set_lines(table, form.keys, write);
                entries.iter().map(|entry| section(name, entry, lines)).collect()
            }
            (Kind::Named(_), Value::Table(Table(entries))) => {
                let line = |name: &str, node: &Node| format!("{} = {}\n", bare(name), write(node));
                entries.iter().map(|entry| line(&entry.name, &entry.node)).collect()
            }
            (Kind::Tables(_), _) => {
                let items: String = node.each().iter().map(|item| format!("  {},\n", write(item))).collect();
                format!("{name} = [\n{items}]\n")
            }
            _ => format!("{name} = {}\n", write(&node)),
        }
    });
    page.trim_start().to_owned()
}

/// Puts the lines of each key into its table.
fn page(lines: impl Fn(&Key, &str) -> String) -> String {
    let mut out = String::new();
    let mut group = "";
    for key in KEYS {
        let (table, name) = match (key.path.split_once('.'), &key.kind) {
            (Some((table, name)), _) => (table, name),
            (None, Kind::Named(Kind::Form(_))) => (key.path, key.path),
            (None, Kind::Named(_)) => (key.path, ""),
            (None, _) => ("", key.path),
        };
        let lines = lines(key, name);
        if table != group && !lines.is_empty() {
            group = table;
            // Tables with names of the user's choice have their own headings.
            if !matches!(key.kind, Kind::Named(Kind::Form(_))) {
                let _ = write!(out, "\n[{table}]\n");
            }
        }
        out.push_str(&lines);
    }
    out
}

fn entry(out: &mut String, config: &Config, key: &Key, name: &str) {
    let set = located(config, key, config.source.main().folder());
    let origin = |node: &Node| Fault::origin(&node.place, &config.source);
    match (&key.kind, &set) {
        (_, Some(node)) if key.path == include::KEY => {
            // The keys of the files are here, too.
            let _ = writeln!(out, "# {name} = {}  # {}", masked(node), origin(node));
        }
        (Kind::Named(Kind::Form(form)), Some(Node { value: Value::Table(table), .. })) => {
            let lines = |table: &Table| all_lines(table, form.keys, origin);
            out.extend(table.0.iter().map(|entry| section(name, entry, lines)));
        }
        (Kind::Named(Kind::Form(_)), _) => {
            let _ = writeln!(out, "\n# [{name}.NAME]: {}", key.about);
        }
        (Kind::Named(_), Some(Node { value: Value::Table(table), .. })) => {
            for entry in &table.0 {
                let _ = writeln!(
                    out,
                    "{} = {}  # {}",
                    bare(&entry.name),
                    masked(&entry.node),
                    origin(&entry.node)
                );
            }
        }
        (Kind::Tables(_), Some(node)) => {
            let _ = writeln!(out, "{name} = [");
            for item in node.each() {
                let _ = writeln!(out, "  {},  # {}", masked(item), origin(item));
            }
            out.push_str("]\n");
        }
        (_, Some(node)) => {
            let _ = writeln!(out, "{name} = {}  # {}", masked(node), origin(node));
        }
        (Kind::Named(_), None) => {
            let _ = writeln!(out, "# {}", key.about);
        }
        (_, None) if key.default.is_empty() => {
            let _ = writeln!(out, "# {name}: not set; {}", key.about);
        }
        (_, None) => {
            let _ = writeln!(out, "{name} = {}  # default", key.default);
        }
    }
}

/// A table with a name of the user's choice.
fn section(group: &str, entry: &Entry, lines: impl Fn(&Table) -> String) -> String {
    let heading = format!("\n[{group}.{}]\n", bare(&entry.name));
    match &entry.node.value {
        Value::Table(table) => heading + &lines(table),
        _ => heading,
    }
}

/// The keys of a table that are set.
fn set_lines(table: &Table, keys: &[Key], write: impl Fn(&Node) -> String) -> String {
    let set = keys.iter().filter_map(|key| Some((key.path, table.get(key.path)?)));
    set.map(|(path, node)| format!("{path} = {}\n", write(node))).collect()
}

/// All keys of a table, with their origins.
fn all_lines(table: &Table, keys: &[Key], origin: impl Fn(&Node) -> String) -> String {
    let line = |key: &Key| match table.get(key.path) {
        Some(node) => format!("{} = {}  # {}\n", key.path, masked(node), origin(node)),
        None if key.default.is_empty() => format!("# {}: not set; {}\n", key.path, key.about),
        None => format!("{} = {}  # default\n", key.path, key.default),
    };
    keys.iter().map(line).collect()
}

/// The value of a key, if it is set. A relative path is as seen from this folder.
pub(crate) fn located(config: &Config, key: &Key, base: &Path) -> Option<Node> {
    let mut node = config.table.get(key.path)?.clone();
    Located { config, base }.value(&mut node, key.path, &key.kind);
    Some(node)
}

/// Rewrites paths as seen from a folder, and marks secrets.
#[derive(Clone, Copy)]
struct Located<'a> {
    config: &'a Config,
    base: &'a Path,
}

impl Located<'_> {
    fn value(self, node: &mut Node, name: &str, kind: &Kind) {
        match (kind, &mut node.value) {
            (Kind::Named(inner), Value::Table(table)) => {
                table.0.iter_mut().for_each(|entry| self.value(&mut entry.node, "", inner));
            }
            (Kind::Tables(_) | Kind::Form(_), Value::List(items)) => {
                items.iter_mut().for_each(|item| self.value(item, name, kind));
            }
            (Kind::Tables(keys) | Kind::Form(Form { keys, .. }), Value::Table(table)) => {
                self.table(table, keys, "");
                if find_in(keys, "cwd").is_some() {
                    self.process(table);
                }
            }
            (Kind::Form(form), _) => {
                if let Some(key) = find_in(form.keys, form.short) {
                    self.value(node, key.path, &key.kind);
                }
            }
            (Kind::Secret, Value::Text(text)) => text.is_secret = true,
            (_, Value::Text(text)) => {
                let Place::File(span) = &node.place else { return };
                let Some(prefix) = before_path(name, kind, &text.text) else { return };
                let folder = self.config.source.file(span).folder();
                for part in std::iter::once(&mut text.text).chain(&mut text.template) {
                    if let Some(path) = part.strip_prefix(prefix) {
                        *part = format!("{prefix}{}", relocated(path, folder, self.base));
                    }
                }
            }
            _ => {}
        }
    }

    /// Names the folder of a process, which by default is that of the file.
    fn process(self, table: &mut Table) {
        let Some(url) = table.get("url").filter(|_| table.get("cwd").is_none()) else { return };
        let Place::File(span) = &url.place else { return };
        let folder = self.config.source.file(span).folder();
        if url.each().iter().any(starts_program) && folder != self.base {
            let node = Node::text(relocated("", folder, self.base), url.place.clone());
            table.set("cwd", node);
        }
    }

    fn table(self, table: &mut Table, keys: &'static [Key], group: &str) {
        for entry in &mut table.0 {
            let path = format!("{group}{}", entry.name);
            match (find_in(keys, &path), &mut entry.node.value) {
                (Some(key), _) => self.value(&mut entry.node, key.path, &key.kind),
                (None, Value::Table(inner)) => self.table(inner, keys, &format!("{path}.")),
                _ => {}
            }
        }
    }
}

/// What is before the relative path in this value of a key; none if there is no such path.
fn before_path(name: &str, kind: &Kind, value: &str) -> Option<&'static str> {
    let prefix = match (kind, name) {
        (Kind::Path, _) => "",
        (_, "store") => "file:",
        (_, "url") => "mock:",
        _ => return None,
    };
    let path = value.strip_prefix(prefix)?;
    let is_relative = path != "-" && !path.contains("://") && Path::new(path).is_relative();
    is_relative.then_some(prefix)
}

/// Whether a node of an upstream is a program.
fn starts_program(node: &Node) -> bool {
    match &node.value {
        Value::Text(text) => text.text.starts_with("exec:"),
        Value::Table(table) => table.get("url").is_some_and(starts_program),
        _ => false,
    }
}

/// A path in one folder as seen from another. An empty path is the folder.
fn relocated(path: &str, folder: &Path, base: &Path) -> String {
    let path = if path.is_empty() { folder.to_owned() } else { folder.join(path) };
    match path.strip_prefix(base) {
        Ok(path) => path.display().to_string(),
        Err(_) => std::path::absolute(&path).unwrap_or(path).display().to_string(),
    }
}

fn masked(node: &Node) -> String {
    written(node, Secrets::Masked)
}

/// A value as TOML writes it, with its secrets: to compare two of them.
pub(crate) fn plain(node: &Node) -> String {
    written(node, Secrets::Plain)
}

fn written(node: &Node, secrets: Secrets) -> String {
    match &node.value {
        Value::Text(text) => match (&text.template, secrets) {
            (_, Secrets::Masked) if text.is_secret => quoted(MASK),
            (Some(template), Secrets::Masked) => quoted(&escape(&redacted(&without_references(template)))),
            (None, Secrets::Masked) => quoted(&escape(&redacted(&text.text))),
            (Some(template), Secrets::Referenced) => quoted(template),
            _ => quoted(&escape(&text.text)),
        },
        Value::Number(number) => number.clone(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, secrets)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(Table(entries)) => {
            let entry = |name: &str, node: &Node| format!("{} = {}", bare(name), written(node, secrets));
            let entries: Vec<String> = entries.iter().map(|each| entry(&each.name, &each.node)).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// A name, in quotes if it needs them.
fn bare(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
