//! The typed client of a trait.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, ItemTrait, Visibility};

use crate::expand::{mixed, private_at};
use crate::model::{Argument, Kind, Method, Output, Returned};
use crate::options::Options;

/// The functions that every client has besides its methods.
pub(crate) const CLIENT_FUNCTIONS: [&str; 3] = ["new", "with_timeout", "batch"];

/// The client's type and its functions.
pub(crate) fn client(declared: &ItemTrait, methods: &[Method], options: &Options) -> TokenStream {
    let krate = &options.krate;
    let (vis, name) = (&declared.vis, &declared.ident);
    let client = format_ident!("{name}Client");
    let docs = format!("Calls the methods of [`{name}`]. Cheap to clone.");
    let functions = methods.iter().map(|method| function(method, vis, options));
    quote_spanned! {mixed()=>
        #[doc = #docs]
        #[allow(dead_code)]
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #vis struct #client {
            peer: #krate::Peer,
        }

        #[allow(dead_code, unused_qualifications, clippy::all, clippy::pedantic)]
        impl #client {
            /// A client that calls over this peer, with the peer's timeout; or one that calls a router directly.
            #[must_use]
            #vis fn new(peer: impl ::core::convert::Into<#krate::Peer>) -> Self {
                Self { peer: ::core::convert::Into::into(peer) }
            }

            /// The same client with this timeout for its calls.
            #[must_use]
            #vis fn with_timeout(self, timeout: ::core::time::Duration) -> Self {
                Self { peer: self.peer.with_timeout(timeout) }
            }

            /// Begins a batch, for requests of this client: `let sum = batch.add(client.add(1, 2));`.
            #vis fn batch(&self) -> #krate::BatchBuilder {
                self.peer.batch()
            }

            #(#functions)*
        }
    }
}

fn function(method: &Method, vis: &Visibility, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let Method { function, name, conditions, .. } = method;
    let inputs = method.arguments().map(|argument| {
        let (variable, ty) = (&argument.variable, sent_type(argument));
        quote!(#variable: #ty)
    });
    // What changes nothing, or nothing more the second time, may be sent again when a connection breaks.
    let repeatable = method.safe || method.idempotent;
    let docs = docs(method);
    let deprecated = method.deprecated.as_ref().map(|note| quote!(#[deprecated(note = #note)]));
    let params = if method.is_variadic() { by_position(method, options) } else { by_name(method, options) };
    let Returned { ty, success, is_result } = method.output.returned();
    let (request, make) = match &method.output {
        Output::Value(_) => ("Request", "request"),
        Output::Stream { .. } => ("StreamRequest", "stream_request"),
    };
    let (request, make) = (Ident::new(request, mixed()), Ident::new(make, ty.span()));
    let private = private_at(ty.span(), options);
    let make = match is_result {
        true => quote_spanned!(ty.span()=> #private::#make::<#success>),
        // The compiler knows whether it is a `Result` by another name.
        false => quote_spanned!(ty.span()=> #private::Returned::<#ty>::#make),
    };
    quote_spanned! {mixed()=>
        #(#conditions)*
        #[doc = #docs]
        #deprecated
        #vis fn #function(&self, #(#inputs),*) -> #krate::#request<#success> {
            #[allow(unused_imports)]
            use #krate::__private::{PlainArgument as _, PlainReturned as _};
            let params = { #params };
            let request = #make;
            request(&self.peer, #name, params, #repeatable)
        }
    }
}

fn docs(method: &Method) -> String {
    match method.docs.as_str() {
        "" => format!("Calls `{}`.", method.name),
        docs => docs.to_owned(),
    }
}

/// The type that the client takes: what has a default may be left out.
fn sent_type(argument: &Argument) -> TokenStream {
    let ty = &argument.ty;
    match &argument.kind {
        Kind::Default(_) => quote_spanned!(mixed()=> ::core::option::Option<#ty>),
        _ => ty.to_token_stream(),
    }
}

/// An object of the arguments, without those that are left out.
fn by_name(method: &Method, options: &Options) -> TokenStream {
    if method.arguments().next().is_none() {
        return quote!(());
    }
    let krate = &options.krate;
    let inserts = method.arguments().map(|argument| {
        let Argument { variable, name, ty, .. } = argument;
        match &argument.kind {
            Kind::Plain => {
                let private = private_at(ty.span(), options);
                let insert = quote_spanned!(ty.span()=> #private::Argument::<#ty>::insert);
                quote_spanned! {mixed()=>
                    let insert = #insert;
                    insert(&mut params, #name, &#variable);
                }
            }
            Kind::Default(_) => quote_spanned!(mixed()=> params.insert_some::<#ty>(#name, &#variable);),
            Kind::Rest(_) => quote_spanned!(mixed()=> params.insert::<#ty>(#name, &#variable);),
        }
    });
    quote_spanned! {mixed()=>
        let mut params = #krate::__private::Named::default();
        #(#inserts)*
        params
    }
}

/// An array of the arguments, with null in the place of those that are left out.
fn by_position(method: &Method, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let pushes = method.arguments().map(|argument| {
        let (variable, ty) = (&argument.variable, sent_type(argument));
        match &argument.kind {
            Kind::Rest(element) => quote_spanned! {mixed()=>
                for value in &#variable {
                    params.push::<#element>(value);
                }
            },
            _ => quote_spanned!(mixed()=> params.push::<#ty>(&#variable);),
        }
    });
    quote_spanned! {mixed()=>
        let mut params = #krate::__private::Positional::default();
        #(#pushes)*
        params
    }
}
