//! OpenRPC for Switchboard: the description of an API as a document.
//!
//! Applications use it as `switchboard::openrpc`, with the feature `openrpc`.
//!
//! - [`Generator`] generates a [`Document`] from a router, and [`Discovery`] serves it as `rpc.discover`.
//! - [`client`] generates a typed client from a document, in Rust, TypeScript or Python.
//! - [`diff()`] lists the changes between two documents that break callers.
//! - With the feature `validate`, a layer validates params and results against their schemas.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod clients;
mod diff;
mod discover;
mod document;
mod generate;
pub mod remote;
#[cfg(feature = "validate")]
mod validate;

pub use clients::{Language, client};
pub use diff::{Change, Severity, diff};
pub use discover::{DISCOVER, Discovery, DiscoveryHandle};
pub use document::{
    Components, Contact, ContentDescriptor, Document, ErrorEntry, Example, ExamplePairing, ExternalDocs,
    Info, License, Link, MethodEntry, ParamStructure, ParseError, RefError, Referable, Resolver, Schema,
    ServerEntry, SpecVersion, SubscriptionNames, Tag, UnknownVersion, Variable,
};
pub use generate::Generator;
#[cfg(feature = "validate")]
pub use validate::{Misfit, Validation, ValidationError};
