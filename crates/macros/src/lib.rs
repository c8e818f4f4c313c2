//! The `#[service]` macro of Switchboard. Use it through the `switchboard` crate, which exports it.
//!
//! `parse` reads what was written into the `model` and finds mistakes; `expand` writes the code. Neither knows
//! more of Switchboard than its public API.

mod attributes;
mod case;
mod expand;
mod faults;
mod item;
mod model;
mod options;
mod parse;

#[doc = include_str!("../docs/service.md")]
#[proc_macro_attribute]
pub fn service(options: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    item::service(options.into(), item.into()).into()
}
