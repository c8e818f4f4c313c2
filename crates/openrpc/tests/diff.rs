//! What is different between two documents, and whom it breaks.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_openrpc::{Change, Document, Severity, diff};

fn document(methods: Value, schemas: Value) -> Document {
    let components = json!({"schemas": schemas});
    let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": methods,
        "components": components});
    Document::from_value(value).unwrap()
}

fn changes(old: Value, new: Value) -> Vec<Change> {
    diff(&document(old, json!({})), &document(new, json!({}))).unwrap()
}

fn told(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The changes of the method `m`, whose members are these.
#[track_caller]
fn check(old: Value, new: Value, expected: &[&str]) {
    let method = |members: Value| {
        let mut method = json!({"name": "m", "params": []});
        method.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!([method])
    };
    let found = told(&changes(method(old), method(new)));
    let expected: Vec<String> = expected.iter().map(|what| what.replacen(": ", ": m: ", 1)).collect();
    assert_eq!(found, expected);
}

/// The changes when the schema of the parameter `a` is another, and when that of the result is.
#[track_caller]
fn check_schema(old: Value, new: Value, of_param: &[&str], of_result: &[&str]) {
    let param = |schema: &Value| json!({"params": [{"name": "a", "schema": schema}]});
    check(param(&old), param(&new), of_param);
    let result = |schema: &Value| json!({"result": {"name": "r", "schema": schema}});
    check(result(&old), result(&new), of_result);
}

fn param(name: &str, required: bool) -> Value {
    json!({"name": name, "required": required, "schema": {"type": "string"}})
}

// OR-51
#[test]
fn methods_come_and_go() {
    let method = |name: &str| json!({"name": name, "params": [param("a", true)]});
    assert_eq!(told(&changes(json!([]), json!([method("b")]))), ["harmless: b: the method is new"]);
    let gone = changes(json!([method("a")]), json!([{"name": "b", "params": []}]));
    assert_eq!(told(&gone), ["breaking: a: the method was removed", "harmless: b: the method is new"]);
    let renamed = changes(json!([method("a")]), json!([method("b")]));
    assert_eq!(
        renamed[0].to_string(),
        "breaking: a: the method was removed; the new `b` has the same parameters and result"
    );
}

#[test]
fn unknown_parameters_may_be_allowed_or_refused() {
    let (open, closed) = (json!({"x-additional-params": true}), json!({}));
    check(closed.clone(), open.clone(), &["harmless: unknown parameters are now ignored"]);
    check(open, closed, &["breaking: unknown parameters are now rejected"]);
}

// OR-51
#[test]
fn parameters_come_go_move_and_change_their_names() {
    let params = |params: Value| json!({"params": params});
    let (a, b) = (param("a", true), param("b", false));
    let number = json!({"name": "n", "schema": {"type": "number"}});
    check(params(json!([a, b])), params(json!([a])), &["breaking: the parameter `b` was removed"]);
    check(params(json!([])), params(json!([a])), &["breaking: the new parameter `a` is required"]);
    check(params(json!([a])), params(json!([a, b])), &["harmless: the new parameter `b` is optional"]);
    check(
        params(json!([b])),
        params(json!([param("b", true)])),
        &["breaking: the parameter `b` is now required"],
    );
    check(
        params(json!([a])),
        params(json!([param("a", false)])),
        &["harmless: the parameter `a` is now optional"],
    );
    check(
        params(json!([a])),
        params(json!([param("c", true)])),
        &["breaking: the parameter `a` was renamed to `c`"],
    );
    let moved = [
        "breaking: the parameter `b` moved to another position",
        "breaking: the parameter `n` moved to another position",
    ];
    check(params(json!([a, b, number])), params(json!([a, number, b])), &moved);
    let inserted = [
        "breaking: the parameter `b` moved to another position",
        "harmless: the new parameter `n` is optional",
    ];
    check(params(json!([a, b])), params(json!([a, number, b])), &inserted);
}

// OR-51
#[test]
fn by_name_the_order_is_free_and_by_position_the_names_are() {
    let params = |structure: &str, params: Value| json!({"paramStructure": structure, "params": params});
    let (a, b) = (param("a", true), param("b", true));
    check(params("by-name", json!([a, b])), params("by-name", json!([b, a])), &[]);
    let renamed = ["harmless: the parameter `a` was renamed to `b`"];
    check(params("by-position", json!([a])), params("by-position", json!([b])), &renamed);
    let gone = ["breaking: the parameter `b` was removed"];
    check(params("by-position", json!([a, b])), params("by-position", json!([a])), &gone);
}

// OR-51
#[test]
fn what_is_taken_by_name_or_by_position_can_only_become_more() {
    let one = |structure: &str| json!({"paramStructure": structure});
    let by_name = "breaking: parameters are accepted by name only";
    let by_position = "breaking: parameters are accepted by position only";
    check(one("either"), one("by-name"), &[by_name]);
    check(one("either"), one("by-position"), &[by_position]);
    check(one("by-name"), one("by-position"), &[by_position]);
    check(one("by-position"), one("by-name"), &[by_name]);
    check(one("by-name"), one("either"), &["harmless: parameters are also accepted by position"]);
    check(json!({}), one("either"), &[]);
}

// OR-51
#[test]
fn what_a_method_is_counts() {
    let result = json!({"result": {"name": "r", "schema": true}});
    check(result.clone(), json!({}), &["breaking: it is now a notification, without a response"]);
    check(json!({}), result.clone(), &["harmless: it can now be called, not only notified"]);
    let stream =
        |item: &str| json!({"result": {"name": "r", "schema": true}, "x-stream": {"item": {"type": item}}});
    check(result.clone(), stream("string"), &["breaking: it returns a stream instead of one value"]);
    check(stream("string"), result, &["breaking: it returns one value instead of a stream"]);
    check(stream("integer"), stream("number"), &["breaking: an item can now be of type number"]);
    let either = |item: &str, value: &str| {
        json!({"result": {"name": "r", "schema": {"type": value}},
        "x-stream": {"item": {"type": item}, "optional": true}})
    };
    let value = json!({"result": {"name": "r", "schema": {"type": "string"}}});
    check(value.clone(), either("string", "string"), &["harmless: it streams to callers that ask for it"]);
    check(either("string", "string"), value, &["breaking: it no longer streams"]);
    let whole = &["breaking: it returns one value to callers that do not ask for a stream"];
    check(stream("string"), either("string", "string"), whole);
    let always = &["breaking: it returns a stream instead of one value"];
    check(either("string", "string"), stream("string"), always);
    let both =
        ["breaking: an item can now be of type number", "breaking: the result can now be of type number"];
    check(either("integer", "integer"), either("number", "number"), &both);
    let names = |unsubscribe: &str| json!({"x-subscription": {"notification": "n", "unsubscribe": unsubscribe, "item": true}});
    let renamed = ["breaking: the notification with its items, or the method that unsubscribes, was renamed"];
    check(names("u"), names("v"), &renamed);
    let withdrawn = [
        "breaking: it is no longer marked safe: it may change state",
        "breaking: it is no longer marked idempotent: retrying it may do harm",
    ];
    check(json!({"x-safe": true}), json!({}), &withdrawn);
    check(json!({"x-safe": true}), json!({"x-idempotent": true}), &withdrawn[..1]);
    check(json!({}), json!({"deprecated": true}), &["harmless: it is now deprecated"]);
    check(json!({}), json!({"x-unknown-params": true}), &["unsure: its parameters are no longer described"]);
}

// OR-51
#[test]
fn errors_come_and_go() {
    let errors = |codes: &[i64]| {
        let errors: Vec<Value> = codes.iter().map(|code| json!({"code": code, "message": "m"})).collect();
        json!({"errors": errors})
    };
    check(errors(&[1]), errors(&[1, 2]), &["harmless: the error 2 is new"]);
    check(errors(&[1, 2]), errors(&[2]), &["unsure: the error 1 is no longer declared"]);
    let data =
        |schema: Value| json!({"errors": [{"code": 1, "message": "m"}], "x-data-schema": {"1": schema}});
    let wider = ["breaking: the data of the error 1 can now be of type null"];
    check(data(json!({"type": "string"})), data(json!({"type": ["string", "null"]})), &wider);
}

/// A schema that lets fewer values pass, and one that lets more: judged for a parameter and for a result, there and back. `_` stands for either.
#[track_caller]
fn both(old: Value, new: Value, lost: &str, gained: &str) {
    let named =
        |what: &str, severity: &str, subject: &str| format!("{severity}: {}", what.replace('_', subject));
    let (param, result) = ("the parameter `a`", "the result");
    check_schema(
        old.clone(),
        new.clone(),
        &[&named(lost, "breaking", param)],
        &[&named(lost, "harmless", result)],
    );
    check_schema(new, old, &[&named(gained, "harmless", param)], &[&named(gained, "breaking", result)]);
}

// OR-51
#[test]
fn fewer_values_break_who_gives_them_and_more_values_who_gets_them() {
    let string = json!({"type": "string"});
    both(
        json!({"type": ["string", "null"]}),
        string.clone(),
        "_ can no longer be of type null",
        "_ can now be of type null",
    );
    both(
        json!({"type": "number"}),
        json!({"type": "integer"}),
        "_ can no longer be of type number",
        "_ can now be of type number",
    );
    both(
        json!({"enum": ["x", "y"]}),
        json!({"enum": ["x"]}),
        "_ can no longer be \"y\"",
        "_ can now be \"y\"",
    );
    both(
        json!({"enum": ["x", "y"]}),
        json!({"const": "x"}),
        "_ can no longer be \"y\"",
        "_ can now be \"y\"",
    );
    both(
        string.clone(),
        json!({"type": "string", "enum": ["x"]}),
        "_ is now limited to certain values",
        "_ is no longer limited to certain values",
    );
    both(
        json!({"minimum": 1}),
        json!({"minimum": 2}),
        "the minimum value of _ changed from 1 to 2",
        "the minimum value of _ changed from 2 to 1",
    );
    both(
        json!({}),
        json!({"maxLength": 9}),
        "the maximum length of _ is now 9",
        "the maximum length of _ is no longer 9",
    );
    both(
        string.clone(),
        json!({"type": "string", "pattern": "^a"}),
        "_ must now match a `pattern`",
        "_ no longer has to match a `pattern`",
    );
    both(
        string.clone(),
        json!({"type": "string", "format": "uri"}),
        "_ must now match a `format`",
        "_ no longer has to match a `format`",
    );
}

// OR-51
#[test]
fn the_same_holds_inside_of_objects_lists_and_unions() {
    let string = json!({"type": "string"});
    let object = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {"k": {"type": "string"}}});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    both(
        object(json!({})),
        object(json!({"additionalProperties": false})),
        "other members of _ are now rejected",
        "other members of _ are now allowed",
    );
    both(
        object(json!({})),
        object(json!({"required": ["k"]})),
        "the member `k` of _ is now required",
        "the member `k` of _ is now optional",
    );
    both(
        object(json!({})),
        object(json!({"properties": {"k": {"type": "string", "minLength": 1}}})),
        "the minimum length of the member `k` of _ is now 1",
        "the minimum length of the member `k` of _ is no longer 1",
    );
    both(
        json!({"type": "array", "items": {"type": ["string", "null"]}}),
        json!({"type": "array", "items": {"type": "string"}}),
        "an element of _ can no longer be of type null",
        "an element of _ can now be of type null",
    );
    let union = |branches: Value| json!({"anyOf": branches});
    both(
        union(json!([{"type": "string"}, {"type": "null"}])),
        string.clone(),
        "_ can no longer be of type null",
        "_ can now be of type null",
    );
    both(
        json!({"oneOf": [{"const": "x", "description": "X."}, {"const": "y"}]}),
        json!({"oneOf": [{"const": "x"}]}),
        "_ can no longer be \"y\"",
        "_ can now be \"y\"",
    );
    both(json!({}), json!(false), "_ can no longer have any value", "_ can now have a value");
}

