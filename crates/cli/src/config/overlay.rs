//! What flags and the environment set, over the files.

use std::ffi::OsString;

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::faults::Fault;
use super::key::{Key, Kind};
use super::keys::{self, KEYS};
use super::tree::{Entry, Node, Place, Table, Value};
use crate::failure::Failure;
use crate::units;

/// Environment variables that set keys start like this: `SWITCHBOARD__LIMITS__BODY` sets `limits.body`.
const PREFIX: &str = "SWITCHBOARD__";

/// Values by their paths. Later ones win.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    values: Vec<(String, Node)>,
    /// Variables that name no key.
    unknown: Vec<Fault>,
}

impl Overlay {
    /// What the environment and these arguments set.
    pub(crate) fn of(arguments: &ArgMatches) -> Result<Overlay, Failure> {
        let mut overlay = Overlay::of_variables(std::env::vars_os());
        for key in KEYS.iter().filter(|key| !key.flag.is_empty()) {
            if let Some(node) = given(arguments, key) {
                overlay.values.push((key.path.to_owned(), node));
            }
        }
        for text in texts(arguments, "set") {
            overlay.values.push(assignment(&text)?);
        }
        if is_given(arguments, "client_cert_optional") {
            let place = Place::Flag("--client-cert-optional".to_owned());
            overlay.values.push(("tls.client_cert".to_owned(), Node::text("optional", place)));
        }
        let addresses = listening(arguments);
        if !addresses.is_empty() {
            let place = Place::Flag("--listen".to_owned());
            let items = addresses.into_iter().map(|address| Node::text(address, place.clone())).collect();
            overlay.values.push(("listen".to_owned(), Node { value: Value::List(items), place }));
        }
        Ok(overlay)
    }

    /// What these environment variables set.
    pub(super) fn of_variables(variables: impl Iterator<Item = (OsString, OsString)>) -> Overlay {
        let mut overlay = Overlay::default();
        for (name, value) in variables {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            let Some(path) = name.strip_prefix(PREFIX) else { continue };
            let path = path.to_lowercase().replace("__", ".");
            let place = Place::Environment(name.to_owned());
            match keys::kind_of(&path) {
                Some(kind) => overlay.values.push((path, literal(kind, value, place))),
                None => {
                    let advice = keys::similar(&path).unwrap_or_default();
                    overlay.unknown.push(Fault::new(place, format!("unknown key `{path}`"), advice));
                }
            }
        }
        overlay
    }

    /// Sets these keys, too. `--set` wins over them.
    pub(crate) fn with(mut self, values: Vec<(String, Node)>) -> Overlay {
        let is_set = |node: &Node| matches!(&node.place, Place::Flag(flag) if flag.starts_with("--set "));
        let first = self.values.iter().position(|(_, node)| is_set(node)).unwrap_or(self.values.len());
        self.values.splice(first..first, values);
        self
    }

    /// The value that wins for this path.
    pub(crate) fn get(&self, path: &str) -> Option<&Node> {
        self.values.iter().rfind(|(other, _)| other == path).map(|(_, node)| node)
    }

    /// Lays the values over those of the files.
    pub(crate) fn apply(&self, table: &mut Table, faults: &mut Vec<Fault>) {
        faults.extend(self.unknown.iter().cloned());
        for (path, node) in &self.values {
            match node.place {
                Place::Environment(_) => table.set(&spelled(table, path), node.clone()),
                // The routes of the files stay.
                Place::Flag(_) if path == "route" => {
                    let before = table.get(path).map(|node| node.each().to_vec()).unwrap_or_default();
                    let all = before.into_iter().chain(node.each().iter().cloned()).collect();
                    table.set(path, Node { value: Value::List(all), place: node.place.clone() });
                }
                _ => table.set(path, node.clone()),
            }
        }
    }
}

/// The addresses among the arguments: those without an option, `--listen` and `--stdio`.
fn listening(arguments: &ArgMatches) -> Vec<String> {
    let mut addresses = texts(arguments, "addresses");
    addresses.extend(texts(arguments, "listen"));
    if is_given(arguments, "stdio") {
        addresses.push("stdio".to_owned());
    }
    addresses
}

