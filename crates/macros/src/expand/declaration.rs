//! The trait as it is kept: ready to be served from many threads.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::{ItemTrait, ReturnType, Stmt, TraitItem, TraitItemFn, parse_quote, parse_quote_spanned};

use crate::expand::mixed;

/// The trait with the supertraits that serving needs, and with futures that can move between threads.
pub(crate) fn declaration(mut declared: ItemTrait) -> TokenStream {
    declared.colon_token.get_or_insert_default();
    declared.supertraits.push(parse_quote!(::core::marker::Send));
    declared.supertraits.push(parse_quote!(::core::marker::Sync));
    declared.supertraits.push(parse_quote!('static));
    for item in &mut declared.items {
        if let TraitItem::Fn(function) = item {
            name_future(function);
        }
    }
    declared.into_token_stream()
}

/// Writes `async fn f() -> T` as `fn f() -> impl Future<Output = T> + Send`. Implementations can still write
/// `async fn`.
fn name_future(function: &mut TraitItemFn) {
    if function.sig.asyncness.take().is_none() {
        return;
    }
    let output = match &function.sig.output {
        ReturnType::Default => quote_spanned!(mixed()=> ()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    function.sig.output = parse_quote_spanned! {mixed()=>
        -> impl ::core::future::Future<Output = #output> + ::core::marker::Send
    };
    if let Some(body) = &mut function.default {
        function.attrs.push(parse_quote!(#[allow(clippy::manual_async_fn)]));
        let statements = &body.stmts;
        let future = parse_quote_spanned!(mixed()=> async move { #(#statements)* });
        body.stmts = vec![Stmt::Expr(future, None)];
    }
}
