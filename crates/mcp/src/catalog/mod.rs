//! What a server offers: its tools, resources and prompts, in tables that are replaced as a whole when something changes.

mod build;
mod entry;
mod header;
mod page;
mod prompt;
mod relayed;
mod resource;
mod schema;
mod template;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use self::build::{Offers, build, public_name};
pub(crate) use self::entry::{Entry, Handler};
pub(crate) use self::header::{HeaderParam, header_params};
pub(crate) use self::page::Page;
pub(crate) use self::prompt::PromptEntry;
pub(crate) use self::relayed::{RELAYED_PROMPTS, RELAYED_RESOURCES, RELAYED_TEMPLATES, RELAYED_TOOL};
pub(crate) use self::resource::{ResourceEntry, Source, TemplateEntry};
pub(crate) use self::tool::{Output, TaskMode, ToolEntry};
use crate::model::methods;

/// The tables.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Table<ToolEntry>,
    pub(crate) resources: Table<ResourceEntry>,
    pub(crate) templates: Table<TemplateEntry>,
    pub(crate) prompts: Table<PromptEntry>,
    /// The method that completes an argument, by prompt name or resource URI, and the name of the argument.
    pub(crate) completions: HashMap<(String, String), Handler>,
    /// The methods that read resources of other servers, also such as they do not list.
    pub(crate) readers: Vec<Handler>,
    /// The methods that complete arguments at other servers.
    pub(crate) completers: Vec<Handler>,
    /// What a lenient server does not offer, because its name or URI is taken.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A method that is not offered because of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The name or URI that both have.
    pub(crate) key: String,
    pub(crate) method: String,
    /// The method that is offered under the name; empty if there is none.
    pub(crate) instead: String,
}

impl Catalog {
    /// The method that completes arguments at the server that this handler asks. `own` is what that server calls the handler's method.
    pub(crate) fn completer(&self, asked: &Handler, own: &str) -> Option<&Handler> {
        let prefix = asked.method.as_str().strip_suffix(own)?;
        self.completers.iter().find(|completer| {
            completer.method.as_str().strip_suffix(methods::COMPLETE) == Some(prefix)
                && Arc::ptr_eq(&completer.service, &asked.service)
        })
    }

    /// The names of the tools, and the methods behind them.
    pub(crate) fn names_of_tools(&self) -> Vec<(String, String)> {
        let method = |tool: &ToolEntry| tool.handler.method.as_str().to_owned();
        self.tools.iter().map(|tool| (tool.key.clone(), method(&tool.value))).collect()
    }

    /// Notes that a method is not offered, because its key is taken.
    fn leave_out(&mut self, key: &str, method: &str) {
        let tool = self.tools.get(key).map(|entry| &entry.value.handler);
        let handler = tool.or_else(|| self.prompts.get(key).map(|entry| &entry.value.handler));
        let handler = handler.or_else(|| match &self.resources.get(key)?.value.source {
            Source::Relayed(handler) | Source::Method(handler) => Some(handler),
            Source::Fixed(_) => None,
        });
        let instead = handler.map_or_else(String::new, |handler| handler.method.to_string());
        self.left_out.push(LeftOut { key: key.to_owned(), method: method.to_owned(), instead });
    }

    /// Whether there is an entry with this key, and nothing else.
    fn offers_only(&self, key: &str) -> bool {
        let named = self.tools.by_key.keys().chain(self.prompts.by_key.keys());
        let mut keys = named.chain(self.resources.by_key.keys()).chain(self.templates.by_key.keys());
        keys.next().is_some_and(|only| only == key) && keys.next().is_none()
    }
}

/// Entries in a fixed order, found by their keys.
pub(crate) struct Table<T> {
    entries: Vec<Arc<Entry<T>>>,
    by_key: HashMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { entries: Vec::new(), by_key: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// Adds an entry. False if there is one with this key.
    fn add(&mut self, entry: Entry<T>) -> bool {
        if self.by_key.contains_key(&entry.key) {
            return false;
        }
        self.by_key.insert(entry.key.clone(), self.entries.len());
        self.entries.push(Arc::new(entry));
        true
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Entry<T>>> {
        self.by_key.get(key).map(|index| &self.entries[*index])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Entry<T>>> {
        self.entries.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in the order of their keys: the order of lists must not depend on anything else (MCP-T-09).
    fn sort(&mut self) {
        self.entries.sort_by(|a, b| a.key.cmp(&b.key));
        let keys = self.entries.iter().enumerate().map(|(index, entry)| (entry.key.clone(), index));
        self.by_key = keys.collect();
    }
}
