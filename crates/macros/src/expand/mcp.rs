//! What `#[mcp(…)]` says, as JSON for `json!`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::mcp::{Completed, Mcp};

/// An object with the members that are given.
pub(super) fn value(mcp: &Mcp) -> TokenStream {
    let icons = mcp.icons.iter().map(|src| quote!({ "src": #src }));
    let icons = (!mcp.icons.is_empty()).then(|| quote!([#(#icons),*]));
    let prompt = mcp.is_prompt.then(|| quote!(true));
    let completes = mcp.completes.as_ref().map(|completes| {
        let pairs =
            completes.arguments.iter().map(|Completed { method, argument, .. }| quote!([#method, #argument]));
        quote!([#(#pairs),*])
    });
    let members = [
        member("title", mcp.title.as_ref()),
        member("name", mcp.name.as_ref()),
        member("icons", icons),
        member("openWorldHint", mcp.open_world.as_ref()),
        member("destructiveHint", mcp.destructive.as_ref()),
        member("scope", mcp.scope.as_ref()),
        member("tool", mcp.tool.as_ref()),
        member("resource", mcp.resource.as_ref().map(|resource| &resource.uri)),
        member("mimeType", mcp.mime.as_ref()),
        member("prompt", prompt),
        member("completes", completes),
        member("task", mcp.task.as_ref()),
    ];
    let members = members.into_iter().flatten();
    quote!({ #(#members),* })
}

fn member(name: &str, value: Option<impl ToTokens>) -> Option<TokenStream> {
    value.map(|value| quote!(#name: #value))
}
