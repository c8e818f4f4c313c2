//! The Model Context Protocol (MCP) for Switchboard: the methods of a service become tools, resources and prompts, for clients of
//! every revision.
//!
//! - [`Server`] offers the methods of a service. To the rest of Switchboard it is a service like any other: `tools/call` becomes an
//!   ordinary call, so every layer sees the method and not the tool.
//! - [`McpRoute`] serves it over HTTP, at one path for all revisions.
//! - [`Caller`] is the client of a call: methods ask it questions, report progress to it, and log to it.
//! - [`adapt`] makes tools of the methods of other servers, and methods of the tools of other servers.
//! - [`Client`] calls servers of every revision, and answers their questions.
//! - [`auth`] gets the tokens that servers need; [`Protected`] makes a server need them.
//! - [`model`] has the wire types.

pub mod adapt;
mod ask;
pub mod auth;
mod catalog;
mod client;
mod http;
pub mod model;
mod object;
mod server;
mod spoken;
mod table;

pub use ask::seal::{StateKeyError, StateKeys};
pub use ask::{Amount, Answer, Ask, AskError, Caller, Feature, FromAnswer};
pub use client::{
    Change, Client, ClientBuilder, Connector, Credentials, CredentialsFuture, Pages, Progress, PromptResult,
    Refusal, Request, ToolError, Unsent, Watch,
};
pub use http::{
    Guard, HttpOptions, McpRoute, MessagesRoute, MetadataRoute, Protected, ProtectedError, SseRoute,
};
pub use server::{BuildError, CacheScope, ServeError, Server};
