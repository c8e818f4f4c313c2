//! The wire types of every revision, in one place.

mod revision;

pub use revision::{Revision, UnknownRevision};
