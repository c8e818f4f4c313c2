//! Clients that are made from documents: how they look, and that nothing in a document can break them.
//!
//! They look as the files in `golden/` do. `UPDATE_GOLDEN=1 cargo test -p switchboard-openrpc --test clients` writes those anew. That they
//! work is tested in `tests/interop`, where they run.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_openrpc::{Document, Language, client};

const LANGUAGES: [(Language, &str); 3] =
    [(Language::TypeScript, "ts"), (Language::Python, "py"), (Language::Rust, "rs")];

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The client of a document as it is kept; what carries its calls is left out, for it is the same in all.
fn shown(document: &Document, language: Language) -> String {
    let text = client(document, language).unwrap();
    let end = text.find("// The transports.").or_else(|| text.find("# The transports."));
    text[..end.unwrap_or(text.len())].trim_end().to_owned() + "\n"
}

// OR-50
#[test]
fn a_client_looks_as_it_did() {
    for (name, (language, ending)) in
        ["zoo", "names"].into_iter().flat_map(|name| LANGUAGES.map(|it| (name, it)))
    {
        let document = Document::parse(fs::read(golden(&format!("{name}.json"))).unwrap()).unwrap();
        let file = golden(&format!("{name}.{ending}"));
        let found = shown(&document, language);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, &found).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == expected,
            "{} is another now; UPDATE_GOLDEN=1 writes it anew:\n{found}",
            file.display()
        );
    }
}

fn document(methods: Value) -> Document {
    let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": methods});
    Document::from_value(value).unwrap()
}

