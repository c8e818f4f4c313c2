//! OpenRPC for Switchboard: what an API offers, as a document.

mod document;
mod generate;

pub use document::{
    Components, Contact, ContentDescriptor, Document, ErrorEntry, Example, ExamplePairing, ExternalDocs,
    Info, License, Link, Method, ParamStructure, ParseError, RefError, Referable, Resolver, Schema, Server,
    SubscriptionNames, Tag, Variable,
};
pub use generate::{Generator, SpecVersion};
