//! Reports keys that do not exist.

use super::faults::Fault;
use super::key::{Form, Key, Kind, find_in};
use super::keys::KEYS;
use super::reader::Reader;
use super::tree::{Entry, Node, Table, Value};
use crate::suggest::did_you_mean;

/// A table to check.
#[derive(Clone, Copy)]
struct Place<'a> {
    keys: &'static [Key],
    /// The path of the table that has these keys, with a dot at its end; empty for the whole configuration.
    outer: &'a str,
    /// What the paths of its keys start with, with a dot at its end, such as `limits.`.
    group: &'a str,
}

impl Reader<'_> {
    /// Reports the keys of the whole table that do not exist, and values in place of tables.
    pub(super) fn check_names(&mut self) {
        let table = self.table;
        self.check_table(table, Place { keys: KEYS, outer: "", group: "" });
    }

    fn check_table(&mut self, table: &Table, place: Place<'_>) {
        let Place { keys, outer, group } = place;
        for entry in &table.0 {
            let path = format!("{group}{}", entry.name);
            // A quoted name with a dot, such as "limits.batch", is one name and not a path.
            if entry.name.contains('.') {
                let title = format!("unknown key `{}`", entry.name);
                let advice = format!("write {path} without quotes");
                self.faults.push(Fault::new(entry.name_place.clone(), title, advice));
                continue;
            }
            if let Some(key) = find_in(keys, &path) {
                self.check_value(&entry.node, &key.kind, &format!("{outer}{path}"));
                continue;
            }
            let inside = format!("{path}.");
            match &entry.node.value {
                Value::Table(table) if keys.iter().any(|key| key.path.starts_with(&inside)) => {
                    self.check_table(table, Place { group: &inside, ..place });
                }
                _ => self.unknown(entry, place),
            }
        }
    }

    fn check_value(&mut self, node: &Node, kind: &'static Kind, path: &str) {
        match (kind, &node.value) {
            (Kind::Named(inner), Value::Table(table)) => {
                for entry in &table.0 {
                    self.check_value(&entry.node, inner, &format!("{path}.{}", entry.name));
                }
            }
            (Kind::Tables(_) | Kind::Form(Form { is_list: true, .. }), Value::List(items)) => {
                items.iter().for_each(|item| self.check_value(item, kind, path));
            }
            (Kind::Tables(keys) | Kind::Form(Form { keys, .. }), Value::Table(table)) => {
                let place = Place { keys, outer: &format!("{path}."), group: "" };
                self.check_table(table, place);
            }
            (Kind::Form(Form { is_switch: true, .. }), Value::Flag(_)) => {}
            (Kind::Form(form), _) if !form.short.is_empty() => {}
            (Kind::Form(Form { is_switch: true, .. }), _) => {
                self.wrong(node, path, &format!("{} is not a table; write {{ … }} or false", node.kind()));
            }
            (Kind::Tables(_) | Kind::Form(_), _) => {
                self.wrong(node, path, &format!("{} is not a table; write {{ … }}", node.kind()));
            }
            _ => {}
        }
    }

    /// Reports an unknown key, with where it belongs or what was probably meant.
    fn unknown(&mut self, entry: &Entry, Place { keys, outer, group }: Place<'_>) {
        let prefix = format!("{outer}{group}");
        let inside = prefix.trim_end_matches('.');
        let title = match inside {
            "" => format!("unknown key `{}`", entry.name),
            inside => format!("unknown key `{}` in `{inside}`", entry.name),
        };
        let elsewhere = KEYS.iter().find(|key| {
            let (table, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
            name == entry.name && table != inside
        });
        let mut known: Vec<&str> = keys.iter().filter_map(|key| first_segment(key.path, group)).collect();
        known.dedup();
        let (is_table, key) = (known.contains(&&*entry.name), format!("{group}{}.", entry.name));
        let first = keys.iter().find(|key_in| is_table && key_in.path.starts_with(&key));
        if let Some(first) = first {
            let title = format!("`{}` is a table", entry.name);
            let advice =
                format!("write `{outer}{} = …`, or put its keys under `[{}]`", first.path, entry.name);
            return self.faults.push(Fault::new(entry.name_place.clone(), title, advice));
        }
        let advice = match did_you_mean(&entry.name, known.into_iter()) {
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
}

/// The segment after this prefix.
fn first_segment(path: &'static str, prefix: &str) -> Option<&'static str> {
    path.strip_prefix(prefix).map(|rest| rest.split('.').next().unwrap_or(rest))
}
