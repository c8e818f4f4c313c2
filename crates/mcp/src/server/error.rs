//! Why methods cannot be offered.

/// Why methods cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two tools, prompts or resources have the same name or URI.
    #[error(
        "{0:?} is offered twice; rename one with #[mcp(name = \"…\")], or keep it out with #[mcp(tool = false)]"
    )]
    Duplicate(String),
    /// The method cannot be called.
    #[error("{0}")]
    Method(String),
    /// The URI of a resource is not a template that can be matched.
    #[error("{0}")]
    Template(String),
    /// An argument of this tool travels in a header, and must not. Clients would not list the tool.
    #[error("the input schema of the tool {0:?} is not valid: {1}")]
    Header(String, String),
    /// A schema cannot be written.
    #[error("a schema cannot be written: {0}")]
    Schema(String),
}
