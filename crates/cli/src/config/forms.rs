//! Reads tables inside the configuration, which may be written in a shorter way.

use super::faults::Fault;
use super::key::{Form, Key, Kind, find_in};
use super::reader::Reader;
use super::tree::{Entry, Node, Place, Table, Value};

/// Tables of the whole configuration that a value may stand for, and the key that it sets: `admin = URL` is `admin.url = URL`.
pub(super) const SHORT: [(&str, &str); 1] = [("admin", "admin.url")];

/// Puts tables in place of the values that stand for them. `false` stands for a table without keys.
pub(super) fn lengthen(table: &mut Table) {
    for (name, key) in SHORT {
        match table.get(name).cloned() {
            Some(Node { value: Value::Table(_), .. }) | None => {}
            Some(Node { value: Value::Flag(false), .. }) => table.0.retain(|entry| entry.name != name),
            Some(node) => table.set(key, node),
        }
    }
}

/// A table inside another one.
struct Inner<'a> {
    table: &'a Table,
    keys: &'static [Key],
    path: String,
    place: Place,
    /// Whether the table stands for a value that was written without it.
    is_short: bool,
}

impl Reader<'_> {
    /// Reads a table, or what is short for one. None if it is not set; `Some(None)` if it is switched off or wrong.
    pub(crate) fn form<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        let node = self.node(name)?;
        let Some(form) = self.form_of(name) else { return Some(None) };
        Some(self.item(name, &node, &form, read))
    }

    /// Reads one or many tables, or what is short for them.
    pub(crate) fn forms<T>(&mut self, name: &str, read: impl Fn(&mut Reader<'_>) -> Option<T>) -> Vec<T> {
        let (Some(node), Some(form)) = (self.node(name), self.form_of(name)) else { return Vec::new() };
        node.each().iter().filter_map(|item| self.item(name, item, &form, &read)).collect()
    }

    /// Reads the tables with names of the user's choice.
    pub(crate) fn tables<T>(
        &mut self,
        name: &str,
        read: impl Fn(&mut Reader<'_>, &str) -> Option<T>,
    ) -> Vec<T> {
        let Some(Kind::Named(Kind::Form(form))) = find_in(self.keys, name).map(|key| key.kind) else {
            return Vec::new();
        };
        let mut read_all = Vec::new();
        for Entry { name: inner, name_place, node } in self.entries(name) {
            let Value::Table(table) = &node.value else { continue };
            let path = self.full(&format!("{name}.{inner}"));
            let inside = Inner { table, keys: form.keys, path, place: name_place, is_short: false };
            read_all.extend(self.inside(inside, |reader| read(reader, &inner)));
        }
        read_all
    }

    /// Reads values by names of the user's choice.
    pub(crate) fn pairs<K, V>(
        &mut self,
        name: &str,
        read_name: impl Fn(&str) -> Result<K, String>,
        read: impl Fn(&Node) -> Result<V, String>,
    ) -> Vec<(K, V)> {
        let mut pairs = Vec::new();
        for entry in self.entries(name) {
            match (read_name(&entry.name), read(&entry.node)) {
                (Ok(name), Ok(value)) => pairs.push((name, value)),
                (Err(advice), _) => {
                    let title = format!("invalid name in `{}`", self.full(name));
                    self.faults.push(Fault::new(entry.name_place, title, advice));
                }
                (_, Err(advice)) => self.wrong(&entry.node, &format!("{name}.{}", entry.name), &advice),
            }
        }
        pairs
    }

    /// The entries of a table with names of the user's choice.
    fn entries(&mut self, name: &str) -> Vec<Entry> {
        let Some(node) = self.table.get(name).cloned() else { return Vec::new() };
        match node.value {
            Value::Table(table) => table.0,
            _ => {
                self.wrong(&node, name, &format!("{} is not a table; write {{ … }}", node.kind()));
                Vec::new()
            }
        }
    }

    /// Reports that a key of this table is missing.
    pub(crate) fn missing(&mut self, name: &str, example: &str) {
        let title = format!("`{}` has no `{name}`", self.path);
        self.faults.push(Fault::new(
            self.at.clone(),
            title,
            format!("add `{name}`, such as {name} = {example}"),
        ));
    }

    /// Reports a key that is set and of no use without something else.
    pub(crate) fn needs(&mut self, name: &str, what: &str, advice: &str) {
        if !self.is_set(name) {
            return;
        }
        let first = name.split('.').next().unwrap_or(name);
        let entry = self.table.0.iter().find(|entry| entry.name == first);
        let place = entry.map_or_else(|| self.at.clone(), |entry| entry.name_place.clone());
        self.faults.push(Fault::new(place, format!("`{}` needs {what}", self.full(name)), advice));
    }

    fn form_of(&self, name: &str) -> Option<Form> {
        match find_in(self.keys, name)?.kind {
            Kind::Form(form) => Some(*form),
            Kind::Tables(keys) => Some(Form::table(keys).list()),
            _ => None,
        }
    }

    fn item<T>(
        &mut self,
        name: &str,
        node: &Node,
        form: &Form,
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        let (path, place, keys) = (self.full(name), node.place.clone(), form.keys);
        let empty = Table::default();
        match &node.value {
            Value::Table(table) => self.inside(Inner { table, keys, path, place, is_short: false }, read),
            Value::Flag(false) if form.is_switch => None,
            Value::Flag(true) if form.is_switch => {
                self.inside(Inner { table: &empty, keys, path, place, is_short: false }, read)
            }
            // Reported with the names.
            _ if form.short.is_empty() => None,
            _ => {
                let entry =
                    Entry { name: form.short.to_owned(), name_place: place.clone(), node: node.clone() };
                let table = &Table(vec![entry]);
                self.inside(Inner { table, keys, path, place, is_short: true }, read)
            }
        }
    }

    fn inside<T>(&mut self, inner: Inner<'_>, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let mut reader = Reader {
            table: inner.table,
            source: self.source,
            faults: std::mem::take(&mut self.faults),
            keys: inner.keys,
            path: inner.path,
            at: inner.place,
            is_short: inner.is_short,
        };
        let value = read(&mut reader);
        self.faults = reader.faults;
        value
    }
}
