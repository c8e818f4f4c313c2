//! The wire types of every revision, in one place.
//!
//! Types hold the members of all revisions. They are written with [`At`], which names the revision, and read from any of them.

mod capabilities;
pub mod error;
mod implementation;
mod log;
pub mod meta;
pub mod methods;
mod revision;
mod wire;

pub use capabilities::{
    Capability, ClientCapabilities, ElicitationCapability, ListCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, Settings, TASKS_EXTENSION, TasksCapability,
};
pub use implementation::{Icon, Implementation, Theme};
pub use log::{LogLevel, UnknownLogLevel};
pub use meta::RequestMeta;
pub use revision::{Revision, UnknownRevision};
pub use wire::{At, Member, Wire};
