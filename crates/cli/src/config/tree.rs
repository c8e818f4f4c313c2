//! A configuration as a tree of values, each with the place where it was set.

use std::ops::Range;
use std::path::Path;

use switchboard::Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::expand::{Expanded, expand};
use super::faults::Fault;

/// A value and the place where it was set.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Text),
    /// As it is written, so that none is rounded.
    Number(String),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// What to write for it, if a part of it came from outside the file and may be a secret.
    pub(crate) template: Option<String>,
    /// Whether all of it is a secret, wherever it came from.
    pub(crate) is_secret: bool,
}

/// Values by name, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub(crate) Vec<Entry>);

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) name_place: Place,
    pub(crate) node: Node,
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a file, at these bytes of the source.
    File(Range<usize>),
    /// By this option of the command line.
    Flag(String),
    /// By this environment variable.
    Environment(String),
    /// Nowhere: it is the default.
    Default,
}

/// The file that values are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    /// Relative paths start here.
    pub(crate) folder: &'a Path,
    /// The offset of the first byte.
    pub(crate) start: usize,
}

impl Base<'_> {
    /// The place of these bytes of the file.
    pub(crate) fn place(self, bytes: Range<usize>) -> Place {
        Place::File(self.start + bytes.start..self.start + bytes.end)
    }
}

/// Reads a table with its places.
pub(crate) fn read_table(table: &DeTable<'_>, base: Base<'_>, faults: &mut Vec<Fault>) -> Table {
    let entries = table.iter().map(|(name, value)| Entry {
        name: name.get_ref().to_string(),
        name_place: base.place(name.span()),
        node: read_node(value, base, faults),
    });
    let mut entries: Vec<Entry> = entries.collect();
    // The parser sorts by name; people read from the top.
    entries.sort_by_key(|entry| match &entry.name_place {
        Place::File(span) => span.start,
        _ => 0,
    });
    Table(entries)
}

fn read_node(value: &Spanned<DeValue<'_>>, base: Base<'_>, faults: &mut Vec<Fault>) -> Node {
    let place = base.place(value.span());
    let value = match value.get_ref() {
        DeValue::String(text) => match expand(text, base.folder) {
            Ok(Expanded { text, template }) => Value::Text(Text { text, template, is_secret: false }),
            Err(fault) => {
                faults.push(Fault::new(place.clone(), fault.title, fault.advice));
                // Nothing else is reported about it.
                Value::Text(Text { text: String::new(), template: Some(text.to_string()), is_secret: false })
            }
        },
        DeValue::Integer(number) => Value::Number(number.to_string()),
        DeValue::Float(number) => Value::Number(number.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(time) => Value::Text(Text::plain(time.to_string())),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| read_node(item, base, faults)).collect())
        }
        DeValue::Table(table) => Value::Table(read_table(table, base, faults)),
    };
    Node { value, place }
}

impl Text {
    /// A text that is not a secret.
    pub(crate) fn plain(text: impl Into<String>) -> Text {
        Text { text: text.into(), template: None, is_secret: false }
    }
}

impl Node {
    /// A text that was set here.
    pub(crate) fn text(text: impl Into<String>, place: Place) -> Node {
        Node { value: Value::Text(Text::plain(text)), place }
    }

    /// Reads a value as TOML writes it; anything else is a text.
    pub(crate) fn literal(text: &str, place: Place) -> Node {
        let mut faults = Vec::new();
        let base = Base { folder: Path::new(""), start: 0 };
        let node = DeValue::parse(text).ok().map(|value| read_node(&value, base, &mut faults));
        match node {
            Some(node) if faults.is_empty() => node.placed(&place),
            _ => Node::text(text, place),
        }
    }

    /// The value as JSON.
    pub(crate) fn json(&self) -> Result<Json, String> {
        let encoded = |text: &str| Json::encode_ref(text).map_err(|error| error.to_string());
        match &self.value {
            Value::Text(text) => encoded(&text.text),
            Value::Number(number) => {
                Json::parse(number.clone()).map_err(|_| format!("`{number}` is not a JSON number"))
            }
            Value::Flag(flag) => Ok(if *flag { Json::TRUE } else { Json::FALSE }),
            Value::List(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| Ok(item.json()?.to_string())).collect::<Result<_, String>>()?;
                Json::parse(format!("[{}]", items.join(","))).map_err(|error| error.to_string())
            }
            Value::Table(Table(entries)) => {
                let member = |entry: &Entry| Ok(format!("{}:{}", encoded(&entry.name)?, entry.node.json()?));
                let members: Vec<String> = entries.iter().map(member).collect::<Result<_, String>>()?;
                Json::parse(format!("{{{}}}", members.join(","))).map_err(|error| error.to_string())
            }
        }
    }

    /// The same value as if it was set here.
    fn placed(mut self, place: &Place) -> Node {
        self.place = place.clone();
        self.value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(|item| item.placed(place)).collect()),
            other => other,
        };
        self
    }

    /// One or many: a single value is a list of one.
    pub(crate) fn each(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Table {
    /// The value at a dotted path.
    pub(crate) fn get(&self, path: &str) -> Option<&Node> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let node = &self.0.iter().find(|entry| entry.name == first)?.node;
        match (rest, &node.value) {
            (None, _) => Some(node),
            (Some(rest), Value::Table(table)) => table.get(rest),
            _ => None,
        }
    }

    /// Sets the value at a dotted path, in place of what is there.
    pub(crate) fn set(&mut self, path: &str, node: Node) {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let index = self.0.iter().position(|entry| entry.name == first).unwrap_or_else(|| {
            let place = node.place.clone();
            let empty = Node { value: Value::Table(Table::default()), place: place.clone() };
            self.0.push(Entry { name: first.to_owned(), name_place: place, node: empty });
            self.0.len() - 1
        });
        let entry = &mut self.0[index];
        let Some(rest) = rest else {
            entry.node = node;
            return;
        };
        if !matches!(entry.node.value, Value::Table(_)) {
            entry.node.value = Value::Table(Table::default());
        }
        if let Value::Table(table) = &mut entry.node.value {
            table.set(rest, node);
        }
    }
}
