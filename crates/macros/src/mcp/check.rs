//! What `#[mcp(…)]` says, compared with the method that it is on and with the others of the block.

use syn::Ident;

use super::{Completed, EXTENSION, Mcp, Resource, syntax};
use crate::faults::Faults;
use crate::model::{Argument, Kind, Method};
use crate::parse::types;

/// A function that is not a method is not offered to clients.
pub(crate) fn check_skipped(mcp: &Mcp, faults: &mut Faults) {
    if let Some(key) = mcp.given.first() {
        faults.at(key, "`#[mcp(…)]` has no effect on a skipped function: remove it, or remove `skip`");
    }
}

/// Compares what a method says with itself and with the method.
pub(crate) fn check_method(method: &Method, faults: &mut Faults) {
    let Some(mcp) = &method.mcp else { return };
    check_keys(mcp, faults);
    check_name(mcp, faults);
    check_marks(method, mcp, faults);
    if let Some(resource) = &mcp.resource {
        check_variables(method, resource, faults);
    }
    if let Some(other) = method.extensions.iter().find(|extension| extension.name.value() == EXTENSION) {
        faults.at(&other.name, "`#[mcp(…)]` writes this extension: remove one of them");
    }
}

fn check_keys(mcp: &Mcp, faults: &mut Faults) {
    let given = |key: &str| mcp.given.iter().find(|given| *given == key);
    if let (Some(_), Some(prompt)) = (given("resource"), given("prompt")) {
        faults.at(prompt, "a method is a resource or a prompt, not both: remove one of them");
    }
    if let (None, Some(mime)) = (given("resource"), given("mime")) {
        faults.at(mime, "`mime` is the media type of a resource: add `resource = \"…\"`, or remove `mime`");
    }
    let is_other = |key: &&Ident| *key != "completes";
    if let (Some(_), Some(other)) = (given("completes"), mcp.given.iter().find(is_other)) {
        let message = format!(
            "`completes` must be the only key, because clients do not see this method: remove `{other}`"
        );
        faults.at(other, message);
    }
}

/// Clients refer to resources by URI, so their names can be any text.
fn check_name(mcp: &Mcp, faults: &mut Faults) {
    let Some(name) = mcp.name.as_ref().filter(|_| mcp.resource.is_none()) else { return };
    if !syntax::is_name(&name.value()) {
        faults
            .at(name, "hosts accept only names of 1 to 64 letters, digits, `_` and `-`: choose such a name");
    }
}

fn check_marks(method: &Method, mcp: &Mcp, faults: &mut Faults) {
    if let Some(value) = mcp.destructive.as_ref().filter(|value| value.value && method.safe) {
        faults.at(value, "a `safe` method changes nothing, so it cannot be destructive: remove one of them");
    }
    let needs_result =
        |key: &&Ident| ["resource", "prompt", "completes", "task"].iter().any(|one| *key == one);
    if let Some(key) = mcp.given.iter().find(needs_result).filter(|_| method.is_notification) {
        faults.at(key, format!("a notification has no result, but `{key}` needs one: remove one of them"));
    }
}

/// A client gives the variables of the URI and nothing else.
fn check_variables(method: &Method, Resource { uri, template }: &Resource, faults: &mut Faults) {
    for variable in &template.variables {
        if !method.arguments().any(|argument| argument.name == *variable) {
            let names = listed(method.arguments().map(|argument| argument.name.as_str()));
            faults
                .at(uri, format!("`{{{variable}}}` needs an argument `{variable}`; this method has {names}"));
        }
    }
    for argument in method.arguments().filter(|argument| is_required(argument)) {
        if !template.variables.contains(&argument.name) {
            let message = format!(
                "the URI of the resource has no `{{{}}}`, so this argument would never have a value: add it there, or give \
                 the argument a default",
                argument.name
            );
            faults.at(&argument.variable, message);
        }
    }
}

fn is_required(argument: &Argument) -> bool {
    matches!(argument.kind, Kind::Plain) && !types::is_named(&argument.ty, "Option")
}

/// Compares what methods complete with the methods that have these arguments.
pub(crate) fn check_completions(methods: &[Method], faults: &mut Faults) {
    let completes = methods.iter().filter_map(|method| method.mcp.as_ref()?.completes.as_ref());
    for completes in completes {
        for completed in &completes.arguments {
            if let Err(message) = check_completed(completed, methods) {
                faults.at(&completes.written, message);
            }
        }
    }
}

/// Methods of other blocks are out of sight here.
fn check_completed(completed: &Completed, methods: &[Method]) -> Result<(), String> {
    let Completed { method: name, argument, is_near } = completed;
    let Some(method) = methods.iter().find(|method| method.name == *name) else {
        return match is_near {
            true => Err(format!(
                "this block has no method \"{name}\"; write the full name for one of another block, as in \
                 `trips/plan.city`"
            )),
            false => Ok(()),
        };
    };
    let names: Vec<&str> = match &method.mcp {
        Some(Mcp { resource: Some(resource), .. }) => {
            resource.template.variables.iter().map(String::as_str).collect()
        }
        Some(Mcp { is_prompt: true, .. }) => {
            method.arguments().map(|argument| argument.name.as_str()).collect()
        }
        _ => {
            return Err(format!(
                "\"{name}\" is neither a prompt nor a resource, and MCP completes only their arguments: mark it with \
                 `#[mcp(prompt)]` or `#[mcp(resource = \"…\")]`"
            ));
        }
    };
    match names.contains(&argument.as_str()) {
        true => Ok(()),
        false => {
            Err(format!("\"{name}\" has no argument `{argument}` to complete; it has {}", listed(names)))
        }
    }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "no arguments".to_owned() } else { names.join(", ") }
}
