//! The descriptions of the methods.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::expand::server::default_value;
use crate::expand::{mcp, mixed, private_at};
use crate::mcp::{EXTENSION, HEADER};
use crate::model::{Argument, Example, Extension, Kind, Method, Output};
use crate::options::Options;

/// An expression that makes the `MethodDescription`, with `schemas` in scope.
pub(crate) fn description(method: &Method, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let docs = &method.docs;
    let params = method.arguments().map(|argument| param(argument, options));
    let result = result(method, options);
    let errors = returned("errors", &method.output.returned().ty, options);
    let failure = match &method.output {
        Output::Stream { failure, .. } => failure.as_ref(),
        Output::Value(_) => None,
    };
    let failure =
        failure.map(|error| quote_spanned!(mixed()=> .errors(#krate::__private::errors::<#error>())));
    let unknown = method.allows_unknown_params.then(|| quote_spanned!(mixed()=> .allow_unknown_params()));
    let safe = method.safe.then(|| quote_spanned!(mixed()=> .safe()));
    let idempotent = method.idempotent.then(|| quote_spanned!(mixed()=> .idempotent()));
    let durable = method.durable.then(|| quote_spanned!(mixed()=> .durable()));
    let tags = &method.tags;
    let deprecated = method.deprecated.iter();
    let extensions = method.extensions.iter().map(|Extension { name, value }| {
        quote_spanned!(mixed()=> .extension(#name, #krate::__private::json!(#value)))
    });
    let mcp = method.mcp.as_ref().map(|mcp| {
        let value = mcp::value(mcp);
        quote_spanned!(mixed()=> .extension(#EXTENSION, #krate::__private::json!(#value)))
    });
    let examples = method.examples.iter().map(|example| self::example(example, options));
    quote_spanned! {mixed()=>
        let errors = #errors;
        #krate::MethodDescription::documented(#docs)
            #(.param(#params))*
            .no_more_params()
            #unknown
            .result(#result)
            #failure
            .errors(errors())
            #safe
            #idempotent
            #durable
            #(.tag(#tags))*
            #(.deprecated(#deprecated))*
            #(#examples)*
            #(#extensions)*
            #mcp
    }
}

fn param(argument: &Argument, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let Argument { name, docs, ty, .. } = argument;
    let schema = |ty: &Type| {
        let ty = argument.schema.as_ref().unwrap_or(ty);
        let private = private_at(ty.span(), options);
        let schema = quote_spanned!(ty.span()=> #private::Argument::<#ty>::schema);
        quote_spanned!(mixed()=> #schema(schemas))
    };
    let documented = (!docs.is_empty()).then(|| quote_spanned!(mixed()=> .documented(#docs)));
    let described = match &argument.kind {
        Kind::Plain => {
            let schema = schema(ty);
            quote_spanned!(mixed()=> #krate::__private::Argument::<#ty>::describe(#name, #schema))
        }
        Kind::Default(default) => {
            let (schema, default) = (schema(ty), default_value(default));
            quote_spanned! {mixed()=>
                #krate::__private::with_default::<#ty>(
                    #krate::ParamDescription::optional(#name, #schema),
                    #default,
                )
            }
        }
        Kind::Rest(element) => {
            let schema = schema(element);
            quote_spanned!(mixed()=> #krate::ParamDescription::variadic(#name, #schema))
        }
    };
    let header =
        argument.header.as_ref().map(|header| quote_spanned!(mixed()=> .extension(#HEADER, #header)));
    quote_spanned!(mixed()=> #described #documented #header)
}

fn example(example: &Example, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let Example { name, params, result } = example;
    let result = match result {
        Some(value) => {
            quote_spanned!(mixed()=> ::core::option::Option::Some(#krate::__private::json!(#value)))
        }
        None => quote_spanned!(mixed()=> ::core::option::Option::None),
    };
    quote_spanned!(mixed()=> .example(#name, #krate::__private::json!(#params), #result))
}

fn result(method: &Method, options: &Options) -> TokenStream {
    let krate = &options.krate;
    if method.is_notification {
        return quote_spanned!(mixed()=> #krate::ResultDescription::Nothing);
    }
    let ty = method.result_schema.as_ref().unwrap_or(&method.output.returned().ty);
    let schema = returned("schema", ty, options);
    let schema = quote_spanned!(mixed()=> #schema(schemas));
    match &method.output {
        Output::Value(_) => quote_spanned!(mixed()=> #krate::ResultDescription::Value(#schema)),
        Output::Stream { .. } => quote_spanned!(mixed()=> #krate::ResultDescription::Stream(#schema)),
    }
}

/// A function that knows a type which a method returns.
fn returned(function: &str, ty: &Type, options: &Options) -> TokenStream {
    let (private, function) = (private_at(ty.span(), options), Ident::new(function, ty.span()));
    quote_spanned!(ty.span()=> #private::Returned::<#ty>::#function)
}
