//! The public types of the library: each name once, and all of them able to grow.

use std::collections::BTreeMap;

use super::{Finding, Source, mask};

/// The crates whose types users name.
const LIBRARIES: &[&str] =
    &["crates/core/", "crates/layers/", "crates/openrpc/", "crates/playground/", "crates/transport/"];

/// Types that are complete by nature, each with the reason.
const COMPLETE: &[(&str, &str)] = &[
    ("AuditKind", "a text with a name"),
    ("BatchId", "a number with a name"),
    ("CarrierTrace", "a trace context with a name"),
    ("CloseCode", "a number with a name"),
    ("Code", "a number with a name"),
    ("Context", "private fields keep others from making one"),
    ("Decoded", "what a frame can be, by the protocol"),
    ("Direction", "sent or received"),
    ("Effect", "a rule allows or denies"),
    ("FeedClosed", "gives back the value"),
    ("Guarded", "private fields keep others from making one"),
    ("Incoming", "a message or a batch, by the protocol"),
    ("Kind", "the kinds of JSON values"),
    ("TraceContext", "the fields of a traceparent"),
    ("Members", "one JSON object with a name"),
    ("Message", "what a message can be, by the protocol"),
    ("MessageKind", "text or binary, by the protocol"),
    ("Outcome", "a value, an error or a stream: everything that answers a call matches on it"),
    ("Piece", "internal: what a line of an event stream can be"),
    ("Reply", "an outcome and all that travels beside it, which can grow"),
    ("ResponseOutcome", "a result or an error, by the protocol"),
    ("Role", "server or client"),
    ("Span", "a start and an end"),
    ("Version", "the versions of JSON-RPC"),
];

/// A public type as it is declared.
struct Declared<'a> {
    source: &'a Source,
    line: usize,
    name: String,
    /// Whether others could name all its fields or variants, and would break when one is added.
    is_open: bool,
}

/// Names that are used twice, and types that cannot grow.
pub(super) fn findings(sources: &[Source]) -> Vec<Finding> {
    let ours = sources.iter().filter(|source| {
        let is_library = LIBRARIES.iter().any(|library| source.path.starts_with(library));
        is_library && source.is_rust() && source.is_in("src") && !source.is_in("tests")
    });
    let all: Vec<Declared<'_>> = ours.flat_map(declared).collect();
    let mut findings = Vec::new();
    let mut seen: BTreeMap<&str, &Declared<'_>> = BTreeMap::new();
    for found in &all {
        if let Some(first) = seen.insert(&found.name, found) {
            let what =
                format!("`{}` is also a type in {}: rename one of them", found.name, first.source.path);
            findings.push(found.source.finding(found.line, what));
        }
        if found.is_open && !COMPLETE.iter().any(|(name, _)| *name == found.name) {
            let what = format!(
                "`{}` cannot grow: make it `#[non_exhaustive]`, or say in COMPLETE of xtask/src/tidy/public.rs why it is complete",
                found.name
            );
            findings.push(found.source.finding(found.line, what));
        }
    }
    findings
}

/// The public types of one file.
fn declared(source: &Source) -> Vec<Declared<'_>> {
    let code = mask::code_only(&source.text);
    let lines: Vec<&str> = code.lines().collect();
    let mut all = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((kind, rest)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        if !matches!(kind, "struct" | "enum" | "trait" | "type" | "union") {
            continue;
        }
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let is_open = match kind {
            "enum" => true,
            "struct" => has_public_fields(&lines[index..]),
            _ => false,
        };
        all.push(Declared {
            source,
            line: index + 1,
            name: name.to_owned(),
            is_open: is_open && !is_non_exhaustive(&lines[..index]),
        });
    }
    all
}

/// Whether the struct that begins here has fields that others can name.
fn has_public_fields(lines: &[&str]) -> bool {
    let first = lines[0];
    let fields = lines[1..].iter().take_while(|line| !line.starts_with('}'));
    first.contains("(pub ")
        || first.ends_with('{') && fields.into_iter().any(|line| line.starts_with("    pub "))
}

/// Whether the attributes above say that it can grow. Comments are blank here.
fn is_non_exhaustive(above: &[&str]) -> bool {
    let attributes = above.iter().rev().take_while(|line| line.trim().is_empty() || line.starts_with("#["));
    attributes.into_iter().any(|line| line.contains("non_exhaustive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{check, source};

    fn at(text: &str, expected: &[(usize, &str)]) {
        check(&findings(&[source("crates/core/src/a.rs", text)]), expected);
    }

    #[test]
    fn a_type_with_public_fields_or_variants_can_grow() {
        at("pub struct A {\n    pub b: u8,\n}", &[(1, "`A` cannot grow")]);
        at("pub enum A {\n    B,\n}", &[(1, "`A` cannot grow")]);
        at("pub struct A(pub u8);", &[(1, "`A` cannot grow")]);
        at("#[derive(Debug)]\n#[non_exhaustive]\npub struct A {\n    pub b: u8,\n}", &[]);
        at("#[non_exhaustive]\n/// Words.\npub enum A {\n    B,\n}", &[]);
        at("pub struct A {\n    b: u8,\n}\npub struct C(u8);\npub struct D;\npub trait E {}", &[]);
        at("pub(crate) struct A {\n    pub b: u8,\n}", &[]);
    }

    #[test]
    fn an_attribute_of_another_type_does_not_count() {
        at("#[non_exhaustive]\npub enum A {\n    B,\n}\npub enum C {\n    D,\n}", &[(5, "`C` cannot grow")]);
    }

    #[test]
    fn types_that_are_complete_by_nature_need_nothing() {
        at("pub struct Code(pub i64);", &[]);
    }

    #[test]
    fn a_name_is_used_once_over_all_libraries() {
        let core = source("crates/core/src/a.rs", "pub struct Server;");
        let other = source("crates/transport/src/http/b.rs", "\npub trait Server {}\nstruct Options;");
        let test = source("crates/transport/tests/c.rs", "pub struct Server;");
        let program = source("crates/cli/src/d.rs", "pub struct Server;");
        check(
            &findings(&[core, other, test, program]),
            &[(2, "`Server` is also a type in crates/core/src/a.rs")],
        );
    }
}