// OR-50
#[test]
fn names_are_preferred_to_positions_unless_only_those_are_taken() {
    let method = |structure: &str| {
        let param = json!({"name": "a", "required": true, "schema": {"type": "integer"}});
        document(json!([{"name": "m", "paramStructure": structure, "params": [param]}]))
    };
    let check = |structure: &str, language: Language, expected: &str| {
        let text = client(&method(structure), language).unwrap();
        assert!(text.contains(expected), "{text}");
    };
    for structure in ["either", "by-name"] {
        check(structure, Language::TypeScript, "m(params: { a: number }, options");
        check(structure, Language::Python, r#"notify("m", {"a": a})"#);
        check(structure, Language::Rust, "Params { a }");
    }
    check("by-position", Language::TypeScript, "positions([a])");
    check("by-position", Language::Python, r#"notify("m", [a])"#);
    check("by-position", Language::Rust, r#"notify("m", (a,))"#);
}

#[test]
fn texts_cannot_leave_the_place_they_stand_in() {
    let evil = "*/ alert(1) \"\"\" \\\"\"\" \u{2028} \u{202e} \n fn main() {} \r import os";
    let schema = json!({"type": "object", "description": evil, "properties": {evil: {"description": evil, "const": evil}}});
    let document = document(json!([{
        "name": evil, "summary": evil, "deprecated": true, "x-deprecated-reason": evil,
        "params": [{"name": evil, "description": evil, "schema": schema}],
        "result": {"name": "r", "schema": schema}, "errors": [{"code": 1, "message": evil}],
    }]));
    for (language, ending) in LANGUAGES {
        let text = shown(&document, language);
        assert!(text.is_ascii() || !text.contains(['\u{2028}', '\u{202e}', '\r']), "{text}");
        let begins = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
        assert!(!begins("fn main") || ending == "py", "{text}");
        assert!(!begins("import os"), "{text}");
    }
    let text = shown(&document, Language::TypeScript);
    for line in text.lines().map(str::trim).filter(|line| line.starts_with(['/', '*'])) {
        assert!(line.find("*/").is_none_or(|end| end + 2 == line.len()), "{line}");
    }
}

#[test]
fn no_text_becomes_a_test_of_the_documentation() {
    let texts = [
        "Adds.\n\n> ```\n> evil();\n> ```\n\nEnd.",
        "Adds.\n\n-     evil();\n\nEnd.",
        "Adds.\n\n<!--\n```\n-->\n\n    evil();\n\n```",
        "Adds.\n\n~~~rust\nevil();\n~~~",
        "Adds.\n\n`````text\n```\n`````\n````\nevil();\n````",
        "Adds.\n\n1.\t \t\t\tevil();",
    ];
    for text in texts {
        let schema =
            json!({"type": "object", "description": text, "properties": {"p": {"description": text}}});
        let document = document(json!([{
            "name": "m", "description": text, "errors": [{"code": 1, "message": text}],
            "params": [{"name": "a", "description": text, "schema": schema}],
        }]));
        let text = client(&document, Language::Rust).unwrap();
        let mut fence: Option<String> = None;
        let mut fences = 0;
        for line in text.lines().map(str::trim_start) {
            let Some(line) = line.strip_prefix("///") else {
                assert_eq!(fence, None, "a fence is left open: {text}");
                continue;
            };
            let line = line.strip_prefix(' ').unwrap_or(line);
            match &fence {
                Some(marks) if line == marks => fence = None,
                Some(marks) => assert!(!line.contains(marks.as_str()), "{line} in {text}"),
                None if line.starts_with("```") => {
                    fences += 1;
                    fence = Some(line.strip_suffix("text").expect("a text").to_owned());
                }
                None => {
                    assert!(
                        !["```", "~~~", "    "].iter().any(|mark| line.contains(mark)),
                        "{line} in {text}"
                    );
                    assert!(!line.contains("evil"), "{line} in {text}");
                }
            }
        }
        assert_eq!(fences, 3, "{text}");
    }
}

#[test]
fn no_two_things_have_one_name() {
    let titled = |title: &str| json!({"title": title, "properties": {"x": {"type": "integer"}}});
    let long = "long".repeat(1000);
    let titles = ["MathMethods", "Exception", "OSError", "ValueError", long.as_str()];
    let params: Vec<Value> =
        titles.iter().map(|title| json!({"name": title, "schema": titled(title)})).collect();
    let twice = json!([{"name": "dup", "schema": {"type": "integer"}}, {"name": "dup", "schema": {"type": "string"}}]);
    let document = document(json!([
        {"name": "math/add", "params": params},
        {"name": "named", "params": twice},
        {"name": "placed", "paramStructure": "by-position", "params": twice},
    ]));
    let text = client(&document, Language::Python).unwrap();
    let mut classes: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("class ")?.split(['(', ':']).next()).collect();
    let count = classes.len();
    classes.sort_unstable();
    classes.dedup();
    assert_eq!(classes.len(), count, "{classes:?}");
    for name in ["Exception", "OSError", "ValueError"] {
        assert!(!classes.contains(&name), "{name} is built in");
    }
    assert!(classes.iter().all(|name| name.len() <= 66), "{classes:?}");
    for (language, named, placed) in [
        (Language::TypeScript, "named(params: { dup?: number } = {}", "placed(dup?: number, dup2?: string"),
        (Language::Python, "named(self, dup: Optional[int] = None)", "_positions([dup, dup2], 0)"),
        (
            Language::Rust,
            "named(&self, dup: Option<i64>)",
            "placed(&self, dup: Option<i64>, dup2: Option<&str>)",
        ),
    ] {
        let text = client(&document, language).unwrap();
        assert!(text.contains(named) && text.contains(placed), "{text}");
    }
}

#[test]
fn only_what_a_union_alone_has_is_told_apart_by_a_tag() {
    let branch = |properties: Value| json!({"type": "object", "description": "A branch.", "required": ["kind"], "properties": properties});
    let written = |other: Value| {
        let branches = json!([{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]);
        let mut value = serde_json::to_value(document(json!([
            {"name": "one", "params": [], "result": {"name": "r", "schema": {"oneOf": branches}}},
            {"name": "two", "params": [], "result": {"name": "r", "schema": other}},
        ])))
        .unwrap();
        let a = branch(json!({"kind": {"const": "a"}, "x": {}}));
        value["components"] = json!({"schemas": {"A": a, "B": branch(json!({"kind": {"const": "b"}}))}});
        client(&Document::from_value(value).unwrap(), Language::Rust).unwrap()
    };
    let text = written(json!({}));
    let union = "
#[serde(tag = \"kind\")]
pub enum OneResult {
    #[serde(rename = \"a\")]
    A(A),
    /// A branch.
    #[serde(rename = \"b\")]
    B,
}
";
    assert!(text.contains(union), "{text}");
    assert!(!text.contains("pub kind") && !text.contains("Kind {") && !text.contains("struct B "), "{text}");
    // Whoever else has a branch needs the member that says which it is.
    let text = written(json!({"$ref": "#/components/schemas/A"}));
    assert!(text.contains("#[serde(untagged)]") && text.contains("pub kind: AKind"), "{text}");
}

#[test]
fn references_that_lead_nowhere_stand_for_anything() {
    let method = json!([{"name": "m", "params": [], "result": {"name": "r", "schema": {"$ref": "https://example.com/s.json"}}}]);
    let text = client(&document(method), Language::TypeScript).unwrap();
    assert!(text.contains("m(options?: CallOptions): Promise<unknown>"), "{text}");
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        Just(json!({"$ref": "#/methods/0/result/schema"})),
        prop::sample::select(vec!["string", "integer", "null", "object", "array"])
            .prop_map(|kind| json!({"type": kind})),
        prop::collection::vec(".{0,3}", 0..3).prop_map(|values| json!({"enum": values})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"oneOf": all})),
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|all| json!({"allOf": all, "properties": {"a": true}})),
            prop::collection::btree_map(".{0,3}", inner.clone(), 0..3)
                .prop_map(|all| json!({"properties": all})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"items": all, "minItems": 2})),
            inner.prop_map(|item| json!({"type": ["array", "null"], "items": item})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_document_gives_the_same_client_each_time(name in ".{0,8}", other in ".{0,8}", one in schema(), two in schema()) {
        let document = document(json!([
            {"name": name, "params": [{"name": other, "schema": two}], "result": {"name": "r", "schema": one}},
            {"name": other, "params": [], "x-stream": {"item": two}},
        ]));
        for (language, _) in LANGUAGES {
            prop_assert_eq!(client(&document, language).unwrap(), client(&document, language).unwrap());
        }
    }
}

