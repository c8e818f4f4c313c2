//! The return type of a function.

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    GenericArgument, PathArguments, PathSegment, ReturnType, Token, Type, TypeImplTrait, TypeParamBound,
    parse_quote, parse_quote_spanned,
};

use crate::faults::Faults;
use crate::model::{Output, Returned};
use crate::options::Options;
use crate::parse::{Container, types};

/// Reads the return type. None if it is not right.
pub(crate) fn output(
    written: &ReturnType,
    place: Container,
    options: &Options,
    faults: &mut Faults,
) -> Option<Output> {
    let ty = match written {
        ReturnType::Default => {
            return Some(Output::Value(returned(&parse_quote!(()), options)));
        }
        ReturnType::Type(_, ty) => types::plain(ty),
    };
    check_borrows(ty, place, faults)?;
    if let Type::ImplTrait(opaque) = ty {
        return Some(Output::Stream { item: item(opaque, options, faults)?, failure: None });
    }
    if let Some(opaque) = result_arguments(ty).and_then(|arguments| arguments.first().copied())
        && let Type::ImplTrait(opaque) = types::plain(opaque)
    {
        let failure = Some(Box::new(failure(ty, options)));
        return Some(Output::Stream { item: item(opaque, options, faults)?, failure });
    }
    check_opaque(ty, faults)?;
    Some(Output::Value(returned(ty, options)))
}

fn check_borrows(ty: &Type, place: Container, faults: &mut Faults) -> Option<()> {
    let borrowed = match place {
        Container::Impl => types::briefly_borrowed(ty),
        Container::Trait => types::borrowed(ty),
    };
    if let Some(reference) = borrowed {
        let message = format!(
            "a result must own its data, because it outlives the call: use `{}`",
            types::owned_instead(reference)
        );
        faults.at(reference, message);
        return None;
    }
    if let (Container::Trait, Some(path)) = (place, types::self_type(ty)) {
        faults.at(path, "`Self` is unknown in the generated client: write out the type");
        return None;
    }
    Some(())
}

fn check_opaque(ty: &Type, faults: &mut Faults) -> Option<()> {
    let Some(opaque) = types::opaque(ty) else { return Some(()) };
    faults.at(opaque, "`impl Stream` must be the whole return type, or the first type of a `Result`");
    None
}

/// The types between the brackets of a type that is written as a `Result`.
fn result_arguments(ty: &Type) -> Option<Vec<&Type>> {
    types::last_segment(ty).filter(|segment| segment.ident == "Result").map(types::type_arguments)
}

/// A value of this type. A type that is only called `Result` may be of the user's own, so it is one where nothing shows the
/// opposite; the compiler is asked then.
fn returned(ty: &Type, options: &Options) -> Returned {
    let krate = &options.krate;
    let success = match result_arguments(ty).unwrap_or_default()[..] {
        [success, _, ..] => Some(success.clone()),
        // An alias such as `io::Result<T>`.
        [_] => Some(parse_quote_spanned!(ty.span()=> <#ty as #krate::__private::Fallible>::Value)),
        [] => None,
    };
    let is_result = success.is_some();
    Returned { ty: ty.clone(), success: success.unwrap_or_else(|| ty.clone()), is_result }
}

/// The error of a `Result` around a stream.
fn failure(ty: &Type, options: &Options) -> Type {
    let krate = &options.krate;
    if let Some([_, error, ..]) = result_arguments(ty).as_deref() {
        return (*error).clone();
    }
    // An `impl Stream` cannot stand in a path, and the error of an alias does not depend on it.
    let named = without_opaque(ty);
    parse_quote!(<#named as #krate::__private::Fallible>::Error)
}

fn without_opaque(ty: &Type) -> Type {
    let mut named = ty.clone();
    if let Type::Path(path) = &mut named
        && let Some(PathSegment { arguments: PathArguments::AngleBracketed(list), .. }) =
            path.path.segments.last_mut()
    {
        for argument in &mut list.args {
            if matches!(argument, GenericArgument::Type(Type::ImplTrait(_))) {
                *argument = GenericArgument::Type(parse_quote!(()));
            }
        }
    }
    named
}

/// An item of this stream.
fn item(opaque: &TypeImplTrait, options: &Options, faults: &mut Faults) -> Option<Returned> {
    let Some(item) = item_type(&opaque.bounds) else {
        let message = "a method returns a value or a stream: write a type, or `impl Stream<Item = T> + Send + \
                       'static`; for a future, write `async fn`";
        faults.at(opaque, message);
        return None;
    };
    let is_static =
        opaque.bounds.iter().any(|bound| matches!(bound, TypeParamBound::Lifetime(l) if l.ident == "static"));
    let is_send = opaque.bounds.iter().any(|bound| bound_named(bound, "Send").is_some());
    if !is_static || !is_send {
        let message = format!(
            "a stream outlives the method that returns it, so it must own its data: write `impl Stream<Item = {}> + \
             Send + 'static`",
            types::written(item)
        );
        faults.at(opaque, message);
        return None;
    }
    check_opaque(item, faults)?;
    Some(returned(types::plain(item), options))
}

/// The `T` of `Stream<Item = T>`.
fn item_type(bounds: &Punctuated<TypeParamBound, Token![+]>) -> Option<&Type> {
    let segment = bounds.iter().find_map(|bound| bound_named(bound, "Stream"))?;
    let PathArguments::AngleBracketed(list) = &segment.arguments else { return None };
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Item" => Some(&assoc.ty),
        _ => None,
    })
}

fn bound_named<'a>(bound: &'a TypeParamBound, name: &str) -> Option<&'a PathSegment> {
    match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().filter(|segment| segment.ident == name),
        _ => None,
    }
}
