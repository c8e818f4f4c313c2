//! Adapters between JSON-RPC and MCP, without a line of code for the methods.
//!
//! - [`Remote`] makes a JSON-RPC server that describes itself a service for a [`Server`](crate::Server): its methods become tools.
//! - [`Updates`] turns its notifications into changes of lists and resources.
//! - [`Methods`] makes the tools, resources and prompts of an MCP server methods of JSON-RPC; [`Sessions`] gives each client its own
//!   session of the server.

mod approval;
mod listed;
mod methods;
mod relay;
mod remote;
mod result;
mod rules;
mod sessions;
mod told;
mod tool;
mod updates;

pub use switchboard_openrpc::remote::RemoteError;

pub use self::approval::{Approval, ToolDefinition};
pub use self::methods::Methods;
pub use self::remote::Remote;
pub use self::result::PlainResults;
pub(crate) use self::result::is_error;
pub(crate) use self::sessions::Own;
pub use self::sessions::Sessions;
pub use self::updates::{UnknownUpdate, Update, Updates};
