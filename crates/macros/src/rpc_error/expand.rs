//! From the declaration to code.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Fields, Ident, Member};

use super::declared::{Declared, Variant, Wire};

/// The implementations of `IntoError` and `FromError`.
pub(crate) fn expand(Declared { name, variants }: &Declared) -> TokenStream {
    let shapes = variants.iter().map(|variant| shape(name, variant));
    let into = variants.iter().map(|variant| into_error(name, variant));
    let declared = variants.iter().filter_map(|variant| declaration(name, variant));
    let from = variants.iter().filter_map(|variant| from_error(name, variant));
    quote! {
        #[allow(deprecated, unused_qualifications, clippy::all, clippy::pedantic)]
        const _: () = {
            #(#shapes)*

            #[automatically_derived]
            impl ::switchboard::IntoError for #name {
                fn into_error(self) -> ::switchboard::ErrorObject {
                    match self {
                        #(#into)*
                    }
                }

                fn declared() -> ::std::vec::Vec<::switchboard::DeclaredError> {
                    ::std::vec::Vec::from([#(#declared),*])
                }
            }

            #[automatically_derived]
            impl ::switchboard::FromError for #name {
                fn from_error(error: &::switchboard::ErrorObject) -> ::core::option::Option<Self> {
                    match error.code.0 {
                        #(#from)*
                        _ => ::core::option::Option::None,
                    }
                }
            }
        };
    }
}

/// The type of `data`, unless it is the only field or there is none.
fn shape(of: &Ident, variant: &Variant) -> Option<TokenStream> {
    if !has_own_shape(variant) {
        return None;
    }
    let name = shape_name(of, variant);
    let mut fields = variant.fields.clone();
    for field in &mut fields {
        // Others, such as `#[source]`, belong to other derives of the error.
        field.attrs.retain(|attr| ["doc", "schemars", "serde"].iter().any(|kept| attr.path().is_ident(kept)));
    }
    let end = matches!(fields, Fields::Unnamed(_)).then(|| quote!(;));
    Some(quote! {
        #[derive(
            ::switchboard::serde::Serialize,
            ::switchboard::serde::Deserialize,
            ::switchboard::schemars::JsonSchema,
        )]
        #[serde(crate = "::switchboard::serde")]
        #[schemars(crate = "::switchboard::schemars", inline)]
        struct #name #fields #end
    })
}

fn has_own_shape(variant: &Variant) -> bool {
    let is_told = matches!(variant.wire, Wire::Told(..));
    is_told
        && match &variant.fields {
            Fields::Named(_) => true,
            Fields::Unnamed(fields) => fields.unnamed.len() > 1,
            Fields::Unit => false,
        }
}

/// No type of the user's has this name.
fn shape_name(of: &Ident, variant: &Variant) -> Ident {
    match &variant.name {
        Some(name) => format_ident!("__{of}{name}"),
        None => format_ident!("__{of}"),
    }
}

/// The type of `data`, if the variant has any.
fn data_type(of: &Ident, variant: &Variant) -> Option<TokenStream> {
    if has_own_shape(variant) {
        let name = shape_name(of, variant);
        return Some(quote!(#name));
    }
    let field = variant.fields.iter().next()?;
    let ty = &field.ty;
    Some(quote_spanned!(ty.span()=> #ty))
}

/// The members of the variant, with a variable for each.
fn members(variant: &Variant) -> Vec<(Member, Ident)> {
    let variables = (0..).map(|position| Ident::new(&format!("field_{position}"), Span::mixed_site()));
    variant.fields.members().zip(variables).collect()
}

/// `Self::Variant { 0: field_0, … }`, as a pattern and as an expression.
fn variant_with_fields(variant: &Variant) -> TokenStream {
    let (members, variables): (Vec<_>, Vec<_>) = members(variant).into_iter().unzip();
    match &variant.name {
        Some(name) => quote!(Self::#name { #(#members: #variables),* }),
        None => quote!(Self { #(#members: #variables),* }),
    }
}

/// `__Shape { 0: field_0, … }`, or the only field.
fn data_with_fields(of: &Ident, variant: &Variant) -> Option<TokenStream> {
    let (members, variables): (Vec<_>, Vec<_>) = members(variant).into_iter().unzip();
    if has_own_shape(variant) {
        let name = shape_name(of, variant);
        return Some(quote!(#name { #(#members: #variables),* }));
    }
    variables.first().map(|variable| quote!(#variable))
}

fn into_error(of: &Ident, variant: &Variant) -> TokenStream {
    let pattern = variant_with_fields(variant);
    let data = data_with_fields(of, variant);
    let error = match (&variant.wire, data) {
        (Wire::Internal, Some(cause)) => quote!(::switchboard::ErrorObject::internal(&#cause)),
        (Wire::Internal, None) => {
            let cause = variant.name.as_ref().unwrap_or(of).to_string();
            quote!(::switchboard::ErrorObject::internal(&#cause))
        }
        (Wire::Told(code, message), data) => {
            let ty = data_type(of, variant);
            let data = data.map(|data| quote!(.with_data::<#ty>(&#data)));
            quote!(::switchboard::ErrorObject::new(::switchboard::Code(#code), #message)#data)
        }
    };
    quote!(#pattern => #error,)
}

fn declaration(of: &Ident, variant: &Variant) -> Option<TokenStream> {
    let Wire::Told(code, message) = &variant.wire else { return None };
    let data = data_type(of, variant).map(|ty| quote!(.with_data::<#ty>()));
    Some(quote!(::switchboard::DeclaredError::new(::switchboard::Code(#code), #message)#data))
}

fn from_error(of: &Ident, variant: &Variant) -> Option<TokenStream> {
    let Wire::Told(code, _) = &variant.wire else { return None };
    let made = variant_with_fields(variant);
    let Some((ty, pattern)) = data_type(of, variant).zip(data_with_fields(of, variant)) else {
        return Some(quote!(#code => ::core::option::Option::Some(#made),));
    };
    Some(quote! {
        #code => {
            let #pattern: #ty = error.data.as_ref()?.decode().ok()?;
            ::core::option::Option::Some(#made)
        }
    })
}
