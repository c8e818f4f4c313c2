//! From the [model](crate::model) to code.
//!
//! Local variables are written with [`mixed`] spans, so that they cannot be confused with those of the user.

mod client;
mod declaration;
mod describe;
mod host;
mod mcp;
mod server;

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;

use crate::options::Options;

pub(crate) use client::{CLIENT_FUNCTIONS, client};
pub(crate) use declaration::declaration;
pub(crate) use host::{Host, wrapper};
pub(crate) use server::server;

/// The path of `__private` as if it were written at this place: what the compiler says about a type there is shown at the
/// type.
fn private_at(place: Span, options: &Options) -> TokenStream {
    let krate = &options.krate;
    moved(quote!(#krate::__private), place)
}

fn moved(tokens: TokenStream, to: Span) -> TokenStream {
    let moved = tokens.into_iter().map(|token| {
        let mut token = match token {
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), moved(group.stream(), to)))
            }
            other => other,
        };
        token.set_span(to);
        token
    });
    moved.collect()
}

/// Generated code that no word of the user stands for.
fn mixed() -> Span {
    Span::mixed_site()
}

/// Generated code for this word of the user: what the compiler says about it is shown there.
fn mixed_at(word: Span) -> Span {
    mixed().located_at(word)
}
