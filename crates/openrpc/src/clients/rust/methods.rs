//! Groups of methods, and the methods.

use super::types::owned;
use super::{comment, quoted};
use crate::clients::api::{Answer, Group, Operation, Param, Params};
use crate::clients::text::{Source, lines};
use crate::clients::types::Type;

const BATCH: &str = "\
/// Collects calls to send as one batch: `let one = batch.add(client.one())`. After [`BatchBuilder::send`],
/// `one.read(&outcomes)` returns the result.
pub fn batch(&self) -> BatchBuilder {
    self.peer.batch()
}";

/// The most parameters that a tuple can hold for serde.
const TUPLE: usize = 16;

pub(super) fn write_group(out: &mut Source, group: &Group) {
    let class = &group.class;
    let is_root = group.prefix.is_empty();
    match is_root {
        true => out.line("/// Calls the methods of the API."),
        false => out.line(format!("/// The methods of `{}`.", lines(&group.prefix).concat())),
    }
    out.line("#[derive(Clone, Debug)]");
    out.line(format!("pub struct {class} {{"));
    out.indented(|out| out.line("peer: Peer,"));
    out.line("}");
    out.line("");
    out.line(format!("impl {class} {{"));
    out.indented(|out| {
        if is_root {
            out.line("/// Makes calls through this peer.");
            out.line("#[must_use]");
            out.line("pub fn new(peer: Peer) -> Client {");
            out.indented(|out| out.line("Client { peer }"));
            out.line("}");
            out.line("");
            BATCH.lines().for_each(|line| out.line(line));
        }
        for (at, inner) in group.groups.iter().enumerate() {
            if is_root || at > 0 {
                out.line("");
            }
            out.line(format!("/// The methods of `{}`.", lines(&inner.prefix).concat()));
            out.line("#[must_use]");
            out.line(format!("pub fn {}(&self) -> {} {{", inner.name, inner.class));
            out.indented(|out| out.line(format!("{} {{ peer: self.peer.clone() }}", inner.class)));
            out.line("}");
        }
        for (at, method) in group.methods.iter().enumerate() {
            if is_root || at > 0 || !group.groups.is_empty() {
                out.line("");
            }
            write_method(out, method);
        }
    });
    out.line("}");
    out.line("");
    group.groups.iter().for_each(|group| write_group(out, group));
}

fn write_method(out: &mut Source, method: &Operation) {
    comment(out, &docs(method));
    match method.docs.deprecated.as_deref().map(|reason| lines(reason).join(" ")) {
        Some(reason) if reason.is_empty() => out.line("#[deprecated]"),
        Some(reason) => out.line(format!("#[deprecated(note = {})]", quoted(&reason))),
        None => {}
    }
    if method.params.all().len() > 7 {
        out.line("#[allow(clippy::too_many_arguments)]");
    }
    let takes: Vec<String> = match &method.params {
        Params::Unknown => vec![", params: impl Serialize".to_owned()],
        params => {
            params.all().iter().map(|param| format!(", {}: {}", param.name, taken(param, "&"))).collect()
        }
    };
    // What is sent when it is awaited can be given a timeout before, or be part of a batch.
    let (mark, gives) = match &method.answer {
        Answer::Nothing => ("async ", "Result<(), CallError>".to_owned()),
        Answer::Value(kind) => ("", format!("Request<{}>", owned(kind))),
        Answer::Stream { item, .. } => ("", format!("StreamRequest<{}>", owned(item))),
    };
    let (name, wire) = (&method.name, quoted(&method.wire));
    out.line(format!("pub {mark}fn {name}(&self{}) -> {gives} {{", takes.concat()));
    out.indented(|out| {
        let sends = write_params(out, &method.params);
        out.line(match &method.answer {
            Answer::Nothing => format!("self.peer.notify({wire}, {sends}).await"),
            Answer::Value(_) => format!("self.peer.call({wire}, {sends})"),
            Answer::Stream { names: None, .. } => format!("self.peer.stream({wire}, {sends})"),
            Answer::Stream { names: Some((item, unsubscribe)), .. } => {
                let names = format!("Subscription::named({}, {})", quoted(item), quoted(unsubscribe));
                format!("self.peer.subscribe({wire}, {sends}, {names})")
            }
        });
    });
    out.line("}");
}

