//! What is read, what is refused, and where references lead.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_openrpc::{Document, RefError, Resolver};

fn document(methods: Value) -> Value {
    json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": methods})
}

fn refused(value: &Value) -> String {
    Document::parse(value.to_string()).unwrap_err().to_string()
}

// OR-01, OR-02, OR-19, OR-22
#[test]
fn a_document_comes_back_as_it_was_with_all_that_nobody_knows() {
    let value = json!({
        "openrpc": "1.4.1",
        "$schema": "https://meta.open-rpc.org/",
        "x-mine": {"a": [1, null]},
        "info": {"title": "T", "version": "1", "license": {"name": "MIT", "x-l": 1}, "contact": {"email": "a@b.c"},
            "termsOfService": "https://example.com/terms"},
        "servers": [{"url": "https://${host}/", "name": "one", "variables": {"host": {"default": "a", "enum": ["a", "b"]}}}],
        "externalDocs": {"url": "https://example.com/"},
        "methods": [
            {
                "name": "add", "summary": "Adds.", "description": "Adds *two*.", "deprecated": true, "x-safe": true,
                "tags": [{"name": "math"}, {"$ref": "#/components/tags/other"}],
                "paramStructure": "by-name",
                "params": [{"name": "a", "required": true, "schema": {"type": "integer"}}, {"name": "b", "schema": true}],
                "result": {"name": "sum", "schema": {"$ref": "#/components/schemas/Sum"}},
                "errors": [{"code": -1, "message": "no", "data": {"a": 1}}],
                "links": [{"name": "l", "method": "add", "params": {"a": "${result}"}}],
                "examples": [{"name": "e", "params": [{"name": "a", "value": null}], "result": {"name": "r", "value": 5}}],
                "servers": [{"url": "http://localhost"}],
            },
            {"$ref": "#/x-mine"},
        ],
        "components": {
            "schemas": {"Sum": {"type": "integer"}}, "tags": {"other": {"name": "other"}}, "errors": {},
            "examplePairingObjects": {"kept": 1},
        },
    });
    let document = Document::parse(value.to_string()).unwrap();
    let mut expected = value;
    expected["components"].as_object_mut().unwrap().remove("errors");
    assert_eq!(serde_json::to_value(&document).unwrap(), expected);
    assert!(document.method("add").unwrap().is_safe());
}

// OR-01: names of members are told apart by case.
#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |value: Value, expected: &str| assert_eq!(refused(&value), expected);
    check(json!({"openrpc": "1.3.2", "methods": []}), "the member `info` is missing");
    check(
        json!({"openrpc": "2.0.0", "info": {"title": "T", "version": "1"}, "methods": []}),
        "/openrpc: unsupported version \"2.0.0\"; OpenRPC 1.x is supported",
    );
    check(document(json!([{"Name": "a", "params": []}])), "/methods/0: the member `name` is missing");
    check(document(json!([{"name": "a"}])), "/methods/0: the member `params` is missing");
    check(
        document(json!([{"name": "a", "params": [], "deprecated": 1}])),
        "/methods/0/deprecated: expected a boolean, found a number",
    );
    check(
        document(json!([{"name": "a", "params": [{"name": "b", "schema": 1}]}])),
        "/methods/0/params/0/schema: a schema must be an object, `true` or `false`",
    );
    check(
        document(json!([{"name": "a", "params": [], "paramStructure": "both"}])),
        "/methods/0/paramStructure: unknown variant `both`, expected one of `either`, `by-name`, `by-position`",
    );
    check(
        document(json!([{"name": "a", "params": [], "errors": [{"code": 1}]}])),
        "/methods/0/errors/0: the member `message` is missing",
    );
    check(document(json!(["a"])), "/methods/0: expected an object, found a string");
    check(json!([1]), "expected an object, found an array");
    check(document(json!({"a": 1})), "/methods: expected an array, found an object");
    check(document(json!([{"name": null, "params": []}])), "/methods/0/name: expected a string, found null");
    check(
        document(json!([{"name": "a", "params": [], "errors": [{"code": 1.5, "message": ""}]}])),
        "/methods/0/errors/0/code: expected a whole number, found a number",
    );
    assert!(Document::parse("[".repeat(100_000)).is_err());
    let long = refused(&document(json!([{"name": "a", "params": "x".repeat(10_000)}])));
    assert!(long.len() < 300, "{}", long.len());
}

