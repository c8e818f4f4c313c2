//! The methods as services: parameters are read, the function is called, its result is the reply.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::describe::description;
use crate::expand::{Host, mixed, mixed_at, private_at};
use crate::model::{Argument, Borrowed, DefaultValue, Input, Kind, Method, Output};
use crate::options::Options;

/// Implements `SharedMethods` and `Methods` for the host.
pub(crate) fn server(host: &Host, methods: &[Method], options: &Options) -> TokenStream {
    let krate = &options.krate;
    let Host { parameters, ty, conditions, .. } = host;
    let this = Ident::new("this", mixed());
    let methods = methods.iter().map(|method| registration(method, host, &this, options));
    let this_is_fit = host
        .is_unproven
        .then(|| quote_spanned!(mixed()=> let this = #krate::__private::shareable::<#ty>(this);));
    let only_block = host.is_unproven.then(|| only_block(host));
    quote_spanned! {mixed()=>
        #only_block

        #[automatically_derived]
        #[allow(deprecated, unused_qualifications, clippy::all, clippy::pedantic)]
        impl #parameters #krate::SharedMethods for #ty #conditions {
            fn shared_methods(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<#krate::Method> {
                #[allow(unused_imports)]
                use #krate::__private::{PlainArgument as _, PlainReturned as _};
                let this = self;
                #this_is_fit
                ::std::vec::Vec::from([#(#methods),*])
            }
        }

        #[automatically_derived]
        impl #parameters #krate::Methods for #ty #conditions {
            fn methods(self) -> ::std::vec::Vec<#krate::Method> {
                #krate::SharedMethods::shared_methods(::std::sync::Arc::new(self))
            }
        }
    }
}

/// A name that a second block would define again. The compiler's error about that names it, so it says what to do.
fn only_block(Host { parameters, ty, conditions, .. }: &Host) -> TokenStream {
    quote_spanned! {mixed()=>
        #[allow(dead_code, non_upper_case_globals)]
        impl #parameters #ty #conditions {
            #[doc(hidden)]
            const a_type_has_one_service_block_so_move_the_functions_of_both_into_one: () = ();
        }
    }
}

