//! Settings of a server.

use std::sync::Arc;

use switchboard_core::Context;

use crate::catalog::{Handler, ToolEntry};
use crate::model::Tool;

/// Who may share a cached answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheScope {
    /// Only the user it was made for.
    #[default]
    Private,
    /// Everyone.
    Public,
}

impl CacheScope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CacheScope::Private => "private",
            CacheScope::Public => "public",
        }
    }
}

/// Decides what a client sees.
#[derive(Clone)]
pub(crate) struct ToolFilter(Kind);

#[derive(Clone)]
enum Kind {
    Tool(Arc<ByTool>),
    Method(Arc<ByMethod>),
}

type ByTool = dyn Fn(&Tool, &Context) -> bool + Send + Sync;
type ByMethod = dyn Fn(&str, &Context) -> bool + Send + Sync;

impl ToolFilter {
    pub(super) fn by_tool(filter: impl Fn(&Tool, &Context) -> bool + Send + Sync + 'static) -> ToolFilter {
        ToolFilter(Kind::Tool(Arc::new(filter)))
    }

    pub(super) fn by_method(filter: impl Fn(&str, &Context) -> bool + Send + Sync + 'static) -> ToolFilter {
        ToolFilter(Kind::Method(Arc::new(filter)))
    }

    pub(crate) fn shows_tool(&self, tool: &ToolEntry, cx: &Context) -> bool {
        match &self.0 {
            Kind::Tool(filter) => filter(&tool.tool, cx),
            Kind::Method(filter) => filter(tool.handler.method.as_str(), cx),
        }
    }

    pub(crate) fn shows(&self, handler: &Handler, cx: &Context) -> bool {
        match &self.0 {
            Kind::Tool(_) => true,
            Kind::Method(filter) => filter(handler.method.as_str(), cx),
        }
    }
}

impl std::fmt::Debug for ToolFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ToolFilter(..)")
    }
}
