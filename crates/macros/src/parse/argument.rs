//! The arguments of a function.

use syn::ext::IdentExt;
use syn::{Ident, Pat, PatIdent, PatType, Type, TypeReference};

use crate::attributes::ArgAttribute;
use crate::faults::Faults;
use crate::model::{Argument, Borrowed, Input, Kind};
use crate::options::Options;
use crate::parse::{Container, types};

/// Reads one input after the receiver.
pub(crate) fn input(
    typed: &PatType,
    attribute: ArgAttribute,
    docs: String,
    place: Container,
    options: &Options,
    faults: &mut Faults,
) -> Option<Input> {
    for attr in typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
        faults.at(attr, "`cfg` cannot be used on an argument: put it on the whole method");
    }
    if let Some((reference, is_optional)) = types::reference(&typed.ty) {
        check_reference(reference, faults)?;
        if let Some(header) = &attribute.header {
            faults.at(header, "callers do not send an argument that comes from the context: remove `header`");
        }
        let ty = types::plain(&reference.elem).clone();
        return Some(Input::Borrowed(Box::new(Borrowed { ty, is_optional })));
    }
    let variable = variable(&typed.pat, faults);
    let kind = check_type(&typed.ty, place, faults).and_then(|()| kind(&typed.ty, &attribute, faults));
    let (variable, kind) = (variable?, kind?);
    let name = attribute
        .name
        .map_or_else(|| options.arguments.apply(&variable.unraw().to_string()), |name| name.value());
    let (ty, schema, header) = (types::plain(&typed.ty).clone(), attribute.schema, attribute.header);
    if let (Some(header), Kind::Rest(_)) = (&header, &kind) {
        faults.at(header, "a header holds one value, but `rest` collects many: remove one of them");
    }
    Some(Input::Argument(Box::new(Argument { variable, name, docs, ty, schema, header, kind })))
}

/// What is borrowed comes from the context of the call. Texts and lists are meant to be sent by callers.
fn check_reference(reference: &TypeReference, faults: &mut Faults) -> Option<()> {
    if types::is_unsized(&reference.elem) {
        faults.at(reference, borrowing(reference));
        return None;
    }
    if reference.mutability.is_some() {
        let message = format!(
            "a method cannot modify the context of its call: write `&{}`",
            types::written(&reference.elem)
        );
        faults.at(reference, message);
        return None;
    }
    Some(())
}

fn borrowing(reference: &TypeReference) -> String {
    format!(
        "an argument must own its data, because it is decoded from the request: use `{}`",
        types::owned_instead(reference)
    )
}

fn variable(pat: &Pat, faults: &mut Faults) -> Option<Ident> {
    match pat {
        Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => Some(ident.clone()),
        _ => {
            let message = "callers pass arguments by name, so each needs one: write `name: Type`, and destructure it \
                           in the body";
            faults.at(pat, message);
            None
        }
    }
}

fn check_type(ty: &Type, place: Container, faults: &mut Faults) -> Option<()> {
    if let Some(reference) = types::borrowed(ty) {
        faults.at(reference, borrowing(reference));
        return None;
    }
    if let Some(opaque) = types::opaque(ty) {
        faults.at(opaque, "an argument needs a concrete type that can be read from JSON, not `impl …`");
        return None;
    }
    if let (Container::Trait, Some(path)) = (place, types::self_type(ty)) {
        faults.at(path, "`Self` is unknown in the generated client: write out the type");
        return None;
    }
    Some(())
}

fn kind(ty: &Type, attribute: &ArgAttribute, faults: &mut Faults) -> Option<Kind> {
    let option = types::only_argument(ty, "Option");
    match (&attribute.rest, &attribute.default) {
        (Some(span), Some(_)) => {
            let message =
                "`rest` is empty when no values are left, so it cannot have a `default`: remove one of them";
            faults.add(syn::Error::new(*span, message));
            None
        }
        (Some(_), None) => {
            let element = types::only_argument(ty, "Vec");
            if element.is_none() {
                let message = "`rest` collects values, so its type must be `Vec<T>`";
                faults.at(ty, message);
            }
            element.map(|element| Kind::Rest(Box::new(element.clone())))
        }
        (None, Some((span, _))) if option.is_some() => {
            let inner = option.map(types::written).unwrap_or_default();
            let message = format!(
                "an `Option` is `None` when the caller omits it, so it cannot have a `default`: remove the default, or \
                 write `{inner}`"
            );
            faults.add(syn::Error::new(*span, message));
            None
        }
        (None, Some((_, default))) => Some(Kind::Default(default.clone())),
        (None, None) => Some(Kind::Plain),
    }
}
