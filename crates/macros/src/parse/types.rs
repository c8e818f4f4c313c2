//! Questions about types, answered from their syntax.

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, PathSegment, Type, TypePath, TypeReference};

/// The type without the invisible group that a `macro_rules!` fragment puts around it.
pub(crate) fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        other => other,
    }
}

/// The last segment of a path, such as `Option<T>` in `std::option::Option<T>`.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match plain(ty) {
        Type::Path(TypePath { qself: None, path, .. }) => path.segments.last(),
        _ => None,
    }
}

pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == name)
}

/// The types between the angle brackets of a segment.
pub(crate) fn type_arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return Vec::new() };
    let types = list.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// The `T` of `Name<T>`.
pub(crate) fn only_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == name)?;
    match type_arguments(segment)[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// The reference that a type is, or of which it is an `Option`.
pub(crate) fn reference(ty: &Type) -> Option<(&TypeReference, bool)> {
    let inner = only_argument(ty, "Option");
    match plain(inner.unwrap_or(ty)) {
        Type::Reference(reference) => Some((reference, inner.is_some())),
        _ => None,
    }
}

/// Whether values of this type are only ever seen behind a reference.
pub(crate) fn is_unsized(ty: &Type) -> bool {
    matches!(plain(ty), Type::Slice(_))
        || ["str", "Path", "OsStr", "CStr"].iter().any(|name| is_named(ty, name))
}

/// The first reference in a type.
pub(crate) fn borrowed(ty: &Type) -> Option<&TypeReference> {
    Finder::search(ty).borrowed
}

/// The first reference in a type that is not `&'static`.
pub(crate) fn briefly_borrowed(ty: &Type) -> Option<&TypeReference> {
    Finder::search(ty).briefly_borrowed
}

/// The first `impl Trait` in a type.
pub(crate) fn opaque(ty: &Type) -> Option<&Type> {
    Finder::search(ty).opaque
}

/// The first `Self` in a type.
pub(crate) fn self_type(ty: &Type) -> Option<&TypePath> {
    Finder::search(ty).self_type
}

/// An owned type to write instead of a reference.
pub(crate) fn owned_instead(reference: &TypeReference) -> String {
    match plain(&reference.elem) {
        ty if is_named(ty, "str") => "String".to_owned(),
        ty if is_named(ty, "Path") => "PathBuf".to_owned(),
        Type::Slice(slice) => format!("Vec<{}>", written(&slice.elem)),
        ty => written(ty),
    }
}

/// How a type is written, without the spaces that tokens have between them.
pub(crate) fn written(tokens: impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let text = text.replace(" :: ", "::").replace(":: ", "::").replace(" <", "<").replace("< ", "<");
    text.replace(" >", ">").replace(" ,", ",").replace("& ", "&")
}

/// Walks through a type and keeps the first of each thing that is not welcome everywhere.
#[derive(Default)]
struct Finder<'a> {
    borrowed: Option<&'a TypeReference>,
    briefly_borrowed: Option<&'a TypeReference>,
    opaque: Option<&'a Type>,
    self_type: Option<&'a TypePath>,
}

impl<'a> Finder<'a> {
    fn search(ty: &'a Type) -> Finder<'a> {
        let mut finder = Finder::default();
        finder.visit_type(ty);
        finder
    }
}

impl<'a> Visit<'a> for Finder<'a> {
    fn visit_type(&mut self, ty: &'a Type) {
        if let Type::ImplTrait(_) = ty {
            self.opaque = self.opaque.or(Some(ty));
        }
        visit::visit_type(self, ty);
    }

    fn visit_type_path(&mut self, path: &'a TypePath) {
        if path.path.segments.first().is_some_and(|segment| segment.ident == "Self") {
            self.self_type = self.self_type.or(Some(path));
        }
        visit::visit_type_path(self, path);
    }

    fn visit_type_reference(&mut self, reference: &'a TypeReference) {
        self.borrowed = self.borrowed.or(Some(reference));
        if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") {
            self.briefly_borrowed = self.briefly_borrowed.or(Some(reference));
        }
        visit::visit_type_reference(self, reference);
    }
}
