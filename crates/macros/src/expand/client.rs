//! The typed client of a trait.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{ItemTrait, Type, Visibility};

use crate::expand::mixed;
use crate::model::{Argument, Kind, Method, Success};
use crate::options::Options;

/// The functions that every client has besides its methods.
pub(crate) const CLIENT_FUNCTIONS: [&str; 3] = ["new", "from_peer", "with_timeout"];

/// The client's type and its functions.
pub(crate) fn client(declared: &ItemTrait, methods: &[Method], options: &Options) -> TokenStream {
    let krate = &options.krate;
    let (vis, name) = (&declared.vis, &declared.ident);
    let client = format_ident!("{name}Client");
    let docs = format!("Calls the methods of [`{name}`], wherever they are. Cheap to clone.");
    let functions = methods.iter().map(|method| function(method, vis, options));
    quote_spanned! {mixed()=>
        #[doc = #docs]
        #[allow(dead_code)]
        #[derive(Clone, Debug)]
        #vis struct #client {
            peer: #krate::Peer,
        }

        #[allow(dead_code, unused_qualifications, clippy::all, clippy::pedantic)]
        impl #client {
            /// A client of any service: a router, a layered one, or a peer.
            #[must_use]
            #vis fn new(service: impl #krate::Service) -> Self {
                Self::from_peer(#krate::Peer::local(service))
            }

            /// A client of the far side. Unlike `new` it keeps the peer's timeout.
            #[must_use]
            #vis fn from_peer(peer: #krate::Peer) -> Self {
                Self { peer }
            }

            /// The same client, whose calls wait this long for their answers.
            #[must_use]
            #vis fn with_timeout(self, timeout: ::core::time::Duration) -> Self {
                Self::from_peer(self.peer.with_timeout(timeout))
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
    let (call, result) = match &method.output.success {
        Success::Value(ty) => (quote_spanned!(mixed()=> call::<#ty>), ty.to_token_stream()),
        Success::Stream { item, .. } => {
            (quote_spanned!(mixed()=> open::<#item>), quote_spanned!(mixed()=> #krate::Values<#item>))
        }
    };
    quote_spanned! {mixed()=>
        #(#conditions)*
        #[doc = #docs]
        #deprecated
        #vis async fn #function(&self, #(#inputs),*) -> ::core::result::Result<#result, #krate::CallError> {
            let params = { #params };
            #krate::__private::#call(&self.peer, #name, params, #repeatable).await
        }
    }
}

fn docs(method: &Method) -> String {
    let docs = match method.docs.as_str() {
        "" => format!("Calls `{}`.", method.name),
        docs => docs.to_owned(),
    };
    format!("{docs}\n\n# Errors\n\nWhen the call fails, or gives back something else than expected.")
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
        return TokenStream::new();
    }
    let krate = &options.krate;
    let insert_some = |ty: &Type, Argument { variable, name, .. }: &Argument| quote_spanned!(mixed()=> params.insert_some::<#ty>(#name, &#variable)?;);
    let inserts = method.arguments().map(|argument| {
        let Argument { variable, name, ty, .. } = argument;
        match &argument.kind {
            Kind::Optional(ty) => insert_some(ty, argument),
            Kind::Default(_) => insert_some(ty, argument),
            Kind::Required | Kind::Rest(_) => {
                quote_spanned!(mixed()=> params.insert::<#ty>(#name, &#variable)?;)
            }
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
                    params.push(#krate::__private::encoded::<#element>(value)?);
                }
            },
            _ => quote_spanned!(mixed()=> params.push(#krate::__private::encoded::<#ty>(&#variable)?);),
        }
    });
    quote_spanned! {mixed()=>
        let mut params = ::std::vec::Vec::new();
        #(#pushes)*
        params
    }
}
