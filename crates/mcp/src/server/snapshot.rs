//! What a server is at one moment. A call sees one snapshot from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Context, Json};

use super::discover::{declare, declare_all};
use super::error::BuildError;
use super::settings::{CacheScope, ToolFilter};
use super::subscribers::Change;
use crate::ask::seal::StateKeys;
use crate::catalog::{Catalog, Handler, Offers, ToolEntry, build};
use crate::model::{Capability, Implementation, Revision, ServerCapabilities, Wire as _};
use crate::object::Object;

/// Explains why a tool is not available to this caller.
pub(crate) type Missing = dyn Fn(&str, &Context) -> Option<String> + Send + Sync;

/// The settings and the tables of a server.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    /// What is declared to clients: what the tables have or had, and what was declared ahead.
    pub(crate) capabilities: Arc<ServerCapabilities>,
    pub(crate) server: Implementation,
    /// The server's description as the newest revision writes it.
    pub(crate) server_json: Json,
    pub(crate) instructions: Option<String>,
    pub(crate) filter: Option<ToolFilter>,
    /// Explains why a tool is missing, if there is a reason to give.
    pub(crate) missing: Option<Arc<Missing>>,
    pub(crate) cache: (Duration, CacheScope),
    pub(crate) page_size: usize,
    pub(crate) call_time: Duration,
    pub(crate) keys: Arc<StateKeys>,
}

impl Default for Snapshot {
    fn default() -> Snapshot {
        let server = Implementation::new("switchboard", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ServerCapabilities::default();
        declare_all(&mut capabilities, &Catalog::default());
        Snapshot {
            capabilities: Arc::new(capabilities),
            catalog: Arc::default(),
            server_json: server.to_json(Revision::V2026_07_28),
            server,
            instructions: None,
            filter: None,
            missing: None,
            cache: (Duration::ZERO, CacheScope::Private),
            page_size: 500,
            call_time: Duration::from_secs(30),
            keys: Arc::new(StateKeys::random()),
        }
    }
}

impl Snapshot {
    pub(super) fn set_server(&mut self, server: Implementation) {
        self.server_json = server.to_json(Revision::V2026_07_28);
        self.server = server;
    }

    /// Replaces the tables.
    pub(super) fn offer(&mut self, offers: &Offers) -> Result<(), BuildError> {
        self.catalog = Arc::new(build(offers)?);
        declare_all(Arc::make_mut(&mut self.capabilities), &self.catalog);
        Ok(())
    }

    /// Declares capabilities ahead.
    pub(super) fn declare(&mut self, capabilities: impl IntoIterator<Item = Capability>) {
        let declared = Arc::make_mut(&mut self.capabilities);
        capabilities.into_iter().for_each(|capability| declare(declared, capability));
    }

    /// Which lists differ from those of an earlier snapshot.
    pub(super) fn changes_since(&self, before: &Snapshot) -> Vec<Change> {
        let (now, before) = (&self.catalog, &before.catalog);
        let newest = Revision::V2026_07_28;
        let mut changes = Vec::new();
        if !now
            .tools
            .iter()
            .map(|entry| entry.written(newest))
            .eq(before.tools.iter().map(|entry| entry.written(newest)))
        {
            changes.push(Change::Tools);
        }
        if !now
            .prompts
            .iter()
            .map(|entry| entry.written(newest))
            .eq(before.prompts.iter().map(|entry| entry.written(newest)))
        {
            changes.push(Change::Prompts);
        }
        let resources = |catalog: &Catalog| -> Vec<Json> {
            let fixed = catalog.resources.iter().map(|entry| entry.written(newest));
            fixed.chain(catalog.templates.iter().map(|entry| entry.written(newest))).collect()
        };
        if resources(now) != resources(before) {
            changes.push(Change::Resources);
        }
        changes
    }

    pub(crate) fn shows_tool(&self, tool: &ToolEntry, cx: &Context) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.shows_tool(tool, cx))
    }

    pub(crate) fn shows(&self, handler: &Handler, cx: &Context) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.shows(handler, cx))
    }

    /// Begins a result of another type, for stateless clients.
    pub(crate) fn begin_result<'a>(&self, kind: &'a str) -> Object<'a> {
        let meta = Object::new().with(crate::model::meta::SERVER_INFO, self.server_json.clone());
        Object::new().with("resultType", kind).with("_meta", meta)
    }

    /// Begins a complete result.
    pub(crate) fn complete<'a>(&self, revision: Revision) -> Object<'a> {
        Object::complete(revision, &self.server_json)
    }

    /// Begins a complete result that stateless clients may cache (MCP-K-01).
    pub(crate) fn cacheable<'a>(&self, revision: Revision) -> Object<'a> {
        let result = self.complete(revision);
        if !revision.is_stateless() {
            return result;
        }
        let (time, scope) = self.cache;
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        result.with("ttlMs", time).with("cacheScope", scope.as_str())
    }
}
