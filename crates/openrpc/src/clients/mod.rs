//! Typed clients generated from a document (OR-50): one readable file, for TypeScript, Python or Rust.
//!
//! The document is read once into an [`Api`](api::Api), which is then written in each language. The same document gives the same
//! text. Nothing in a document can escape from its place: names become identifiers, texts are cleaned and escaped.

mod api;
mod circles;
mod keywords;
mod names;
mod python;
mod rust;
mod text;
mod types;
mod typescript;

use crate::document::{Document, RefError};

/// A language to generate clients in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// TypeScript, without dependencies: calls over HTTP with `fetch`, and over WebSocket.
    TypeScript,
    /// Python 3.10 or later, with its standard library only: calls over HTTP.
    Python,
    /// Rust, with a [`Peer`](switchboard_core::Peer) over any transport. The program needs the crates `switchboard` and `serde`.
    Rust,
}

/// Generates a client for a document, as the text of one source file.
///
/// # Errors
///
/// When a reference to a method, a parameter, a result or an error cannot be resolved, or when the client would be too large. References inside
/// schemas that cannot be resolved accept any value.
///
/// # Examples
///
/// ```
/// use switchboard_openrpc::{Document, Language, client};
///
/// let document = Document::parse(r#"{"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [
///     {"name": "math/add", "params": [], "result": {"name": "sum", "schema": {"type": "number"}}}
/// ]}"#)?;
/// assert!(client(&document, Language::TypeScript)?.contains("add(options?: CallOptions): Promise<number>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client(document: &Document, language: Language) -> Result<String, RefError> {
    Ok(match language {
        Language::TypeScript => typescript::write(&api::Api::new(document, &typescript::STYLE)?),
        Language::Python => python::write(&api::Api::new(document, &python::STYLE)?),
        Language::Rust => rust::write(&api::Api::new(document, &rust::STYLE)?),
    })
}