// OR-20
#[test]
fn references_are_replaced_by_what_they_name() {
    let value = json!({
        "openrpc": "1.3.2", "info": {"title": "T", "version": "1"},
        "methods": [{
            "name": "a/b",
            "params": [{"$ref": "#/components/contentDescriptors/a%20b"}],
            "result": {"$ref": "#/components/contentDescriptors/again"},
            "errors": [{"$ref": "#/components/errors/E", "ignored": true}],
            "examples": [{"$ref": "#/components/examplePairings/P"}],
        }, {"$ref": "#/x-methods/a~1b"}],
        "x-methods": {"a/b": {"name": "other", "params": [{"$ref": "#/methods/0/params/0"}]}},
        "components": {
            "contentDescriptors": {
                "a b": {"name": "a", "schema": {"$ref": "#/components/schemas/Node"}},
                "again": {"$ref": "#/components/contentDescriptors/a%20b"},
            },
            "errors": {"E": {"code": 1, "message": "m"}},
            "examples": {"V": {"name": "v", "value": 1}},
            "examplePairings": {"P": {"name": "p", "params": [{"$ref": "#/components/examples/V"}]}},
            "schemas": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}},
        },
    });
    let document = Document::from_value(value).unwrap().resolved().unwrap();
    let method = document.method("a/b").unwrap();
    assert_eq!(method.params().next().unwrap().name, "a");
    assert_eq!(method.result().unwrap().name, "a");
    assert_eq!(method.errors().next().unwrap().code, 1);
    assert_eq!(method.examples().next().unwrap().params[0].here().unwrap().value, Some(json!(1)));
    assert_eq!(document.method("other").unwrap().params().count(), 1);
    let resolver = Resolver::new(&document);
    let node = resolver.follow(method.params().next().unwrap().schema.as_value()).unwrap();
    assert_eq!(resolver.follow(&node["properties"]["next"]).unwrap(), node);
}

// OR-20
#[test]
fn a_reference_that_leads_nowhere_is_an_error() {
    let check = |reference: &str, expected: &str| {
        let mut value = document(json!([{"name": "a", "params": [{"$ref": reference}]}]));
        value["x-a"] = json!({"$ref": "#/x-b"});
        value["x-b"] = json!({"$ref": "#/x-a"});
        let error = Document::from_value(value).unwrap().resolved().unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "https://example.com/a.json#/b",
        "the reference \"https://example.com/a.json#/b\" points outside the document; move its target into `components`",
    );
    check("#/nothing", "the reference \"#/nothing\" points to nothing in the document");
    check("#nothing", "the reference \"#nothing\" points to nothing in the document");
    check("#/%", "the reference \"#/%\" points to nothing in the document");
    check("#/x-a", "the reference \"#/x-b\" leads through more than 32 other references");
    check(
        "#/methods/0/params/0",
        "the reference \"#/methods/0/params/0\" leads through more than 32 other references",
    );
    check("#/info", "the target of the reference \"#/info\" is invalid: the member `name` is missing");
}

#[test]
fn a_small_document_cannot_grow_without_end() {
    let check = |count: usize, member: Value| {
        let many: Vec<Value> = (0..count).map(|_| json!({"$ref": "#/x-large"})).collect();
        let mut value = document(json!(many));
        value["x-large"] = json!({"name": "a", "params": [], "x-member": member});
        assert_eq!(Document::from_value(value).unwrap().resolved().unwrap_err(), RefError::TooMuch);
    };
    // By many values, and by a few that are long.
    check(2000, json!(vec![0; 1000]));
    check(70, json!("x".repeat(1_000_000)));
}

#[test]
fn extensions_are_read() {
    let value = document(json!([{
        "name": "a", "params": [], "deprecated": true, "x-idempotent": true, "x-deprecated-reason": "old",
        "x-stream": {"item": {"type": "integer"}},
        "x-subscription": {"notification": "n", "unsubscribe": "u", "item": true},
        "errors": [{"code": 7, "message": "m"}, {"code": 8, "message": "m", "x-data-schema": false}],
        "x-data-schema": {"7": {"type": "string"}},
    }]));
    let document = Document::from_value(value).unwrap();
    let method = document.method("a").unwrap();
    assert!(method.is_idempotent() && !method.is_safe());
    assert_eq!(method.deprecated_reason(), Some("old"));
    assert_eq!(method.stream_item(), Some(&json!({"type": "integer"})));
    let names = method.subscription().unwrap();
    assert_eq!((names.notification, names.unsubscribe, names.item), ("n", "u", Some(&json!(true))));
    let schemas: Vec<_> = method.errors().map(|error| method.data_schema(error)).collect();
    assert_eq!(schemas, [Some(&json!({"type": "string"})), Some(&json!(false))]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z$~/%é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(member(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof!["x-[a-z]{1,3}", Just("$ref".to_owned()), Just("name".to_owned()), "[a-z]{1,4}"]
}

fn any_method() -> impl Strategy<Value = Value> {
    let optional = prop::collection::btree_map(
        prop_oneof![
            Just("summary".to_owned()),
            Just("deprecated".to_owned()),
            Just("result".to_owned()),
            "x-[a-z]{1,3}",
            Just("errors".to_owned()),
            Just("examples".to_owned()),
            Just("tags".to_owned()),
            Just("$ref".to_owned()),
        ],
        any_json(),
        0..4,
    );
    ("[a-z/]{1,5}", prop::collection::vec(any_json(), 0..2), optional).prop_map(|(name, params, others)| {
        let mut method = json!({"name": name, "params": params});
        method.as_object_mut().unwrap().extend(others);
        method
    })
}

proptest! {
    // OR-49: whatever can be read is written so that it reads the same again.
    #[test]
    fn what_was_read_is_written_and_read_the_same(methods in prop::collection::vec(any_method(), 0..3), rest in any_json()) {
        let mut value = document(Value::from(methods));
        value["x-rest"] = rest;
        if let Ok(read) = Document::parse(value.to_string()) {
            let text = serde_json::to_string(&read).unwrap();
            let again = Document::parse(text.clone()).unwrap();
            prop_assert_eq!(&again, &read);
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), text);
            let _ = read.resolved();
        }
    }
}
