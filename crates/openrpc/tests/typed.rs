//! A service with all kinds of types: what its document says, how its calls are checked, and what clients are made of it.

#![cfg(feature = "validate")]
#![allow(clippy::unwrap_used, dead_code)]

mod official;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{Layer, Peer, Router, service};
use switchboard_openrpc::{Document, Generator, Info, Language, SpecVersion, Validation, client};

/// A page of things.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

/// A day.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Date(#[schemars(extend("format" = "date"))] String);

#[derive(Serialize, Deserialize, JsonSchema)]
struct Person {
    name: String,
    since: Date,
    home: Option<Address>,
    boss: Option<Box<Person>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Address {
    street: String,
    /// The number and the door.
    number: (u16, char),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Event {
    Came { who: Person },
    Left { who: String },
    Closed,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Expr {
    Zero,
    Num(f64),
    Add(Box<Expr>, Box<Expr>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Key {
    Id(u64),
    Name(String),
    Both { id: u32, name: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
    /// As the sky is.
    Blue,
}

struct Things;

#[service]
impl Things {
    fn people(&self, names: Page<String>) -> Page<Person> {
        Page { items: Vec::new(), next: names.next }
    }

    fn event(&self, event: Event) -> bool {
        matches!(event, Event::Closed)
    }

    fn compute(&self, expr: Expr) -> Option<Key> {
        let _ = expr;
        None
    }

    fn find(&self, key: Key, #[arg(default = 1)] limit: i32) -> HashMap<String, Vec<Person>> {
        let _ = (key, limit);
        HashMap::new()
    }

    fn paint(&self, colour: Colour, edge: Option<Colour>) -> bool {
        matches!((colour, edge), (Colour::Red, None))
    }

    fn counts(&self, by: BTreeMap<u32, i64>) -> (u8, i64) {
        let _ = by;
        (1, -1)
    }
}

fn router() -> Router {
    Router::builder().add(Things).build().unwrap()
}

fn document(version: SpecVersion) -> Document {
    Generator::new(Info::new("Things", "1")).version(version).document(&router())
}

// OR-49
#[test]
fn a_document_of_all_kinds_of_types_is_valid() {
    let value = |version| serde_json::to_value(document(version)).unwrap();
    official::check(&value(SpecVersion::V1_3), official::V1_3);
    official::check(&value(SpecVersion::V1_4), official::V1_4);
}

// OR-44, OR-47
#[test]
fn schemas_say_what_the_types_do() {
    let document = serde_json::to_value(document(SpecVersion::V1_3)).unwrap();
    let schemas = &document["components"]["schemas"];
    let names: Vec<&String> = schemas.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["Address", "Colour", "Date", "Event", "Expr", "Key", "PageOfPerson", "PageOfstring", "Person"]
    );
    assert_eq!(schemas["Date"], json!({"type": "string", "format": "date", "description": "A day."}));
    let boss = json!({"anyOf": [{"$ref": "#/components/schemas/Person"}, {"type": "null"}]});
    assert_eq!(schemas["Person"]["properties"]["boss"], boss);
    assert_eq!(schemas["Person"]["required"], json!(["name", "since"]));
    let id = json!({"type": "integer", "format": "uint64", "minimum": 0});
    assert_eq!(schemas["Key"]["anyOf"][0], id);
    let method = |name: &str| {
        let methods = document["methods"].as_array().unwrap();
        methods.iter().find(|method| method["name"] == name).unwrap().clone()
    };
    let limit =
        json!({"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX, "default": 1});
    assert_eq!(method("find")["params"][1]["schema"], limit);
}

// OR-17
#[test]
fn tuples_are_lists_of_schemas_wherever_they_stand() {
    let document = serde_json::to_value(document(SpecVersion::V1_3)).unwrap();
    let byte =
        |most: u32, format: &str| json!({"type": "integer", "format": format, "minimum": 0, "maximum": most});
    let number = json!({"type": "array", "description": "The number and the door.", "minItems": 2, "maxItems": 2,
        "items": [byte(65535, "uint16"), {"type": "string", "minLength": 1, "maxLength": 1}]});
    assert_eq!(document["components"]["schemas"]["Address"]["properties"]["number"], number);
    let long = json!({"type": "integer", "format": "int64"});
    let tuple = json!({"type": "array", "minItems": 2, "maxItems": 2, "items": [byte(255, "uint8"), long]});
    assert_eq!(document["methods"][1]["name"], "counts");
    assert_eq!(document["methods"][1]["result"]["schema"], tuple);
    assert!(!document.to_string().contains("prefixItems"));
}

async fn refused(method: &str, params: Value, path: &str, expected: &str) {
    let validation = Validation::new(&document(SpecVersion::V1_3)).unwrap();
    let peer = Peer::local(validation.layer(Arc::new(router())));
    let error = peer.call::<Value>(method, &params).await.unwrap_err();
    let error = error.rejection().unwrap_or_else(|| panic!("{method} {params}"));
    assert_eq!(error.code.0, -32602);
    let told: Value = error.data.as_ref().unwrap().decode().unwrap();
    assert_eq!(told, json!({"path": path, "expected": expected}), "{method} {params}");
}

#[tokio::test]
async fn of_several_forms_the_one_that_was_meant_is_judged() {
    let required = "a value; this member is required";
    refused("event", json!([{"kind": "left"}]), "/0/who", required).await;
    refused("event", json!({"event": {"kind": "came", "who": {}}}), "/event/who/name", required).await;
    let person = |home: Value| json!({"name": "a", "since": "2026-11-16", "home": home});
    let came = |home: Value| json!([{"kind": "came", "who": person(home)}]);
    refused("event", came(json!({"number": [1, "a"]})), "/0/who/home/street", required).await;
    let home = json!({"street": "s", "number": [1, "ab"]});
    refused("event", came(home), "/0/who/home/number/1", "a string of 1 character").await;
    let home = json!({"street": "s", "number": [1, "a", 2]});
    refused("event", came(home), "/0/who/home/number", "an array of 2 items").await;
    refused("compute", json!([{"Add": ["Zero", {"Num": "x"}]}]), "/0/Add/1/Num", "a number").await;
    refused("compute", json!([{"Add": ["Zero"]}]), "/0/Add", "an array of 2 items").await;
    refused("find", json!([{"id": 1}]), "/0/name", required).await;
    refused(
        "find",
        json!([{"id": 5_000_000_000_u64, "name": "a"}]),
        "/0/id",
        "a whole number from 0 to 4294967295",
    )
    .await;
    refused("find", json!([-1]), "/0", "a whole number of at least 0").await;
    refused("find", json!([1, 3_000_000_000_u64]), "/1", "a whole number from -2147483648 to 2147483647")
        .await;
    refused("counts", json!([{"1": "x"}]), "/0/1", "a whole number").await;
}

#[tokio::test]
async fn what_has_no_form_is_told_all_of_them() {
    refused("event", json!([{}]), "/0/kind", "a value; this member is required").await;
    refused("event", json!([{"kind": "other"}]), "/0/kind", r#"one of "came", "left", "closed""#).await;
    refused("event", json!([[]]), "/0", "an object").await;
    refused("compute", json!([{"Sub": []}]), "/0", r#""Zero" or an object with Num or an object with Add"#)
        .await;
    refused("find", json!([true]), "/0", "a whole number of at least 0 or a string or an object").await;
    refused("paint", json!(["Pink"]), "/0", r#"one of "Red", "Green", "Blue""#).await;
    refused("paint", json!(["Red", "Pink"]), "/1", r#"one of "Red", "Green", "Blue""#).await;
}

// OR-50
#[test]
fn clients_name_what_has_no_name_by_what_it_holds() {
    let document = document(SpecVersion::V1_3);
    let text = client(&document, Language::TypeScript).unwrap();
    for expected in [
        "export type Expr = \"Zero\" | ExprNum | ExprAdd;",
        "export type Event = EventCame | EventLeft | EventClosed;",
        "by: { [name: string]: number }",
        "export type Colour = \"Red\" | \"Green\" | \"Blue\";",
        "Promise<[number, number]>",
        "export interface PageOfPerson {",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let text = client(&document, Language::Rust).unwrap();
    assert!(text.contains("by: &BTreeMap<String, i64>"), "{text}");
    assert!(text.contains("    Came(EventCame),\n"), "{text}");
    let colour = "pub enum Colour {\n    Red,\n    Green,\n    /// As the sky is.\n    Blue,\n}";
    assert!(text.contains(colour), "{text}");
}
