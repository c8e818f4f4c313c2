//! Logs in to MCP servers that need tokens: OAuth 2.1 as MCP uses it.
//!
//! A [`Login`] is the credentials of a client. It does nothing before a server refuses a request. Then it follows the metadata of the
//! server to its authorization server, gets a token there, for this server alone, and renews it when it expires:
//!
//! | how | for |
//! |---|---|
//! | [`Login::user`] with a [`Browser`] | programs with a user at this machine |
//! | [`Login::client_credentials`] | programs without a user |
//! | [`Login::workload`] | programs that a platform gives tokens to (workload identity) |
//! | [`Login::enterprise`] | users who have logged in at their company's identity provider |
//!
//! What a server names is not trusted: URLs must be `https`, and lead to public addresses, unless the user named that server; documents
//! are small and fast, or not used; issuers and resources must be the ones that were asked about.

mod attempt;
mod browser;
mod challenge;
mod client;
mod discovery;
mod dpop;
mod error;
mod guard;
mod issuer;
mod jws;
mod login;
mod metadata;
mod pkce;
mod registration;
mod session;
mod store;
mod token;
mod user;
mod web;

pub use self::browser::Browser;
pub use self::client::RegisteredClient;
pub use self::error::{AuthError, Fault};
pub use self::login::{IdentityProvider, Login, TokenSource};
pub use self::store::{Change, LoggedIn, MemoryTokens, TokenFile, TokenStore};
pub use self::user::{UserAgent, UserFuture, Visit};
pub use switchboard_layers::identity::jwt::SigningKey;
