//! Differences between two documents, and which ones break callers (OR-51).
//!
//! The question is whether callers of the old document work with a server of the new one. So parameters and results are
//! judged in opposite directions: a server may accept more than before and return less, never accept less or return more. Schemas of
//! draft 7 that cannot be compared are reported as unsure, not guessed.
//!
//! Only what callers depend on is compared: methods, parameters, results, errors and marks; not texts, tags, examples, links or servers.

mod change;
mod method;
mod params;
mod parts;
mod schema;
mod union;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::{Document, MethodEntry, RefError, Resolver, escaped};

pub use change::{Change, Severity};
use method::Appeared;
use schema::{Comparison, Direction};

/// All differences of the new document, in the order of the method names.
///
/// # Errors
///
/// When a reference to a method, a parameter, a result or an error cannot be resolved. Unresolvable references inside schemas are reported as
/// unsure, if anything about them differs.
///
/// # Examples
///
/// ```
/// use switchboard_openrpc::{Document, Severity, diff};
///
/// let document = |params: &str| Document::parse(format!(
///     r#"{{"openrpc": "1.3.2", "info": {{"title": "T", "version": "1"}}, "methods": [{{"name": "greet", "params": [{params}]}}]}}"#
/// ));
/// let old = document("")?;
/// let new = document(r#"{"name": "whom", "required": true, "schema": {"type": "string"}}"#)?;
/// let changes = diff(&old, &new)?;
/// assert_eq!(changes[0].severity, Severity::Breaking);
/// assert_eq!(changes[0].to_string(), "breaking: greet: the new parameter `whom` is required");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff(old: &Document, new: &Document) -> Result<Vec<Change>, RefError> {
    let (old, new) = (old.clone().resolved()?, new.clone().resolved()?);
    let (old_methods, new_methods) = (by_name(&old), by_name(&new));
    let resolvers = (Resolver::new(&old), Resolver::new(&new));
    let mut changes = Changes {
        is_same: is_same(&resolvers),
        resolvers,
        found: Vec::new(),
        method: String::new(),
        param: None,
    };
    let appeared = new_methods.iter().filter(|(name, _)| !old_methods.contains_key(*name));
    let appeared = Appeared::new(appeared.map(|(_, (_, method))| *method));
    for (name, (at, before)) in &old_methods {
        changes.begin(name);
        match new_methods.get(name) {
            Some((at, after)) => changes.method(before, after, &format!("/methods/{at}")),
            None => changes.removed(before, &appeared, &format!("/methods/{at}")),
        }
    }
    for (name, (at, _)) in &new_methods {
        if !old_methods.contains_key(name) {
            changes.begin(name);
            changes.add(Severity::Harmless, format!("/methods/{at}"), "the method is new");
        }
    }
    let mut found = changes.found;
    found.sort_by(|a, b| a.method.cmp(&b.method));
    Ok(found)
}

/// The methods with their places. Of two with one name the first counts, as in a lookup.
fn by_name(document: &Document) -> BTreeMap<&str, (usize, &MethodEntry)> {
    let mut methods = BTreeMap::new();
    for (at, method) in document.methods().enumerate() {
        methods.entry(method.name.as_str()).or_insert((at, method));
    }
    methods
}

/// Whether every reference leads to the same in both documents.
fn is_same((old, new): &(Resolver, Resolver)) -> bool {
    let (old, new) = (old.document(), new.document());
    old == new || (old.get("components") == new.get("components") && leads_to_components(new))
}

fn leads_to_components(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(leads_to_components),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            reference.is_none_or(|reference| reference.starts_with("#/components/"))
                && members.values().all(leads_to_components)
        }
        _ => true,
    }
}

/// What was found so far, and what is being looked at.
struct Changes {
    resolvers: (Resolver, Resolver),
    /// Whether the same schema means the same in both.
    is_same: bool,
    found: Vec<Change>,
    method: String,
    param: Option<String>,
}

impl Changes {
    fn begin(&mut self, method: &str) {
        self.method = method.to_owned();
        self.param = None;
    }

    fn add(&mut self, severity: Severity, place: impl Into<String>, what: impl Into<String>) {
        let (method, param) = (self.method.clone(), self.param.clone());
        self.found.push(Change { severity, method, param, place: place.into(), what: what.into() });
    }

    /// Compares two schemas. What they are the schemas of is said by the subject, such as "the result".
    fn schema(&mut self, (old, new): (&Value, &Value), direction: Direction, place: &str, subject: &str) {
        let resolvers = (&self.resolvers.0, &self.resolvers.1);
        let found = Comparison::new(resolvers, self.is_same, direction).of(old, new, place, subject);
        for finding in found {
            self.add(direction.severity(finding.effect), finding.place, finding.what);
        }
    }
}

/// A place below another.
fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", escaped(name))
}
