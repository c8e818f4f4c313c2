//! Typed clients made from a document (OR-50): one file that can be read, for TypeScript, Python or Rust.
//!
//! The document is read once into an [`Api`](api::Api), which each language writes in its own way. The same document gives the same
//! text. Nothing in a document can leave the place it stands in: names become identifiers, texts are cleaned and escaped.

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

/// A language that clients are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// TypeScript, without dependencies: calls over HTTP with `fetch`, and over WebSocket.
    TypeScript,
    /// Python from 3.10 on, with its standard library alone: calls over HTTP.
    Python,
    /// Rust, over a [`Peer`](switchboard_core::Peer) of any carrier. The program needs the crates `switchboard` and `serde`.
    Rust,
}

/// A client for what a document describes, as the text of one source file.
///
/// # Errors
///
/// When a reference to a method, a parameter, a result or an error leads nowhere, or when the client would be too large. References inside
/// of schemas that lead nowhere stand for any value.
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