// OR-51
#[test]
fn what_cannot_be_told_is_not_guessed() {
    let unsure = |old: Value, new: Value, keyword: &str| {
        let what = |subject: &str| format!("unsure: `{keyword}` of {subject} changed");
        check_schema(old, new, &[&what("the parameter `a`")], &[&what("the result")]);
    };
    unsure(json!({"pattern": "^a"}), json!({"pattern": "^b"}), "pattern");
    unsure(json!({"not": {"type": "string"}}), json!({"not": {"type": "null"}}), "not");
    unsure(json!({"if": true}), json!({"if": false}), "if");
    unsure(json!({"dependencies": {}}), json!({"dependencies": {"a": ["b"]}}), "dependencies");
    let lost = ["unsure: the parameter `a` has a reference that cannot be resolved"];
    let param = |schema: Value| json!({"params": [{"name": "a", "schema": schema}]});
    check(param(json!({"$ref": "#/gone"})), param(json!({"$ref": "https://example.com/"})), &lost);
    let default = |value: u8| param(json!({"type": "integer", "default": value}));
    check(default(1), default(2), &["unsure: the default of the parameter `a` changed"]);
}

// OR-51
#[test]
fn texts_and_ways_to_write_the_same_do_not_count() {
    let same = |old: Value, new: Value| check_schema(old, new, &[], &[]);
    same(json!({"type": "string", "title": "A"}), json!({"type": "string", "description": "B", "x-y": 1}));
    same(json!({"type": "string"}), json!({"allOf": [{"type": "string"}], "description": "B"}));
    same(json!({"type": ["string", "null"]}), json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
    same(json!({}), json!(true));
    same(json!({"enum": ["x", "y"]}), json!({"enum": ["y", "x"]}));
    same(json!({"enum": ["x"]}), json!({"type": "string", "const": "x"}));
    same(json!({"type": "object"}), json!({"type": "object", "additionalProperties": {}}));
}

#[test]
fn references_are_followed_and_told_with_their_place() {
    let methods =
        json!([{"name": "m", "params": [{"name": "a", "schema": {"$ref": "#/components/schemas/Tree"}}]}]);
    let tree = |kind: &str| {
        let children = json!({"type": "array", "items": {"$ref": "#/components/schemas/Tree"}});
        json!({"Tree": {"type": "object", "properties": {"children": children, "leaf": {"type": kind}}}})
    };
    let found =
        diff(&document(methods.clone(), tree("number")), &document(methods, tree("integer"))).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Breaking);
    assert_eq!(found[0].param.as_deref(), Some("a"));
    assert_eq!(found[0].place, "/methods/0/params/0/schema/properties/leaf/type");
}

