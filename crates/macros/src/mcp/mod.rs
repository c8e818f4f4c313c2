//! What `#[mcp(…)]` says about a method, for clients of the Model Context Protocol (MCP).
//!
//! `attribute` reads it, `check` compares it with the method and with the other methods of the block. The description of the
//! method holds it as the extension [`EXTENSION`].

mod attribute;
mod check;
mod syntax;
mod template;

use syn::{Ident, LitBool, LitStr};

pub(crate) use check::{check_completions, check_method, check_skipped};
pub(crate) use syntax::is_token;
use template::Template;

/// The member of a method's description.
pub(crate) const EXTENSION: &str = "x-mcp";

/// The member of a parameter's schema that names its HTTP header.
pub(crate) const HEADER: &str = "x-mcp-header";

/// What one method says. Values that are not given are left to the server.
#[derive(Default)]
pub(crate) struct Mcp {
    /// The keys as they are written.
    given: Vec<Ident>,
    pub(crate) title: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) icons: Vec<LitStr>,
    pub(crate) open_world: Option<LitBool>,
    pub(crate) destructive: Option<LitBool>,
    pub(crate) scope: Option<LitStr>,
    /// Only ever false.
    pub(crate) tool: Option<LitBool>,
    pub(crate) resource: Option<Resource>,
    pub(crate) mime: Option<LitStr>,
    pub(crate) is_prompt: bool,
    pub(crate) completes: Option<Completes>,
    pub(crate) task: Option<LitStr>,
}

/// The URI of a resource, or the template of its URIs.
pub(crate) struct Resource {
    pub(crate) uri: LitStr,
    template: Template,
}

/// The arguments whose values a method completes.
pub(crate) struct Completes {
    written: LitStr,
    pub(crate) arguments: Vec<Completed>,
}

/// An argument of a prompt or a resource.
pub(crate) struct Completed {
    /// The full name of the method.
    pub(crate) method: String,
    pub(crate) argument: String,
    /// Whether the method is in the same block.
    is_near: bool,
}
