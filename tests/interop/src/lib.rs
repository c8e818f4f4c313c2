//! Other people's programs against Switchboard, and Switchboard against theirs.
//!
//! The tests start a server of ours for every carrier ([`serve`]) and run a program of somebody else against it
//! ([`run`]), or start a server of somebody else ([`Other`])
//! and call it ([`calls`]). The programs are in `node/` and `python/`, one for
//! each library; each can be read, and run by hand, on its own. Tutorials run against the program that people run
//! ([`Demo`]), clients of the Model Context Protocol against the server of its conformance suite ([`Fixtures`]).

mod calls;
mod checking;
mod demo;
mod fixtures;
mod methods;
mod other;
mod programs;
mod serving;

pub use calls::{batch, calls, notification};
pub use checking::{Checked, check};
pub use demo::Demo;
pub use fixtures::Fixtures;
pub use methods::router;
pub use other::Other;
pub use programs::{Program, run};
pub use serving::{Serving, serve, serve_lsp};