#[test]
fn schemas_that_hold_themselves_in_many_ways_come_to_an_end() {
    let methods =
        json!([{"name": "m", "params": [{"name": "a", "schema": {"$ref": "#/components/schemas/S0"}}]}]);
    let schemas = |count: usize, kind: &str| {
        let all = (0..count).map(|n| {
            let members = (0..5).map(|k| {
                let to = format!("#/components/schemas/S{}", (n * 7 + k * 3 + 1) % count);
                (format!("k{k}"), json!({"$ref": to}))
            });
            let members: serde_json::Map<String, Value> = members.collect();
            (format!("S{n}"), json!({"type": kind, "properties": members}))
        });
        Value::Object(all.collect())
    };
    let one = document(methods.clone(), schemas(300, "object"));
    assert!(!diff(&one, &document(methods, schemas(301, "array"))).unwrap().is_empty());
    assert_eq!(diff(&one, &one).unwrap(), []);
}

fn schema() -> impl Strategy<Value = Value> {
    let names = || prop::sample::select(vec!["a", "b", "c"]);
    let kinds = vec!["string", "integer", "number", "null", "object", "array"];
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        prop::sample::select(kinds.clone()).prop_map(|kind| json!({"type": kind})),
        prop::sample::subsequence(kinds, 0..4).prop_map(|kinds| json!({"type": kinds})),
        names().prop_map(|name| json!({"$ref": format!("#/components/schemas/{name}")})),
        (0..5_i32).prop_map(|least| json!({"type": "integer", "minimum": least})),
        prop::sample::subsequence(vec!["x", "y", "z"], 0..3).prop_map(|values| json!({"enum": values})),
    ];
    leaf.prop_recursive(3, 24, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"anyOf": all})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"allOf": all, "title": "t"})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"items": all})),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|not| json!({"not": not})),
            (prop::collection::btree_map(names(), inner.clone(), 0..3), inner).prop_map(
                |(all, rest)| json!({"properties": all, "additionalProperties": rest, "required": ["a"]})
            ),
        ]
    })
}

