//! What a function gives back.

use syn::punctuated::Punctuated;
use syn::{
    GenericArgument, PathArguments, PathSegment, ReturnType, Token, Type, TypeImplTrait, TypeParamBound,
    parse_quote,
};

use crate::faults::Faults;
use crate::model::{Output, Success};
use crate::options::Options;
use crate::parse::{Place, types};

/// Reads the return type. None if it is not right.
pub(crate) fn output(
    written: &ReturnType,
    place: Place,
    options: &Options,
    faults: &mut Faults,
) -> Option<Output> {
    let ty = match written {
        ReturnType::Default => {
            return Some(Output { success: Success::Value(parse_quote!(())), failure: None });
        }
        ReturnType::Type(_, ty) => types::plain(ty),
    };
    check_borrows(ty, place, faults)?;
    let result = Fallible::read(ty, options);
    let (success, failure) = result.map_or((ty.clone(), None), |result| (result.value, Some(result.error)));
    let success = match types::plain(&success) {
        Type::ImplTrait(opaque) => stream(opaque, options, faults)?,
        value => {
            check_opaque(value, faults)?;
            Success::Value(value.clone())
        }
    };
    Some(Output { success, failure })
}

fn check_borrows(ty: &Type, place: Place, faults: &mut Faults) -> Option<()> {
    let borrowed = match place {
        Place::Impl => types::briefly_borrowed(ty),
        Place::Trait => types::borrowed(ty),
    };
    if let Some(reference) = borrowed {
        let message =
            format!("a result cannot borrow, as it is sent away: use `{}`", types::owned_instead(reference));
        faults.at(reference, message);
        return None;
    }
    if let (Place::Trait, Some(path)) = (place, types::self_type(ty)) {
        faults.at(path, "a client does not know what `Self` is: write the type itself");
        return None;
    }
    Some(())
}

fn check_opaque(ty: &Type, faults: &mut Faults) -> Option<()> {
    let Some(opaque) = types::opaque(ty) else { return Some(()) };
    faults.at(opaque, "`impl Stream` must be the whole result, or the first type of a `Result`");
    None
}

/// The two types of a `Result`.
struct Fallible {
    value: Type,
    error: Type,
}

impl Fallible {
    /// Reads `Result<T, E>`, and aliases such as `io::Result<T>` whose error only the compiler knows.
    fn read(ty: &Type, options: &Options) -> Option<Fallible> {
        let segment = types::last_segment(ty).filter(|segment| segment.ident == "Result")?;
        let krate = &options.krate;
        // An `impl Stream` cannot stand in a path, and the error of an alias does not depend on it.
        let named = without_opaque(ty);
        let error = parse_quote!(<#named as #krate::__private::Fallible>::Error);
        Some(match types::type_arguments(segment)[..] {
            [value, error, ..] => Fallible { value: value.clone(), error: error.clone() },
            [value] => Fallible { value: value.clone(), error },
            [] => Fallible { value: parse_quote!(<#ty as #krate::__private::Fallible>::Value), error },
        })
    }
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

fn stream(opaque: &TypeImplTrait, options: &Options, faults: &mut Faults) -> Option<Success> {
    let Some(item) = item(&opaque.bounds) else {
        let message = "a method gives back a value or a stream: write a type, or `impl Stream<Item = T> + Send + \
                       'static`; for a future, write `async fn`";
        faults.at(opaque, message);
        return None;
    };
    let is_static =
        opaque.bounds.iter().any(|bound| matches!(bound, TypeParamBound::Lifetime(l) if l.ident == "static"));
    let is_send = opaque.bounds.iter().any(|bound| bound_named(bound, "Send").is_some());
    if !is_static || !is_send {
        let message = format!(
            "a stream goes on after its method returned, so it owns what it needs: write `impl Stream<Item = {}> + \
             Send + 'static`",
            types::written(item)
        );
        faults.at(opaque, message);
        return None;
    }
    check_opaque(item, faults)?;
    let result = Fallible::read(item, options);
    Some(match result {
        Some(result) => Success::Stream { item: result.value, failure: Some(Box::new(result.error)) },
        None => Success::Stream { item: types::plain(item).clone(), failure: None },
    })
}

/// The `T` of `Stream<Item = T>`.
fn item(bounds: &Punctuated<TypeParamBound, Token![+]>) -> Option<&Type> {
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
