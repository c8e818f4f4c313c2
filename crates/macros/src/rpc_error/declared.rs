//! The declared variants of an error, each with its code.

use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitInt, LitStr, Token};

use crate::faults::Faults;

/// An error type.
pub(crate) struct Declared {
    pub(crate) name: Ident,
    pub(crate) variants: Vec<Variant>,
}

/// A variant of an enum, or a struct as the only one.
pub(crate) struct Variant {
    /// None for a struct.
    pub(crate) name: Option<Ident>,
    pub(crate) fields: Fields,
    pub(crate) wire: Wire,
}

/// The contents of `#[error_code(…)]`.
pub(crate) enum Wire {
    /// A code and a message.
    Told(i64, LitStr),
    /// `internal`: -32603, whose cause stays in the log.
    Internal,
}

impl Declared {
    pub(crate) fn read(input: DeriveInput, faults: &mut Faults) -> Declared {
        if !input.generics.params.is_empty() {
            faults.at(
                &input.generics,
                "`RpcError` cannot be derived for a generic type: remove the parameters",
            );
        }
        let variants: Vec<Variant> = match input.data {
            Data::Struct(data) => {
                Variant::read(None, data.fields, &input.attrs, &input.ident, faults).into_iter().collect()
            }
            Data::Enum(data) => {
                let variants = data.variants.into_iter();
                let read = |variant: syn::Variant| {
                    let name = Some(variant.ident.clone());
                    Variant::read(name, variant.fields, &variant.attrs, &variant.ident, faults)
                };
                variants.filter_map(read).collect()
            }
            Data::Union(_) => {
                faults.at(&input.ident, "`RpcError` can only be derived for an enum or a struct");
                Vec::new()
            }
        };
        check_codes(&variants, faults);
        Declared { name: input.ident, variants }
    }
}

impl Variant {
    fn read(
        name: Option<Ident>,
        fields: Fields,
        attrs: &[Attribute],
        place: &Ident,
        faults: &mut Faults,
    ) -> Option<Variant> {
        let Some(attribute) = attrs.iter().find(|attr| attr.path().is_ident("error_code")) else {
            let message = format!(
                "`{place}` has no code: write `#[error_code(1001, \"no such user\")]`, or `#[error_code(internal)]` for a \
                 failure whose cause must not leave the process"
            );
            faults.at(place, message);
            return None;
        };
        let wire = match attribute.parse_args() {
            Ok(wire) => wire,
            Err(error) => {
                faults.add(error);
                return None;
            }
        };
        if let (Wire::Internal, 2..) = (&wire, fields.len()) {
            faults.at(&fields, "an internal error can have only one field, its cause");
        }
        Some(Variant { name, fields, wire })
    }
}

impl Parse for Wire {
    fn parse(input: ParseStream<'_>) -> syn::Result<Wire> {
        let expected = "write a code and a message, as in `#[error_code(1001, \"no such user\")]`, or \
                        `#[error_code(internal)]`";
        let explain = |error: syn::Error| syn::Error::new(error.span(), expected);
        if input.peek(Ident) {
            let word: Ident = input.parse()?;
            return if word == "internal" {
                Ok(Wire::Internal)
            } else {
                Err(syn::Error::new(word.span(), expected))
            };
        }
        let is_negative = input.parse::<Option<Token![-]>>()?.is_some();
        let code: i64 = input.parse::<LitInt>().map_err(explain)?.base10_parse()?;
        input.parse::<Token![,]>().map_err(explain)?;
        let message = input.parse().map_err(explain)?;
        Ok(Wire::Told(if is_negative { -code } else { code }, message))
    }
}

/// A code stands for one variant, or the way back would not be known.
fn check_codes(variants: &[Variant], faults: &mut Faults) {
    let code = |variant: &Variant| match variant.wire {
        Wire::Told(code, _) => Some(code),
        Wire::Internal => None,
    };
    for (position, variant) in variants.iter().enumerate() {
        let Wire::Told(own, message) = &variant.wire else { continue };
        if variants[..position].iter().any(|earlier| code(earlier) == Some(*own)) {
            let span = variant.name.as_ref().map_or_else(|| message.span(), Spanned::span);
            let message = format!("the code {own} is already used by another variant: choose another");
            faults.add(syn::Error::new(span, message));
        }
    }
}
