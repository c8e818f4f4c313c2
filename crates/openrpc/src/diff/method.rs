//! Differences of one method, apart from its parameters.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::schema::Direction;
use super::{Changes, Severity, below};
use crate::document::{ErrorEntry, MethodEntry};

impl Changes {
    pub(super) fn method(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        self.params(old, new, place);
        self.answer(old, new, place);
        self.errors(old, new, &below(place, "errors"));
        self.marks(old, new, place);
    }

    /// A method that is gone; perhaps one that is new is the same by another name.
    pub(super) fn removed(&mut self, old: &MethodEntry, appeared: &Appeared<'_>, place: &str) {
        let what = match appeared.like(old) {
            Some(name) => {
                format!("the method was removed; the new `{name}` has the same parameters and result")
            }
            None => "the method was removed".to_owned(),
        };
        self.add(Severity::Breaking, place, what);
    }

    /// What is answered: nothing, a value or a stream.
    fn answer(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        let at_result = below(place, "result");
        let item = format!("{place}/x-stream/item");
        if let (Some(before), Some(after)) = (old.stream_item(), new.stream_item()) {
            self.schema((before, after), Direction::Out, &item, "an item");
            self.names(old, new, place);
        }
        match (Streaming::of(old), Streaming::of(new)) {
            (Streaming::Always, Streaming::Always) => {}
            (Streaming::Always, Streaming::OnWish) => {
                let what = "it returns one value to callers that do not ask for a stream";
                self.add(Severity::Breaking, at_result, what);
            }
            (Streaming::Always, Streaming::Never) => {
                self.add(Severity::Breaking, at_result, "it returns one value instead of a stream");
            }
            (Streaming::OnWish | Streaming::Never, Streaming::Always) => {
                self.add(Severity::Breaking, at_result, "it returns a stream instead of one value");
            }
            (Streaming::OnWish, Streaming::Never) => {
                self.add(Severity::Breaking, item, "it no longer streams");
                self.value(old, new, place);
            }
            (Streaming::Never, Streaming::OnWish) => {
                self.add(Severity::Harmless, item, "it streams to callers that ask for it");
                self.value(old, new, place);
            }
            (Streaming::OnWish, Streaming::OnWish) | (Streaming::Never, Streaming::Never) => {
                self.value(old, new, place);
            }
        }
    }

    /// One value, or nothing.
    fn value(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        let at_result = below(place, "result");
        match (old.result(), new.result()) {
            (Some(before), Some(after)) => {
                let schemas = (before.schema.as_value(), after.schema.as_value());
                self.schema(schemas, Direction::Out, &below(&at_result, "schema"), "the result");
            }
            (Some(_), None) => {
                self.add(Severity::Breaking, place, "it is now a notification, without a response");
            }
            (None, Some(_)) => {
                self.add(Severity::Harmless, at_result, "it can now be called, not only notified");
            }
            (None, None) => {}
        }
    }

    /// The names that a stream goes by.
    fn names(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        let names = |method: &MethodEntry| {
            method.subscription().map(|names| (names.notification.to_owned(), names.unsubscribe.to_owned()))
        };
        if names(old) != names(new) {
            let what = "the notification with its items, or the method that unsubscribes, was renamed";
            self.add(Severity::Breaking, below(place, "x-subscription"), what);
        }
    }

    fn errors(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        let (before, after) = (by_code(old), by_code(new));
        for (code, (_, error)) in &before {
            let Some((at, same)) = after.get(code) else {
                let what = format!("the error {code} is no longer declared");
                self.add(Severity::Unsure, place, what);
                continue;
            };
            let any = Value::Bool(true);
            let schemas = (old.data_schema(error).unwrap_or(&any), new.data_schema(same).unwrap_or(&any));
            let subject = format!("the data of the error {code}");
            self.schema(schemas, Direction::Out, &format!("{place}/{at}"), &subject);
        }
        for (code, (at, _)) in &after {
            if !before.contains_key(code) {
                // Callers have to expect codes that they do not know in any case.
                self.add(Severity::Harmless, format!("{place}/{at}"), format!("the error {code} is new"));
            }
        }
    }

    fn marks(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        let mut mark = |before: bool, after: bool, withdrawn: &str, given: &str| match (before, after) {
            (true, false) => self.add(Severity::Breaking, place, withdrawn),
            (false, true) => self.add(Severity::Harmless, place, given),
            _ => {}
        };
        mark(
            old.is_safe(),
            new.is_safe(),
            "it is no longer marked safe: it may change state",
            "it is now marked safe: it changes no state",
        );
        mark(
            old.is_idempotent(),
            new.is_idempotent(),
            "it is no longer marked idempotent: retrying it may do harm",
            "it is now marked idempotent: it can be retried",
        );
        mark(
            old.is_durable(),
            new.is_durable(),
            "it is no longer marked durable: calls in progress may be lost",
            "it is now marked durable: its calls survive crashes",
        );
        match (old.deprecated, new.deprecated) {
            (false, true) => self.add(Severity::Harmless, place, "it is now deprecated"),
            (true, false) => self.add(Severity::Harmless, place, "it is no longer deprecated"),
            _ => {}
        }
    }
}

/// The methods that are new, by what they take and give: the first of those that are alike.
pub(super) struct Appeared<'a>(HashMap<String, &'a str>);

impl<'a> Appeared<'a> {
    pub(super) fn new(methods: impl Iterator<Item = &'a MethodEntry>) -> Appeared<'a> {
        let mut all = HashMap::new();
        for method in methods {
            if let Some(manner) = manner(method) {
                all.entry(manner).or_insert(method.name.as_str());
            }
        }
        Appeared(all)
    }

    fn like(&self, old: &MethodEntry) -> Option<&'a str> {
        // Most often nothing is new, and nothing has to be written out.
        if self.0.is_empty() { None } else { self.0.get(&manner(old)?).copied() }
    }
}

/// What a method takes and gives, written out; none if it does neither.
fn manner(method: &MethodEntry) -> Option<String> {
    if method.params.is_empty() && method.is_notification() {
        return None;
    }
    let result = method.result.as_ref().filter(|_| !method.is_notification());
    serde_json::to_string(&(&method.params, result, method.param_structure)).ok()
}

/// To whom a method answers with a stream.
#[derive(Clone, Copy)]
enum Streaming {
    Always,
    OnWish,
    Never,
}

impl Streaming {
    fn of(method: &MethodEntry) -> Streaming {
        match (method.stream_item(), method.is_stream_optional()) {
            (Some(_), true) => Streaming::OnWish,
            (Some(_), false) => Streaming::Always,
            (None, _) => Streaming::Never,
        }
    }
}

fn by_code(method: &MethodEntry) -> BTreeMap<i64, (usize, &ErrorEntry)> {
    let mut errors = BTreeMap::new();
    for (at, error) in method.errors().enumerate() {
        errors.entry(error.code).or_insert((at, error));
    }
    errors
}
