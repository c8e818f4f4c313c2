//! What the methods look like from outside.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use crate::expand::mixed;
use crate::expand::server::default_value;
use crate::model::{Argument, Example, Kind, Method, Success};
use crate::options::Options;

/// An expression that makes the `MethodDescription`, with `schemas` in scope.
pub(crate) fn description(method: &Method, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let docs = &method.docs;
    let params = method.arguments().map(|argument| param(argument, options));
    let result = result(method, options);
    let item_failure = match &method.output.success {
        Success::Stream { failure, .. } => failure.as_deref(),
        Success::Value(_) => None,
    };
    let failures = method.output.failure.iter().chain(item_failure);
    let safe = method.safe.then(|| quote_spanned!(mixed()=> .safe()));
    let idempotent = method.idempotent.then(|| quote_spanned!(mixed()=> .idempotent()));
    let tags = &method.tags;
    let deprecated = method.deprecated.iter();
    let examples = method.examples.iter().map(|example| self::example(example, options));
    quote_spanned! {mixed()=>
        #krate::MethodDescription::documented(#docs)
            #(.param(#params))*
            .no_more_params()
            .result(#result)
            #(.errors(#krate::__private::declared::<#failures>()))*
            #safe
            #idempotent
            #(.tag(#tags))*
            #(.deprecated(#deprecated))*
            #(#examples)*
    }
}

fn param(argument: &Argument, options: &Options) -> TokenStream {
    let krate = &options.krate;
    let Argument { name, docs, ty, .. } = argument;
    let schema = |ty| quote_spanned!(mixed()=> #krate::__private::schema::<#ty>(schemas));
    let documented = (!docs.is_empty()).then(|| quote_spanned!(mixed()=> .documented(#docs)));
    let described = match &argument.kind {
        Kind::Required => {
            let schema = schema(ty);
            quote_spanned!(mixed()=> #krate::ParamDescription::required(#name, #schema))
        }
        Kind::Optional(_) => {
            let schema = schema(ty);
            quote_spanned!(mixed()=> #krate::ParamDescription::optional(#name, #schema))
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
    quote_spanned!(mixed()=> #described #documented)
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
    match &method.output.success {
        Success::Value(_) if method.is_notification => {
            quote_spanned!(mixed()=> #krate::ResultDescription::Nothing)
        }
        Success::Value(ty) => quote_spanned! {mixed()=>
            #krate::ResultDescription::Value(#krate::__private::schema::<#ty>(schemas))
        },
        Success::Stream { item, .. } => quote_spanned! {mixed()=>
            #krate::ResultDescription::Stream(#krate::__private::schema::<#item>(schemas))
        },
    }
}
