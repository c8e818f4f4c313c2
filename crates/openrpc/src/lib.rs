//! OpenRPC for Switchboard: what an API offers, as a document.

mod clients;
mod diff;
mod discover;
mod document;
mod generate;
#[cfg(feature = "validate")]
mod validate;

pub use clients::{Language, client};
pub use diff::{Change, Severity, diff};
pub use discover::{DISCOVER, Discovery};
pub use document::{
    Components, Contact, ContentDescriptor, Document, ErrorEntry, Example, ExamplePairing, ExternalDocs,
    Info, License, Link, Method, ParamStructure, ParseError, RefError, Referable, Resolver, Schema, Server,
    SpecVersion, SubscriptionNames, Tag, UnknownVersion, Variable,
};
pub use generate::Generator;
#[cfg(feature = "validate")]
pub use validate::{Misfit, Validation, ValidationError};
