//! The type whose methods are served.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Ident, ItemImpl, ItemTrait};

use crate::expand::mixed;

/// How to reach the functions of one impl block, or of one trait.
pub(crate) struct Host {
    /// What follows `impl`.
    pub(crate) parameters: TokenStream,
    /// The type that gets the methods.
    pub(crate) ty: TokenStream,
    /// The `where` clause, if there is one.
    pub(crate) conditions: TokenStream,
    /// The path before `::function`.
    pub(crate) functions: TokenStream,
    /// The receiver, made of the variable that holds the host.
    pub(crate) receiver: fn(&Ident) -> TokenStream,
    /// Whether the type must still be shown to be fit for many threads.
    pub(crate) is_unproven: bool,
}

impl Host {
    pub(crate) fn of_impl(block: &ItemImpl) -> Host {
        let (parameters, _, conditions) = block.generics.split_for_impl();
        Host {
            parameters: parameters.into_token_stream(),
            ty: block.self_ty.to_token_stream(),
            conditions: conditions.into_token_stream(),
            functions: quote_spanned!(mixed()=> Self),
            receiver: |this| quote_spanned!(mixed()=> &#this),
            is_unproven: true,
        }
    }

    pub(crate) fn of_trait(declared: &ItemTrait) -> Host {
        let (name, wrapper) = (&declared.ident, wrapper_name(declared));
        Host {
            parameters: quote_spanned!(mixed()=> <__Implementation: #name>),
            ty: quote_spanned!(mixed()=> #wrapper<__Implementation>),
            conditions: TokenStream::new(),
            functions: quote_spanned!(mixed()=> <__Implementation as #name>),
            receiver: |this| quote_spanned!(mixed()=> &#this.0),
            is_unproven: false,
        }
    }
}

/// The type that serves an implementation of a trait.
pub(crate) fn wrapper(declared: &ItemTrait) -> TokenStream {
    let (vis, wrapper) = (&declared.vis, wrapper_name(declared));
    let docs = format!("Serves an implementation of [`{}`]: give it to a router.", declared.ident);
    quote_spanned! {mixed()=>
        #[doc = #docs]
        #[allow(dead_code)]
        #[derive(
            ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::default::Default
        )]
        #vis struct #wrapper<__Implementation>(#vis __Implementation);
    }
}

fn wrapper_name(declared: &ItemTrait) -> Ident {
    format_ident!("{}Service", declared.ident)
}
