//! The tools of a stateless server over HTTP whose arguments travel in headers too (MCP-N-11, MCP-N-12).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use switchboard_core::Json;

use crate::catalog::{HeaderParam, header_params};

/// What is known about the tools that have been listed.
#[derive(Debug, Default)]
pub(super) struct Tools(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The arguments that travel in headers, or why a tool must not be used.
    tools: HashMap<String, Result<Arc<[HeaderParam]>, String>>,
    is_whole: bool,
}

/// How many tools are remembered.
const MOST: usize = 10_000;

impl Tools {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tool has been listed. An error if it must not be used.
    pub(super) fn add(&self, name: &str, schema: &Json) -> Result<(), String> {
        let params = schema.decode::<Value>().map_err(|error| error.to_string());
        let params = params.and_then(|schema| header_params(&schema)).map(Arc::from);
        let allowed = params.as_ref().map(drop).map_err(Clone::clone);
        let mut known = self.known();
        if known.tools.len() < MOST || known.tools.contains_key(name) {
            known.tools.insert(name.to_owned(), params);
        }
        allowed
    }

    /// All tools have been listed.
    pub(super) fn complete(&self) {
        self.known().is_whole = true;
    }

    /// The arguments of this tool that travel in headers, or why it must not be used. None if the tools have to be listed first.
    pub(super) fn find(&self, name: &str) -> Option<Result<Arc<[HeaderParam]>, String>> {
        let known = self.known();
        let unknown = || known.is_whole.then(|| Ok(Arc::from([])));
        known.tools.get(name).cloned().or_else(unknown)
    }

    /// The tools have changed, or may have.
    pub(super) fn clear(&self) {
        *self.known() = Known::default();
    }
}
