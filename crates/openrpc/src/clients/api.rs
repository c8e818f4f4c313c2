//! The API of a client, the same for every language: groups of methods, with their parameters and results.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{Scope, inside, pascal};
use super::types::{Definition, Type, Types};
use crate::document::{ContentDescriptor, Document, MethodEntry, ParamStructure, RefError, Resolver};

/// How a language has it.
pub(super) struct Style {
    /// How the name of a method is written.
    pub(super) method: fn(&str) -> String,
    /// How the name of a parameter is written.
    pub(super) param: fn(&str) -> String,
    /// Words that cannot be names.
    pub(super) keywords: &'static [&'static str],
    /// Types that are there already.
    pub(super) types: &'static [&'static str],
    /// What a group of methods has already.
    pub(super) members: &'static [&'static str],
    /// What the client has already, besides.
    pub(super) client: &'static [&'static str],
    /// What a method uses inside, and its parameters cannot be called.
    pub(super) locals: &'static [&'static str],
    /// Whether a type that is one of several needs a name.
    pub(super) names_unions: bool,
}

/// All of a client.
pub(super) struct Api {
    /// The title of the API and its version.
    pub(super) title: String,
    pub(super) definitions: Vec<Definition>,
    pub(super) root: Group,
}

/// Methods whose names begin alike.
pub(super) struct Group {
    /// The name of the group among those that it is in.
    pub(super) name: String,
    /// The name of its type.
    pub(super) class: String,
    /// What its names begin with on the wire, without what follows: `math` of `math/add`.
    pub(super) prefix: String,
    pub(super) methods: Vec<Operation>,
    pub(super) groups: Vec<Group>,
}

/// A method.
pub(super) struct Operation {
    /// Its name in the program.
    pub(super) name: String,
    /// Its name on the wire.
    pub(super) wire: String,
    pub(super) docs: Docs,
    pub(super) params: Params,
    pub(super) answer: Answer,
}

/// What is said about a method.
#[derive(Default)]
pub(super) struct Docs {
    pub(super) text: String,
    pub(super) errors: Vec<(i64, String)>,
    /// Why it is deprecated; empty if unknown.
    pub(super) deprecated: Option<String>,
}

/// What a method takes.
#[derive(Clone)]
pub(super) enum Params {
    /// Unknown.
    Unknown,
    ByName(Vec<Param>),
    ByPosition(Vec<Param>),
}

impl Params {
    pub(super) fn all(&self) -> &[Param] {
        match self {
            Params::Unknown => &[],
            Params::ByName(params) | Params::ByPosition(params) => params,
        }
    }
}

/// A parameter.
#[derive(Clone)]
pub(super) struct Param {
    /// Its name in the program.
    pub(super) name: String,
    /// Its name on the wire.
    pub(super) key: String,
    pub(super) kind: Type,
    pub(super) is_required: bool,
    pub(super) docs: String,
}

/// What a method gives.
pub(super) enum Answer {
    /// It can only be notified.
    Nothing,
    Value(Type),
    Stream {
        item: Type,
        /// The notification of an item, and the method that unsubscribes, if not the default names.
        names: Option<(String, String)>,
    },
}

impl Api {
    /// Reads a document for a client in this style.
    pub(super) fn new(document: &Document, style: &Style) -> Result<Api, RefError> {
        let document = document.clone().resolved()?;
        let resolver = Resolver::new(&document);
        let mut methods: BTreeMap<&str, &MethodEntry> = BTreeMap::new();
        for method in document.methods() {
            methods.entry(&method.name).or_insert(method);
        }
        let mut types = Types::new(&resolver, style.names_unions, style.types);
        let mut branch = Branch::default();
        for (name, method) in methods {
            branch.insert(&parts(name), method);
        }
        let mut building = Building { style, types: &mut types };
        let root = building.group("", "", branch);
        Ok(Api {
            title: format!("{} {}", document.info.title, document.info.version).trim().to_owned(),
            root,
            definitions: types.definitions()?,
        })
    }
}

/// The parts of a name: `math` and `add`, whether a slash or a dot separates them. More than a few nested groups do not help.
fn parts(name: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = name;
    while parts.len() < 4 {
        // A name that begins or ends with a separator keeps it.
        let Some(end) = rest.find(['/', '.']).filter(|end| *end > 0 && *end + 1 < rest.len()) else { break };
        parts.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    parts.push(rest);
    parts
}

/// A group before its names are chosen.
#[derive(Default)]
struct Branch<'a> {
    methods: Vec<(&'a str, &'a MethodEntry)>,
    branches: BTreeMap<&'a str, Branch<'a>>,
}

