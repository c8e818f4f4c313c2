//! The mistakes found in one use of the macro, all reported at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Error;

/// Collects mistakes, so that one compilation shows them all.
#[derive(Default)]
pub(crate) struct Faults(Option<Error>);

impl Faults {
    /// Adds a mistake at these tokens of the user.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.add(Error::new_spanned(tokens, message));
    }

    /// Adds a mistake.
    pub(crate) fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or a default in its place once the mistake is noted.
    pub(crate) fn unwrap_or_default<T: Default>(&mut self, result: syn::Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.add(error);
            T::default()
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// One `compile_error!` for each mistake.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.map(Error::into_compile_error).unwrap_or_default()
    }
}