/// The value of a key, if its flag was given.
pub(super) fn given(arguments: &ArgMatches, key: &Key) -> Option<Node> {
    let name = key.flag.trim_start_matches('-').replace('-', "_");
    if key.path == "listen" || !is_given(arguments, &name) {
        return None;
    }
    let place = Place::Flag(key.flag.to_owned());
    if matches!(key.kind, Kind::Flag) {
        // `--no-playground` turns off what is on by default.
        return Some(Node { value: Value::Flag(!name.starts_with("no_")), place });
    }
    let mut values = texts(arguments, &name);
    match key.kind {
        Kind::Texts => {
            let items = values.into_iter().map(|text| Node::text(text, place.clone())).collect();
            Some(Node { value: Value::List(items), place })
        }
        // `NAME=VALUE`, as often as needed.
        Kind::Named(kind) => {
            let mut table = Table::default();
            // Without a name, it is reported as one that is wrong.
            for (name, value) in values.iter().map(|text| text.split_once('=').unwrap_or(("", text))) {
                let node = literal(kind, value, place.clone());
                table.0.push(Entry { name: name.to_owned(), name_place: place.clone(), node });
            }
            Some(Node { value: Value::Table(table), place })
        }
        // Options may leave the unit out, files may not.
        Kind::Duration | Kind::DurationOrNever => values.pop().map(|text| match units::has_no_unit(&text) {
            true => Node::text(format!("{text}s"), place),
            false => Node::text(text, place),
        }),
        kind => values.pop().map(|text| literal(&kind, &text, place)),
    }
}

fn is_given(arguments: &ArgMatches, name: &str) -> bool {
    let source = arguments.try_contains_id(name).ok().and_then(|_| arguments.value_source(name));
    source == Some(ValueSource::CommandLine)
}

fn texts(arguments: &ArgMatches, name: &str) -> Vec<String> {
    if !is_given(arguments, name) {
        return Vec::new();
    }
    let values = arguments.get_raw(name).into_iter().flatten();
    values.map(|value| value.to_string_lossy().into_owned()).collect()
}

/// `KEY=VALUE`.
pub(super) fn assignment(text: &str) -> Result<(String, Node), Failure> {
    let wrong = |what: String| Failure::usage(format!("--set {text}: {what}"));
    let (path, value) = text.split_once('=').ok_or_else(|| wrong("write KEY=VALUE".to_owned()))?;
    let kind = keys::kind_of(path).ok_or_else(|| {
        let question = keys::similar(path);
        wrong(format!(
            "unknown key `{path}`; {}",
            question.unwrap_or_else(|| "see `switchboard config show`".to_owned())
        ))
    })?;
    Ok((path.to_owned(), literal(kind, value, Place::Flag(format!("--set {path}")))))
}

/// A value without quotes around texts.
fn literal(kind: &Kind, value: &str, place: Place) -> Node {
    match kind {
        Kind::Text
        | Kind::Secret
        | Kind::Pointer
        | Kind::Path
        | Kind::Choice(_)
        | Kind::Duration
        | Kind::DurationOrNever
        | Kind::Size
        | Kind::Percent
        | Kind::Factor => Node::text(value, place),
        _ => Node::literal(value, place),
    }
}

/// A path with the names that the files have: variables are spelled without lower case and `-`.
fn spelled(table: &Table, path: &str) -> String {
    let mut table = Some(table);
    let names = path.split('.').map(|segment| {
        let is_same = |name: &str| name.to_lowercase().replace('-', "_") == segment;
        let entry = table.and_then(|table| table.0.iter().find(|entry| is_same(&entry.name)));
        table = entry.and_then(|entry| match &entry.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        });
        entry.map_or(segment, |entry| &entry.name)
    });
    names.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_set_keys_and_misspelt_ones_are_reported() {
        let variables =
            [("SWITCHBOARD__LIMITS__BODY", "5MB"), ("SWITCHBOARD__LIMITS__BATCHES", "5"), ("HOME", "/")];
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let overlay = Overlay::of_variables(variables);
        let (mut table, mut faults) = (Table::default(), Vec::new());
        overlay.apply(&mut table, &mut faults);
        assert!(matches!(&table.get("limits.body").unwrap().value, Value::Text(text) if text.text == "5MB"));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].advice.contains("limits.batch"), "{faults:?}");
    }

    #[test]
    fn any_key_can_be_set_by_its_path() {
        let (path, node) = assignment("http.cors=true").unwrap();
        assert!(path == "http.cors" && matches!(node.value, Value::Flag(true)));
        assert!(matches!(assignment("timeout=5s").unwrap().1.value, Value::Text(_)));
        assert!(assignment("time_out=5s").is_err() && assignment("timeout").is_err());
    }
}