impl<'a> Branch<'a> {
    fn insert(&mut self, parts: &[&'a str], method: &'a MethodEntry) {
        match parts {
            [] => {}
            [last] => self.methods.push((last, method)),
            [first, rest @ ..] => self.branches.entry(first).or_default().insert(rest, method),
        }
    }
}

struct Building<'s, 't, 'a> {
    style: &'s Style,
    types: &'t mut Types<'a>,
}

impl Building<'_, '_, '_> {
    fn group(&mut self, name: &str, prefix: &str, branch: Branch<'_>) -> Group {
        let style = self.style;
        let of_client: &[&str] = if prefix.is_empty() { style.client } else { &[] };
        let mut scope = Scope::new(style.members.iter().chain(of_client));
        let mut methods: Vec<(String, &MethodEntry)> = Vec::new();
        for (last, method) in branch.methods {
            methods.push((scope.take(&(style.method)(last), style.keywords), method));
        }
        // Last, so that what is made up takes no name from a method.
        let mut operations = Vec::new();
        for (name, method) in methods {
            let streaming = method
                .is_stream_optional()
                .then(|| scope.take(&(style.method)(&format!("{name}_stream")), style.keywords));
            operations.extend(self.operations(name, streaming, method));
        }
        let class = match prefix {
            "" => "Client".to_owned(),
            _ => self.types.class(&format!("{}Methods", pascal(prefix))),
        };
        let groups = branch.branches.into_iter().map(|(part, branch)| {
            let name = scope.take(&(style.method)(part), style.keywords);
            let prefix = if prefix.is_empty() { part.to_owned() } else { format!("{prefix}/{part}") };
            self.group(&name, &prefix, branch)
        });
        let groups = groups.collect();
        Group { name: name.to_owned(), class, prefix: prefix.to_owned(), methods: operations, groups }
    }

    /// A method, and the same as a stream if it can answer in either way.
    fn operations(
        &mut self,
        name: String,
        streaming: Option<String>,
        method: &MethodEntry,
    ) -> Vec<Operation> {
        let params = self.params(method);
        let operation = |name: String, params: Params, answer: Answer| Operation {
            name,
            wire: method.name.clone(),
            docs: docs(method),
            params,
            answer,
        };
        let item = method.stream_item().map(|item| Answer::Stream {
            item: self.types.of(item, &inside(&method.name, "item")),
            names: method.subscription().map(|of| (of.notification.to_owned(), of.unsubscribe.to_owned())),
        });
        let mut value = || match method.result() {
            Some(result) => {
                Answer::Value(self.types.of(result.schema.as_value(), &inside(&method.name, "result")))
            }
            None => Answer::Nothing,
        };
        match (item, streaming) {
            (None, _) => vec![operation(name, params, value())],
            (Some(item), None) => vec![operation(name, params, item)],
            (Some(item), Some(streaming)) => {
                vec![operation(name, params.clone(), value()), operation(streaming, params, item)]
            }
        }
    }

    fn params(&mut self, method: &MethodEntry) -> Params {
        let mut scope = Scope::new(self.style.locals);
        let mut keys = BTreeSet::new();
        // By name, one of two that are called the same could never be given.
        let is_by_name = method.param_structure != ParamStructure::ByPosition;
        let params = method.params().filter(|param| keys.insert(&param.name) || !is_by_name);
        let params = params.map(|param| self.param(param, method, &mut scope)).collect();
        match method.param_structure {
            _ if method.has_unknown_params() => Params::Unknown,
            ParamStructure::ByPosition => Params::ByPosition(params),
            _ => Params::ByName(params),
        }
    }

    fn param(&mut self, param: &ContentDescriptor, method: &MethodEntry, scope: &mut Scope) -> Param {
        let texts = [&param.summary, &param.description];
        let own = texts.into_iter().flatten().cloned().collect::<Vec<_>>().join("\n\n");
        Param {
            name: scope.take(&(self.style.param)(&param.name), self.style.keywords),
            key: param.name.clone(),
            kind: self.types.of(param.schema.as_value(), &inside(&method.name, &param.name)),
            is_required: param.required,
            docs: own,
        }
    }
}

fn docs(method: &MethodEntry) -> Docs {
    let texts = [&method.summary, &method.description];
    let text: Vec<&str> =
        texts.into_iter().flatten().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    let reason = || method.deprecated_reason().unwrap_or_default().to_owned();
    Docs {
        text: text.join("\n\n"),
        errors: method.errors().map(|error| (error.code, error.message.clone())).collect(),
        deprecated: method.deprecated.then(reason),
    }
}
