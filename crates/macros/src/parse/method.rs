//! From a function to a method.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, GenericParam, LitStr, PatType, ReceiverKind, Safety, Signature};

use crate::attributes::{self, ArgAttribute, MethodAttribute};
use crate::faults::Faults;
use crate::mcp::{self, Mcp};
use crate::model::{Input, Kind, Method, Output};
use crate::options::Options;
use crate::parse::{Container, argument, output};

/// Reads a function and takes our attributes off it. None if it is to be skipped or is not right.
pub(crate) fn method(
    attrs: &mut Vec<Attribute>,
    sig: &mut Signature,
    place: Container,
    options: &Options,
    faults: &mut Faults,
) -> Option<Method> {
    let attribute = faults.unwrap_or_default(MethodAttribute::take(attrs));
    let mcp = faults.unwrap_or_default(Mcp::take(attrs, options));
    let inputs = take_inputs(sig, faults);
    if attribute.skip {
        mcp.iter().for_each(|mcp| mcp::check_skipped(mcp, faults));
        return None;
    }
    check_receiver(sig, faults);
    check_qualifiers(sig, faults);
    check_generics(sig, faults);
    let inputs: Vec<Input> = inputs
        .into_iter()
        .filter_map(|(typed, arg, docs)| argument::input(&typed, arg, docs, place, options, faults))
        .collect();
    check_inputs(&inputs, faults);
    let output = output::output(&sig.output, place, options, faults)?;
    let name = full_name(sig, &attribute, options, faults);
    if let (Some(names), Output::Value(_)) = (&attribute.subscription, &output) {
        faults.at(&names.item, "`subscription` is only for methods that return a stream");
    }
    if let (Some(span), false) = (attribute.notification, output.is_nothing()) {
        let message = "the result of a notification is never sent: return `()` or `Result<(), E>`";
        faults.add(syn::Error::new(span, message));
    }
    let subscription = attribute
        .subscription
        .as_ref()
        .map(|names| (options.full_name(&names.item.value()), options.full_name(&names.unsubscribe.value())));
    let method = Method {
        function: sig.ident.clone(),
        name,
        docs: attributes::docs(attrs),
        conditions: attributes::conditions(attrs),
        deprecated: attributes::deprecation(attrs),
        safe: attribute.safe,
        idempotent: attribute.idempotent,
        durable: attribute.durable,
        allows_unknown_params: attribute.allow_unknown_params || options.allow_unknown_params,
        tags: attribute.tags,
        subscription,
        is_notification: attribute.notification.is_some(),
        examples: attribute.examples,
        extensions: attribute.extensions,
        mcp,
        is_async: sig.asyncness.is_some(),
        inputs,
        output,
        result_schema: attribute.result_schema,
    };
    mcp::check_method(&method, faults);
    Some(method)
}

/// What the function takes after its receiver, without our attributes and without doc comments, which Rust does not
/// allow there.
fn take_inputs(sig: &mut Signature, faults: &mut Faults) -> Vec<(PatType, ArgAttribute, String)> {
    let typed = sig.inputs.iter_mut().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    typed
        .map(|typed| {
            let arg = faults.unwrap_or_default(ArgAttribute::take(&mut typed.attrs));
            let docs = attributes::docs(&typed.attrs);
            typed.attrs.retain(|attr| !attr.path().is_ident("doc"));
            (typed.clone(), arg, docs)
        })
        .collect()
}

fn check_receiver(sig: &Signature, faults: &mut Faults) {
    let Some(receiver) = sig.receiver() else {
        let message = format!(
            "a method needs `&self`: write `fn {}(&self, …)`, or put `#[method(skip)]` on a function that callers \
             must not call",
            sig.ident
        );
        return faults.at(&sig.ident, message);
    };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {}
        ReceiverKind::Reference(_, _, Some(_)) => faults.at(
            receiver,
            "a method is called by many callers at once, so it cannot take `&mut self`: write `&self`, and keep \
             mutable state in a `Mutex` or an atomic",
        ),
        _ => faults.at(receiver, "a method is called more than once, so it cannot take `self`: write `&self`"),
    }
}

fn check_qualifiers(sig: &Signature, faults: &mut Faults) {
    if let Some(token) = &sig.constness {
        faults.at(token, "a method cannot be `const`: remove the keyword");
    }
    if let Safety::Unsafe(token) = &sig.safety {
        faults.at(token, "a method cannot be `unsafe`, because remote callers call it: remove the keyword");
    }
    if let Some(abi) = &sig.abi {
        faults.at(abi, "a method cannot be `extern`: remove it");
    }
}

/// Lifetimes are fine, as they can only be those of `&self` and of what the context holds.
fn check_generics(sig: &Signature, faults: &mut Faults) {
    for param in &sig.generics.params {
        if !matches!(param, GenericParam::Lifetime(_)) {
            faults.at(
                param,
                "a method cannot be generic, because callers send values, not types: use a concrete type, such as an \
                 enum, or `Json` for any value",
            );
        }
    }
}

fn check_inputs(inputs: &[Input], faults: &mut Faults) {
    let arguments: Vec<_> = inputs
        .iter()
        .filter_map(|input| match input {
            Input::Argument(argument) => Some(argument),
            Input::Borrowed(_) => None,
        })
        .collect();
    for (position, argument) in arguments.iter().enumerate() {
        if arguments[..position].iter().any(|earlier| earlier.name == argument.name) {
            let message = format!("two arguments are named \"{}\": rename one", argument.name);
            faults.at(&argument.variable, message);
        }
        if let Some(header) = &argument.header {
            let is_same = |other: &LitStr| other.value().eq_ignore_ascii_case(&header.value());
            if arguments[..position].iter().any(|earlier| earlier.header.as_ref().is_some_and(is_same)) {
                let message = "another argument already has this header, and headers ignore case: rename one";
                faults.at(header, message);
            }
        }
        if matches!(argument.kind, Kind::Rest(_)) && position + 1 < arguments.len() {
            let message = "`rest` takes all remaining values, so it must be the last argument";
            faults.at(&argument.variable, message);
        }
    }
}

fn full_name(sig: &Signature, attribute: &MethodAttribute, options: &Options, faults: &mut Faults) -> String {
    let own = attribute
        .name
        .as_ref()
        .map_or_else(|| options.methods.apply(&sig.ident.unraw().to_string()), LitStr::value);
    let full = options.full_name(&own);
    let span = attribute.name.as_ref().map_or(sig.ident.span(), Spanned::span);
    if own.is_empty() {
        faults.add(syn::Error::new(
            span,
            "the name is empty: write one, or remove `name` to use the function's name",
        ));
    }
    if full.starts_with("rpc.") {
        let message = format!(
            "the name \"{full}\" starts with \"rpc.\", which JSON-RPC reserves: choose another name or \
             namespace"
        );
        faults.add(syn::Error::new(span, message));
    }
    full
}