#[test]
fn a_small_document_cannot_become_a_client_without_end() {
    let branches: Vec<Value> = (0..100).map(|at| json!({"properties": {format!("p{at}"): true}})).collect();
    let schema = json!({"properties": {"a": {"description": "x".repeat(1_000_000)}}, "oneOf": branches});
    let method = json!([{"name": "m", "params": [], "result": {"name": "r", "schema": schema}}]);
    for (language, _) in LANGUAGES {
        let error = client(&document(method.clone()), language).unwrap_err();
        assert!(error.to_string().starts_with("the document is too large"), "{error}");
    }
}

#[test]
fn a_name_that_would_stand_for_itself_is_anything() {
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let names = ["A", "B", "U", "L"];
    let params: Vec<Value> = names.iter().map(|name| json!({"name": name, "schema": to(name)})).collect();
    let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"},
    "methods": [{"name": "m", "params": params}], "components": {"schemas": {
        "A": {"anyOf": [to("B"), {"type": "null"}]}, "B": {"anyOf": [to("A"), {"type": "null"}]},
        "U": {"oneOf": [to("U"), {"type": "string"}, {"type": "integer"}]}, "L": {"items": to("L")},
    }}});
    let document = Document::from_value(value).unwrap();
    for (language, anything, list) in [
        (Language::TypeScript, "export type * = unknown;", "export type L = L[];"),
        (Language::Python, "* = Any", "L = List[\"L\"]"),
        (Language::Rust, "pub type * = Value;", "pub struct L(pub Vec<L>);"),
    ] {
        let text = client(&document, language).unwrap();
        for name in ["A", "B", "U"] {
            let line = anything.replace('*', name);
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(text.lines().any(|found| found == list), "{text}");
    }
}

#[test]
fn schemas_that_are_put_together_from_themselves_come_to_an_end() {
    let itself = json!({"$ref": "#/methods/0/result/schema"});
    let schema = json!({
        "allOf": [{"properties": {"p": {"allOf": [itself], "properties": {"a": true}}}}, itself],
        "oneOf": [{"properties": {"q": itself}}, itself],
        "properties": {"r": {"oneOf": [itself, {"type": "null"}], "properties": {"b": itself}}},
    });
    let method = json!([{"name": "m", "params": [], "result": {"name": "r", "schema": schema}}]);
    for (language, _) in LANGUAGES {
        client(&document(method.clone()), language).unwrap();
    }
}
