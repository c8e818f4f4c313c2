//! Clients in Rust: types with serde, and methods over a peer.

mod cycles;
mod methods;
mod tags;
mod types;
mod uses;

use super::api::{Api, Style};
use super::names::snake;
use super::text::{Source, lines};
use super::types::Definition;
use cycles::Cycles;
use tags::Tags;
use types::Written;
use uses::Uses;

pub(super) const STYLE: Style = Style {
    method: snake,
    param: snake,
    keywords: &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
        "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self",
        "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
        "virtual", "where", "while", "yield",
    ],
    types: &[
        "BTreeMap",
        "BatchBuilder",
        "Box",
        "CallError",
        "Client",
        "Clone",
        "Debug",
        "Deserialize",
        "Err",
        "None",
        "Ok",
        "Option",
        "Params",
        "PartialEq",
        "Peer",
        "Request",
        "Result",
        "Self",
        "Serialize",
        "Some",
        "StreamRequest",
        "String",
        "Subscription",
        "Value",
        "Vec",
    ],
    members: &[],
    client: &["batch", "new"],
    locals: &["positions"],
    names_unions: true,
};

pub(super) fn write(api: &Api) -> String {
    let mut body = Source::new("    ");
    let uses = Uses::new(api);
    let (cycles, tags) = (Cycles::new(&api.definitions), Tags::new(&api.definitions, &uses));
    let types = Written { all: &api.definitions, cycles: &cycles, tags: &tags, uses: &uses };
    api.definitions.iter().for_each(|definition| types.write(&mut body, definition));
    methods::write_group(&mut body, &api.root);
    let mut body = body.finish();
    if body.contains("positions([") {
        body.push_str(POSITIONS);
    }
    let mut out = Source::new("    ");
    let title = lines(&api.title).join(" ");
    out.line(format!(
        "//! A client for {title}, made by `switchboard generate rust`. Make it again rather than edit it."
    ));
    out.line("//!");
    out.line(
        "//! It calls over a `switchboard::Peer` of any carrier, and needs `serde` and `serde_json` besides.",
    );
    out.line("#![allow(missing_docs)] // The document does not describe everything.");
    out.line("");
    out.raw(&imports(&body));
    out.line("");
    out.raw(body.trim_end());
    out.line("");
    out.finish()
}

/// What is used, and nothing else: an import too many is a warning to whoever compiles it.
fn imports(body: &str) -> String {
    let mut text = String::new();
    let has = |name: &str| {
        body.match_indices(name).any(|(at, _)| {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            !body[..at].ends_with(is_part) && !body[at + name.len()..].starts_with(is_part)
        })
    };
    if has("BTreeMap") {
        text.push_str("use std::collections::BTreeMap;\n\n");
    }
    let serde: Vec<&str> = ["Deserialize", "Serialize"].into_iter().filter(|name| has(name)).collect();
    match serde[..] {
        [] => {}
        [one] => text.push_str(&format!("use serde::{one};\n")),
        _ => text.push_str("use serde::{Deserialize, Serialize};\n"),
    }
    if has("Value") {
        text.push_str("use serde_json::Value;\n");
    }
    let own = ["BatchBuilder", "CallError", "Peer", "Request", "StreamRequest", "Subscription"]
        .into_iter()
        .filter(|name| has(name));
    match own.collect::<Vec<_>>()[..] {
        [one] => text.push_str(&format!("use switchboard::{one};\n")),
        ref several => text.push_str(&format!("use switchboard::{{{}}};\n", several.join(", "))),
    }
    text
}

const POSITIONS: &str = "\
/// Parameters by position, without those at the end that are left out.
fn positions<const N: usize>(values: [Value; N], required: usize) -> Vec<Value> {
    let mut values = Vec::from(values);
    while values.len() > required && values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    values
}
";

/// A comment for documentation, of which no code is ever run as a test.
///
/// Code in Markdown needs a fence or four spaces, wherever it stands. A text with either is shown as it is, in a fence of our own that is
/// longer than any inside.
fn comment(out: &mut Source, lines: &[String]) {
    let is_code = |line: &String| ["```", "~~~", "    "].iter().any(|mark| line.trim_start().contains(mark));
    if !lines.iter().any(is_code) {
        return lines.iter().for_each(|line| out.line(format!("/// {}", line.trim_start()).trim_end()));
    }
    let ticks = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max();
    let fence = "`".repeat(ticks.unwrap_or_default().max(2) + 1);
    out.line(format!("/// {fence}text"));
    lines.iter().for_each(|line| out.line(format!("/// {line}").trim_end()));
    out.line(format!("/// {fence}"));
}

/// A string. What cannot be shown is written by its number.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

/// The definition of a name.
fn definition<'a>(all: &'a [Definition], name: &str) -> Option<&'a Definition> {
    all.binary_search_by(|definition| definition.name.as_str().cmp(name)).ok().map(|at| &all[at])
}