fn docs(method: &Operation) -> Vec<String> {
    let mut all = method.docs.paragraphs(&method.wire);
    // In Rust this is a heading that readers look for.
    if let Some(at) =
        all.iter().rposition(|line| line == "Errors:").filter(|_| !method.docs.errors.is_empty())
    {
        all.splice(at..=at, ["# Errors".to_owned(), String::new()]);
    }
    let documented = method.params.all().iter().filter(|param| !param.docs.trim().is_empty());
    let params: Vec<String> =
        documented.map(|param| format!("- `{}`: {}", param.name, lines(&param.docs).join(" "))).collect();
    if !params.is_empty() {
        let at = all.iter().position(|line| line == "# Errors").map_or(all.len(), |at| at - 1);
        let after = all.split_off(at);
        all.push(String::new());
        all.extend(params);
        all.extend(after);
    }
    all
}

/// Writes what has to be said before parameters can be sent; gives what is sent.
fn write_params(out: &mut Source, params: &Params) -> String {
    match params {
        Params::Unknown => "params".to_owned(),
        params if params.all().is_empty() => "()".to_owned(),
        Params::ByName(all) => {
            let mark = if all.iter().any(|param| is_borrowed(&param.kind)) { "<'a>" } else { "" };
            out.line("#[derive(Serialize)]");
            out.line(format!("struct Params{mark} {{"));
            out.indented(|out| all.iter().for_each(|param| write_param(out, param)));
            out.line("}");
            let names: Vec<&str> = all.iter().map(|param| param.name.as_str()).collect();
            format!("Params {{ {} }}", names.join(", "))
        }
        Params::ByPosition(all) => {
            let required = all.iter().rposition(|param| param.is_required).map_or(0, |last| last + 1);
            let names: Vec<&str> = all.iter().map(|param| param.name.as_str()).collect();
            match &names[..] {
                [one] if required == 1 => format!("({one},)"),
                names if required == all.len() && names.len() <= TUPLE => format!("({})", names.join(", ")),
                names => {
                    let values: Vec<String> =
                        names.iter().map(|name| format!("serde_json::json!({name})")).collect();
                    format!("positions([{}], {required})", values.join(", "))
                }
            }
        }
    }
}

fn write_param(out: &mut Source, param: &Param) {
    let mut attributes = Vec::new();
    if param.name != param.key {
        attributes.push(format!("rename = {}", quoted(&param.key)));
    }
    if !param.is_required {
        attributes.push("skip_serializing_if = \"Option::is_none\"".to_owned());
    }
    if !attributes.is_empty() {
        out.line(format!("#[serde({})]", attributes.join(", ")));
    }
    out.line(format!("{}: {},", param.name, taken(param, "&'a ")));
}

/// The type of a parameter: what is large is lent.
fn taken(param: &Param, lent: &str) -> String {
    let kind = borrowed(&param.kind, lent);
    if param.is_required || kind.starts_with("Option<") { kind } else { format!("Option<{kind}>") }
}

fn borrowed(kind: &Type, lent: &str) -> String {
    match kind {
        Type::String => format!("{lent}str"),
        Type::List(item) => format!("{lent}[{}]", owned(item)),
        Type::Union(kinds) => {
            match kinds.iter().filter(|kind| **kind != Type::Null).collect::<Vec<_>>()[..] {
                [one] => format!("Option<{}>", borrowed(one, lent)),
                _ => format!("{lent}{}", owned(kind)),
            }
        }
        kind if is_borrowed(kind) => format!("{lent}{}", owned(kind)),
        kind => owned(kind),
    }
}

/// Whether a value is lent, and not copied.
fn is_borrowed(kind: &Type) -> bool {
    match kind {
        Type::Null | Type::Boolean | Type::Integer { .. } | Type::Number => false,
        Type::Union(kinds) => kinds.iter().any(is_borrowed),
        _ => true,
    }
}
