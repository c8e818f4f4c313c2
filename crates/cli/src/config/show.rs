//! The effective configuration as TOML, each value with its origin.

use std::fmt::Write as _;

use super::Config;
use super::faults::Fault;
use super::keys::{KEYS, Key, Kind};
use super::tree::{Node, Place, Table, Value};

/// Replaces secrets.
const MASK: &str = "***";

/// The configuration, loadable again except for secrets.
pub(crate) fn show(config: &Config) -> String {
    let mut out = String::new();
    let mut group = "";
    for key in KEYS {
        let (table, name) = match (key.path.split_once('.'), &key.kind) {
            (Some((table, name)), _) => (table, name),
            (None, Kind::Named) => (key.path, ""),
            (None, _) => ("", key.path),
        };
        if table != group {
            group = table;
            let _ = write!(out, "\n[{table}]\n");
        }
        entry(&mut out, config, key, name);
    }
    out
}

fn entry(out: &mut String, config: &Config, key: &Key, name: &str) {
    let set = config.table.get(key.path);
    let origin = |node: &Node| Fault::origin(&node.place, &config.source);
    match (&key.kind, set) {
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

fn masked(node: &Node) -> String {
    written(node, true)
}

/// A value as TOML writes it, with its secrets: to compare two of them.
pub(crate) fn plain(node: &Node) -> String {
    written(node, false)
}

fn written(node: &Node, is_masked: bool) -> String {
    match &node.value {
        Value::Text(text) if is_masked && text.is_secret => quoted(MASK),
        Value::Text(text) => match (&node.place, text.text.parse::<u64>()) {
            // The command line has numbers as texts.
            (Place::Flag(_) | Place::Environment(_), Ok(number)) => number.to_string(),
            _ => quoted(&text.text),
        },
        Value::Number(number) => number.clone(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, is_masked)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(Table(entries)) => {
            let entry = |name: &str, node: &Node| format!("{} = {}", bare(name), written(node, is_masked));
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
