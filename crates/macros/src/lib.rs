//! The macros of Switchboard: `#[service]` and `#[derive(RpcError)]`. Use them through the `switchboard` crate, which exports them.
//!
//! For `#[service]`, `parse` reads the input into the `model` and finds mistakes; `expand` writes the code. Neither uses
//! more of Switchboard than its public API.

mod attributes;
mod case;
mod expand;
mod faults;
mod item;
mod mcp;
mod model;
mod options;
mod parse;
mod rpc_error;

#[doc = include_str!("../docs/service.md")]
#[proc_macro_attribute]
pub fn service(options: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    item::service(options.into(), item.into()).into()
}

#[doc = include_str!("../docs/rpc_error.md")]
#[proc_macro_derive(RpcError, attributes(error_code, serde, schemars))]
pub fn rpc_error(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    rpc_error::derive(item.into()).into()
}
