//! The item that the attribute is on, and its expansion.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{ImplItem, Item, ItemImpl, ItemTrait, TraitItem, parse_quote};

use crate::expand::{self, Host};
use crate::faults::Faults;
use crate::mcp;
use crate::model::Method;
use crate::options::Options;
use crate::parse::{self, Container};

/// Expands one use of the macro: what was written, what is made of it, and what is wrong with it.
pub(crate) fn service(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let options = faults.unwrap_or_default(Options::parse(options));
    let (kept, made) = match syn::parse2(item.clone()) {
        Ok(Item::Impl(block)) => implementation(block, &options, &mut faults),
        Ok(Item::Trait(declared)) => declaration(declared, &options, &mut faults),
        Ok(other) => {
            let message = "`#[service]` goes on an `impl` block or a `trait`, whose functions become methods";
            faults.add(syn::Error::new(proc_macro2::Span::call_site(), message));
            (other.into_token_stream(), TokenStream::new())
        }
        Err(error) => {
            faults.add(error);
            (item, TokenStream::new())
        }
    };
    if faults.is_empty() {
        return quote!(#kept #made);
    }
    let errors = faults.into_compile_errors();
    quote!(#kept #errors)
}

fn implementation(mut block: ItemImpl, options: &Options, faults: &mut Faults) -> (TokenStream, TokenStream) {
    if let Some((path, _)) = &block.trait_ {
        faults.at(
            path,
            "`#[service]` goes on the trait itself or on an `impl` block without a trait: move it there",
        );
    }
    let functions = block.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(function) => Some((&mut function.attrs, &mut function.sig)),
        _ => None,
    });
    let methods: Vec<Method> = functions
        .filter_map(|(attrs, sig)| {
            let method = parse::method(attrs, sig, Container::Impl, options, faults)?;
            // A method has to take `&self` and to own its arguments, whether it needs to or not.
            attrs.push(parse_quote!(#[allow(clippy::needless_pass_by_value, clippy::unused_self)]));
            Some(method)
        })
        .collect();
    check_names(&methods, faults);
    check_completions(&methods, faults);
    let made = expand::server(&Host::of_impl(&block), &methods, options);
    (block.into_token_stream(), made)
}

fn declaration(
    mut declared: ItemTrait,
    options: &Options,
    faults: &mut Faults,
) -> (TokenStream, TokenStream) {
    check_trait(&declared, faults);
    let functions = declared.items.iter_mut().filter_map(|item| match item {
        TraitItem::Fn(function) => Some((&mut function.attrs, &mut function.sig)),
        _ => None,
    });
    let methods: Vec<Method> = functions
        .filter_map(|(attrs, sig)| parse::method(attrs, sig, Container::Trait, options, faults))
        .collect();
    check_names(&methods, faults);
    check_completions(&methods, faults);
    check_client_names(&methods, faults);
    let host = Host::of_trait(&declared);
    let wrapper = expand::wrapper(&declared);
    let server = expand::server(&host, &methods, options);
    let client = expand::client(&declared, &methods, options);
    (expand::declaration(declared), quote!(#wrapper #server #client))
}

fn check_trait(declared: &ItemTrait, faults: &mut Faults) {
    if !declared.generics.params.is_empty() {
        faults.at(
            &declared.generics,
            "a `#[service]` trait cannot be generic, because callers send values, not types: remove the parameters",
        );
    }
    if let Some(token) = &declared.unsafety {
        faults.at(token, "a `#[service]` trait cannot be `unsafe`: remove the keyword");
    }
    for item in &declared.items {
        if !matches!(item, TraitItem::Fn(_)) {
            faults.at(item, "a `#[service]` trait can only contain functions: move this to another trait");
        }
    }
}

fn check_names(methods: &[Method], faults: &mut Faults) {
    for (position, method) in methods.iter().enumerate() {
        let is_taken = |earlier: &&Method| {
            // Functions under opposite conditions may share a name.
            earlier.name == method.name && earlier.conditions.is_empty() && method.conditions.is_empty()
        };
        if let Some(earlier) = methods[..position].iter().find(is_taken) {
            let message = format!(
                "the name \"{}\" is already used by `{}`: rename one with `#[method(name = \"…\")]`",
                method.name, earlier.function
            );
            faults.at(&method.function, message);
        }
    }
}

/// Only if all is well so far: a method with a mistake may be missing here, and would be reported as unknown.
fn check_completions(methods: &[Method], faults: &mut Faults) {
    if faults.is_empty() {
        mcp::check_completions(methods, faults);
    }
}

fn check_client_names(methods: &[Method], faults: &mut Faults) {
    for method in methods {
        if expand::CLIENT_FUNCTIONS.iter().any(|taken| method.function == taken) {
            let message = format!(
                "the generated client already has a function `{0}`: rename this one, and keep its name for callers with \
                 `#[method(name = \"{0}\")]`",
                method.function
            );
            faults.at(&method.function, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsafe_function_or_trait_is_refused() {
        for item in ["impl Math { unsafe fn add(&self) {} }", "unsafe trait Math { fn add(&self); }"] {
            let expanded = service(TokenStream::new(), item.parse().unwrap()).to_string();
            assert!(expanded.contains("cannot be `unsafe`"), "{expanded}");
        }
    }
}
