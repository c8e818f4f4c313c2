//! `#[derive(RpcError)]`: conversions between the variants of an error and the wire.

mod declared;
mod expand;

use proc_macro2::TokenStream;

use crate::faults::Faults;
use declared::Declared;

/// Expands one use of the derive.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let input = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut faults = Faults::default();
    let declared = Declared::read(input, &mut faults);
    if !faults.is_empty() {
        return faults.into_compile_errors();
    }
    expand::expand(&declared)
}
