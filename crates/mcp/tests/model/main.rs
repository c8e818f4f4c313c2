//! The wire types against the published schemas: recorded messages, and arbitrary values of every type.

#![allow(clippy::unwrap_used)]

mod content;
mod errors;
mod lists;
mod questions;
mod schemas;
mod transcripts;
mod values;
