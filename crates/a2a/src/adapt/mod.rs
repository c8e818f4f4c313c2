//! Adapters between JSON-RPC and A2A, without a line of code for the methods.
//!
//! - [`Skills`] makes the methods of a service the skills of an agent.
//! - [`Methods`] makes the skills of a remote agent methods of JSON-RPC, and so tools of an MCP server or methods behind a gateway.

mod instruction;
mod methods;
mod outcome;
mod skills;

pub use self::methods::Methods;
pub use self::skills::Skills;