fn registration(method: &Method, host: &Host, this: &Ident, options: &Options) -> TokenStream {
    let site = mixed_at(method.function.span());
    let krate = &options.krate;
    let Method { name, conditions, .. } = method;
    let answer = answer(method, host, this, options);
    let description = description(method, options);
    let subscription = method.subscription.iter().map(|(item, unsubscribe)| {
        quote_spanned!(site=> .subscription(#krate::Subscription::named(#item, #unsubscribe)))
    });
    quote_spanned! {site=>
        #(#conditions)*
        #krate::Method::new(#name, {
            let #this = ::std::sync::Arc::clone(&#this);
            #krate::service_fn(move |call| { #answer })
        })
        .described(|schemas| { #description })
        #(#subscription)*
    }
}

/// The body of the service: reads the parameters, then answers at once or gives a future.
fn answer(method: &Method, host: &Host, this: &Ident, options: &Options) -> TokenStream {
    let site = mixed_at(method.function.span());
    let krate = &options.krate;
    let reading = reading(method, options);
    let variables: Vec<_> = method.arguments().map(|argument| &argument.variable).collect();
    let Host { functions, receiver, .. } = host;
    let (function, receiver) = (&method.function, receiver(this));
    let inputs = method.inputs.iter().enumerate().map(|(position, input)| match input {
        Input::Borrowed(_) => borrowed_variable(position).into_token_stream(),
        Input::Argument(argument) => argument.variable.to_token_stream(),
    });
    let called = quote_spanned!(site=> #functions::#function(#receiver, #(#inputs),*));
    let borrows = method.borrowed().map(|(position, borrowed)| borrow(borrowed, position, options));
    let answer = if method.is_async {
        let reply = reply(method, &quote_spanned!(site=> #called.await), options);
        let context = method
            .borrowed()
            .next()
            .is_some()
            .then(|| quote_spanned!(site=> let cx = ::core::clone::Clone::clone(&call.cx);));
        quote_spanned! {site=>
            let #this = ::std::sync::Arc::clone(&#this);
            #context
            #krate::__private::pending(async move {
                #(#borrows)*
                #reply
            })
        }
    } else {
        let reply = reply(method, &called, options);
        quote_spanned! {site=>
            #[allow(unused_variables)]
            let cx = &call.cx;
            #(#borrows)*
            #krate::ReplyFuture::ready(#reply)
        }
    };
    quote_spanned! {site=>
        let read = || { #reading };
        match read() {
            ::core::result::Result::Ok((#(#variables,)*)) => {
                #answer
            }
            ::core::result::Result::Err(error) => #krate::ReplyFuture::ready(error),
        }
    }
}

fn borrowed_variable(position: usize) -> Ident {
    format_ident!("borrowed_{position}", span = mixed())
}

/// Takes a value from the context, `cx`. Without it, the call is answered with an error.
fn borrow(Borrowed { ty, is_optional }: &Borrowed, position: usize, options: &Options) -> TokenStream {
    let (private, variable) = (private_at(ty.span(), options), borrowed_variable(position));
    if *is_optional {
        let borrow = quote_spanned!(ty.span()=> #private::borrow_some::<#ty>);
        return quote_spanned!(mixed()=> let #variable = #borrow(&cx););
    }
    let borrow = quote_spanned!(ty.span()=> #private::borrow::<#ty>);
    quote_spanned! {mixed()=>
        let #variable = match #borrow(&cx) {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(reply) => return ::core::convert::Into::into(reply),
        };
    }
}

/// A block that reads the parameters into a tuple.
fn reading(method: &Method, options: &Options) -> TokenStream {
    let site = mixed_at(method.function.span());
    let krate = &options.krate;
    let names = method.arguments().map(|argument| &argument.name);
    let fill = if method.is_variadic() { "fill_variadic" } else { "fill" };
    let fill = Ident::new(fill, site);
    let values = method.arguments().enumerate().map(|(index, argument)| value(argument, index, options));
    let allow_unknown = method.allows_unknown_params.then(|| quote_spanned!(site=> .allow_unknown()));
    quote_spanned! {site=>
        let mut arguments = #krate::Arguments::new(call.params.as_ref(), &[#(#names),*])#allow_unknown;
        arguments.#fill()?;
        ::core::result::Result::Ok::<_, #krate::ErrorObject>((#(#values,)*))
    }
}

fn value(argument: &Argument, index: usize, options: &Options) -> TokenStream {
    let site = mixed_at(argument.variable.span());
    let krate = &options.krate;
    let ty = &argument.ty;
    match &argument.kind {
        Kind::Plain => {
            let private = private_at(ty.span(), options);
            let read = quote_spanned!(ty.span()=> #private::Argument::<#ty>::read);
            quote_spanned!(site=> #read(&arguments, #index)?)
        }
        Kind::Default(default) => {
            let default = default_value(default);
            quote_spanned! {site=>
                #krate::__private::defaulted::<#ty, _>(&arguments, #index, || #default)?
            }
        }
        Kind::Rest(element) => {
            quote_spanned!(site=> #krate::__private::rest::<#element, _>(&arguments)?)
        }
    }
}

/// The value of an argument that is left out.
pub(crate) fn default_value(default: &DefaultValue) -> TokenStream {
    match default {
        DefaultValue::OfType => quote_spanned!(mixed()=> ::core::default::Default::default()),
        DefaultValue::Text(text) => quote_spanned!(text.span()=> ::core::convert::From::from(#text)),
        DefaultValue::Expression(expression) => quote!(#expression),
    }
}

/// The reply that what the function gave back stands for.
fn reply(method: &Method, given: &TokenStream, options: &Options) -> TokenStream {
    let site = mixed_at(method.function.span());
    let krate = &options.krate;
    let ty = &method.output.returned().ty;
    let private = private_at(ty.span(), options);
    let reply = match &method.output {
        Output::Value(_) => quote_spanned!(ty.span()=> #private::Returned::<#ty>::reply),
        Output::Stream { .. } => quote_spanned!(ty.span()=> #private::Returned::<#ty>::stream),
    };
    let replied = match &method.output {
        Output::Stream { failure: Some(error), .. } => quote_spanned! {site=>
            match #given {
                ::core::result::Result::Ok(values) => reply(values),
                ::core::result::Result::Err(error) => #krate::__private::error::<#error>(error),
            }
        },
        _ => quote_spanned!(site=> reply(#given)),
    };
    // By way of a variable, or the compiler would show its errors at what is given.
    quote_spanned! {site=>
        {
            let reply = #reply;
            #replied
        }
    }
}