fn any_document() -> impl Strategy<Value = Document> {
    let schemas = prop::collection::vec(schema(), 3);
    let params = prop::collection::vec((schema(), any::<bool>()), 0..3);
    (params, schema(), schemas).prop_map(|(params, result, schemas)| {
        let params: Vec<Value> = params
            .iter()
            .enumerate()
            .map(|(at, (schema, required))| json!({"name": format!("p{at}"), "schema": schema, "required": required}))
            .collect();
        let method = json!([{"name": "m", "params": params, "result": {"name": "r", "schema": result}}]);
        document(method, json!({"a": schemas[0], "b": schemas[1], "c": schemas[2]}))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // OR-51
    #[test]
    fn a_document_does_not_differ_from_itself(document in any_document()) {
        prop_assert_eq!(diff(&document, &document).unwrap(), []);
    }

    #[test]
    fn every_comparison_comes_to_an_end(old in any_document(), new in any_document()) {
        let there = diff(&old, &new).unwrap();
        prop_assert_eq!(there.is_empty() && old == new, old == new);
    }
}

#[test]
fn branches_of_one_name_are_compared_in_their_order() {
    let one = |least: u32| json!({"type": "integer", "minimum": least});
    let of = |all: [u32; 3]| json!({"anyOf": all.map(one)});
    let found = ["harmless: the minimum value of the parameter `a` changed from 3 to 2"];
    let turned = ["breaking: the minimum value of the result changed from 3 to 2"];
    check_schema(of([1, 2, 3]), of([1, 2, 2]), &found, &turned);
}

// OR-51
#[test]
fn what_breaks_is_told_however_much_is_different() {
    let method = |schema: Value| json!([{"name": "m", "params": [{"name": "a", "schema": schema}]}]);
    let member = |name: &str, at: usize| (format!("{name}{at:03}"), json!({"type": "string"}));
    let object = |name: &str, kind: &str| {
        let mut members: serde_json::Map<String, Value> = (0..300).map(|at| member(name, at)).collect();
        members.insert("z".to_owned(), json!({"type": kind}));
        method(json!({"type": "object", "properties": members}))
    };
    for (old, new) in [
        // Members that may be given are harmless, and those that are gone unsure.
        (method(json!({"type": "object", "properties": {"z": {"type": "string"}}})), object("n", "integer")),
        (object("o", "string"), method(json!({"type": "object", "properties": {"z": {"type": "integer"}}}))),
    ] {
        let found = changes(old, new);
        assert_eq!(found.len(), 201);
        let breaking: Vec<&Change> =
            found.iter().filter(|change| change.severity == Severity::Breaking).collect();
        assert_eq!(breaking.len(), 1, "{found:?}");
        assert!(breaking[0].what.contains("can no longer be of type string"), "{:?}", breaking[0]);
        let last = found.last().unwrap();
        assert_eq!(last.to_string(), "unsure: m: more differences of the parameter `a` are not listed");
    }
}

#[test]
fn thousands_of_names_are_looked_up_and_not_searched_for() {
    const COUNT: usize = 2_000;
    let params = |mark: &str| {
        (0..COUNT).map(|at| json!({"name": format!("{mark}{at}"), "schema": {"type": "string"}})).collect()
    };
    let method = |params: Vec<Value>| json!([{"name": "m", "paramStructure": "by-name", "params": params}]);
    let mut reversed: Vec<Value> = params("a");
    reversed.reverse();
    assert_eq!(changes(method(params("a")), method(reversed)).len(), 0);
    assert_eq!(changes(method(params("a")), method(params("b"))).len(), COUNT);

    let methods = |mark: &str| {
        let one = |at: usize| {
            let schema = json!({"type": "string", "maxLength": at});
            json!({"name": format!("{mark}{at}"), "params": [], "result": {"name": "r", "schema": schema}})
        };
        Value::from_iter((0..COUNT).map(one))
    };
    let renamed = changes(methods("a"), methods("b"));
    let gone =
        |at: usize| format!("the method was removed; the new `b{at}` has the same parameters and result");
    assert_eq!(renamed.len(), 2 * COUNT);
    assert!(renamed.iter().filter(|change| change.method == "a7").all(|change| change.what == gone(7)));
}

#[test]
fn types_that_stand_many_times_count_once() {
    let kinds: Vec<&str> = std::iter::repeat_n("string", 10_000).chain(["null", "strnig"]).collect();
    let schema = json!({"type": kinds, "description": "x".repeat(10_000)});
    let changed = json!({"anyOf": [{"type": "string"}]});
    check_schema(
        schema,
        changed,
        &["breaking: the parameter `a` can no longer be of type null"],
        &["harmless: the result can no longer be of type null"],
    );
}
