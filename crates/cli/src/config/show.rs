//! A configuration as TOML: all keys, each with its origin, or only those that are set.

use std::fmt::Write as _;
use std::path::Path;

use super::Config;
use super::expand::escape;
use super::faults::Fault;
use super::include;
use super::keys::{KEYS, Key, Kind};
use super::tree::{Node, Place, Table, Value};

/// Replaces secrets.
const MASK: &str = "***";

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
    let page = page(|key, name| {
        let Some(node) = located(config, key, Path::new("")) else { return String::new() };
        let write = |node: &Node| written(node, Secrets::Referenced);
        match (&key.kind, &node.value) {
            _ if key.path == include::KEY => String::new(),
            (Kind::Named, Value::Table(Table(entries))) => {
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
            (None, Kind::Named) => (key.path, ""),
            (None, _) => ("", key.path),
        };
        let lines = lines(key, name);
        if table != group && !lines.is_empty() {
            group = table;
            let _ = write!(out, "\n[{table}]\n");
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
        (Kind::Named, Some(Node { value: Value::Table(table), .. })) => {
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
        (Kind::Named, None) => {
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

/// The value of a key, if it is set. A relative path is as seen from this folder.
pub(crate) fn located(config: &Config, key: &Key, base: &Path) -> Option<Node> {
    let mut node = config.table.get(key.path)?.clone();
    if let (Value::Text(text), Place::File(span)) = (&mut node.value, &node.place)
        && let Some(prefix) = before_path(key, &text.text)
    {
        let folder = config.source.file(span).folder();
        for part in std::iter::once(&mut text.text).chain(&mut text.template) {
            if let Some(path) = part.strip_prefix(prefix) {
                *part = format!("{prefix}{}", relocated(path, folder, base));
            }
        }
    }
    Some(node)
}

/// What is before the relative path in this value of a key; none if there is no such path.
fn before_path(key: &Key, value: &str) -> Option<&'static str> {
    let prefix = match key.kind {
        Kind::Path => "",
        _ if key.path == "store" => "file:",
        _ => return None,
    };
    let path = value.strip_prefix(prefix)?;
    let is_relative = path != "-" && !path.contains("://") && Path::new(path).is_relative();
    is_relative.then_some(prefix)
}

/// A path in one folder as seen from another.
fn relocated(path: &str, folder: &Path, base: &Path) -> String {
    let path = folder.join(path);
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
            (Some(_), Secrets::Masked) => quoted(MASK),
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
