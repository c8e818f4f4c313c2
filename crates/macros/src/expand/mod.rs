//! From the [model](crate::model) to code.
//!
//! Local variables are written with [`mixed`] spans, so that they cannot be confused with those of the user.

mod client;
mod declaration;
mod describe;
mod host;
mod server;

use proc_macro2::Span;

pub(crate) use client::{CLIENT_FUNCTIONS, client};
pub(crate) use declaration::declaration;
pub(crate) use host::{Host, wrapper};
pub(crate) use server::server;

/// Generated code that no word of the user stands for.
fn mixed() -> Span {
    Span::mixed_site()
}

/// Generated code for this word of the user: what the compiler says about it is shown there.
fn mixed_at(word: Span) -> Span {
    mixed().located_at(word)
}
