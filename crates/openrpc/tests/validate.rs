//! Calls that are checked by the schemas of their methods.

#![cfg(feature = "validate")]
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{
    Answer, CallError, Context, Engine, ErrorObject, Json, Layer, Peer, Reply, ReplyFuture, Router, Service,
    Settings, Stream, service, service_fn,
};
use switchboard_openrpc::{Document, Generator, Info, Validation, ValidationError};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Order {
    #[schemars(range(min = 1, max = 9))]
    count: u32,
    #[schemars(regex(pattern = "^[a-z]+$"), length(max = 5))]
    code: String,
    parts: Vec<Order>,
}

struct Shop;

#[service]
impl Shop {
    fn order(&self, order: Order, #[arg(default = 1)] times: u32, note: Option<String>) -> u32 {
        let _ = note;
        order.count * times
    }

    fn sum(&self, label: String, #[arg(rest)] numbers: Vec<i64>) -> i64 {
        let _ = label;
        numbers.iter().sum()
    }

    #[method(allow_unknown_params)]
    fn open(&self, number: u8) -> u8 {
        number
    }

    fn late(&self, #[arg(default = 1)] first: i64, second: i64) -> i64 {
        first + second
    }

    fn count(&self, to: u32) -> impl Stream<Item = u32> + Send + 'static {
        futures_util::stream::iter(1..=to)
    }
}

fn router() -> Router {
    Router::builder().add(Shop).method("any", |_: Json, _| Ok::<_, ErrorObject>(true)).build().unwrap()
}

fn document() -> Document {
    Generator::new(Info::new("Shop", "1")).document(&router())
}

fn validated() -> Arc<dyn Service> {
    Validation::new(&document()).unwrap().layer(Arc::new(router()))
}

/// What a call comes to: its result, or the code and the data of its error.
async fn call(service: Arc<dyn Service>, method: &str, params: &Value) -> Value {
    let peer = Peer::local(service);
    match peer.call::<Value>(method, params.clone()).await {
        Ok(result) => result,
        Err(CallError::Rejected(error)) => {
            let data: Value = error.data.as_ref().map(|data| data.decode().unwrap()).unwrap_or_default();
            json!([error.code.0, data])
        }
        Err(other) => panic!("{other}"),
    }
}

async fn check(method: &str, params: Value, expected: Value) {
    assert_eq!(call(validated(), method, &params).await, expected, "{method} {params}");
}

async fn refused(method: &str, params: Value, path: &str, expected: &str) {
    check(method, params, json!([-32602, {"path": path, "expected": expected}])).await;
}

fn order(count: i64, code: &str) -> Value {
    json!({"count": count, "code": code, "parts": []})
}

#[tokio::test]
async fn what_fits_passes_by_name_and_by_position() {
    check("order", json!([order(2, "a"), 3]), json!(6)).await;
    check("order", json!({"order": order(2, "a"), "note": "x"}), json!(2)).await;
    // By position null leaves out what may be left out.
    check("order", json!([order(2, "a"), null, "x"]), json!(2)).await;
    check("sum", json!(["x", 1, 2, 3]), json!(6)).await;
    check("sum", json!({"label": "x", "numbers": [1, 2]}), json!(3)).await;
    check("sum", json!(["x"]), json!(0)).await;
    check("late", json!({"second": 2}), json!(3)).await;
    check("any", json!([1, "what", {"ever": true}]), json!(true)).await;
    check("open", json!({"other": [], "number": 7}), json!(7)).await;
    check("late", json!({"second": 2, "_meta": {"token": 1}}), json!(3)).await;
}

#[tokio::test]
async fn what_does_not_fit_is_told_by_its_place_and_what_was_expected() {
    refused("order", json!([order(10, "a")]), "/0/count", "a whole number from 1 to 9").await;
    refused("order", json!({"order": order(0, "a")}), "/order/count", "a whole number from 1 to 9").await;
    refused("order", json!([order(1, "A")]), "/0/code", "a string that matches ^[a-z]+$").await;
    refused("order", json!([order(1, "abcdef")]), "/0/code", "a string of at most 5 characters").await;
    let mut nested = order(1, "a");
    nested["parts"] = json!([order(1, "a"), order(1, "b")]);
    nested["parts"][1]["count"] = json!("many");
    refused("order", json!([nested]), "/0/parts/1/count", "a whole number from 1 to 9").await;
    refused("order", json!([{"count": 1, "parts": []}]), "/0/code", "a value; this member is required").await;
    refused("order", json!([order(1, "a"), 1, 5]), "/2", "a string or null").await;
    refused("order", json!({}), "/order", "a value; this parameter is required").await;
    refused("order", json!([]), "/0", "a value; this parameter is required").await;
    refused("order", json!({"order": order(1, "a"), "x": 1}), "/x", "only the parameters order, times, note")
        .await;
    refused("order", json!([order(1, "a"), 1, "x", 4]), "/3", "at most 3 parameters").await;
    refused("sum", json!(["x", 1, "2"]), "/2", "a whole number").await;
    refused("sum", json!({"label": "x", "numbers": [1, "2"]}), "/numbers/1", "a whole number").await;
    refused("late", json!([1, 2]), "", "the parameters by name, in an object").await;
}

#[tokio::test]
async fn all_that_a_schema_asks_for_is_told_at_once() {
    let schemas = json!({
        "Closed": {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false},
        "Choice": {"type": "string", "enum": ["x", "y"]},
    });
    let refused = async |schema: Value, given: Value, path: &str, expected: &str| {
        let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "components": {"schemas": schemas},
            "methods": [{"name": "any", "params": [{"name": "p~/%", "schema": schema}]}]});
        let validation = Validation::new(&Document::from_value(value).unwrap()).unwrap();
        let answer = call(validation.layer(Arc::new(router())), "any", &json!([given])).await;
        let expected = json!([-32602, {"path": format!("/0{path}"), "expected": expected}]);
        assert_eq!(answer, expected, "{schema}");
    };
    let closed = json!({"$ref": "#/components/schemas/Closed"});
    refused(closed.clone(), json!({"a": 1, "c": 2}), "/c", "only the members a, b").await;
    refused(json!({"items": closed}), json!([{"c/d": 2}]), "/0/c~1d", "only the members a, b").await;
    let choice = json!({"$ref": "#/components/schemas/Choice"});
    refused(choice.clone(), json!("z"), "", r#"one of "x", "y""#).await;
    refused(choice.clone(), json!(1), "", r#"one of "x", "y""#).await;
    refused(json!({"oneOf": [choice, {"type": "null"}]}), json!(1), "", r#"one of "x", "y" or null"#).await;
    refused(json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!("c"), "", r#"one of "a", "b""#).await;
    let typed = json!({"oneOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]});
    refused(typed, json!(5), "", r#"one of "a", "b""#).await;
    let many = json!({"type": ["null", "integer", "string"], "minimum": 0, "maximum": 9});
    refused(many.clone(), json!([]), "", "a whole number from 0 to 9, a string or null").await;
    refused(many, json!(10), "", "a whole number from 0 to 9").await;
    refused(
        json!({"type": "array", "minItems": 1, "maxItems": 3}),
        json!([]),
        "",
        "an array of 1 to 3 items",
    )
    .await;
    let names = json!({"propertyNames": {"minLength": 2}});
    refused(names, json!({"a": 1}), "", "member names that are each a string of at least 2 characters").await;
}

#[tokio::test]
async fn what_was_received_is_never_repeated() {
    for params in
        [json!(["hunter2"]), json!([{"count": 1, "code": "hunter2", "parts": []}]), json!({"x": "hunter2"})]
    {
        let answer = call(validated(), "order", &params).await.to_string();
        assert!(answer.contains("-32602") && !answer.contains("hunter2"), "{answer}");
    }
}

#[tokio::test]
async fn a_long_name_that_was_received_is_not_repeated() {
    let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"}, "methods": [
        {"name": "any", "params": [{"name": "map", "schema": {"additionalProperties": {"items": {"type": "integer"}}}}]},
    ]});
    let validation = Validation::new(&Document::from_value(value).unwrap()).unwrap();
    let service = validation.layer(Arc::new(router()));
    for (length, shown) in [(64, "n".repeat(64)), (65, "…".to_owned())] {
        let params = json!({"map": {"n".repeat(length): [1, "2"]}});
        let answer = call(Arc::clone(&service), "any", &params).await;
        assert_eq!(
            answer,
            json!([-32602, {"path": format!("/map/{shown}/1"), "expected": "a whole number"}])
        );
        let answer = call(Arc::clone(&service), "any", &json!({"n".repeat(length): 1})).await;
        assert_eq!(
            answer,
            json!([-32602, {"path": format!("/{shown}"), "expected": "only the parameters map"}])
        );
    }
}

#[tokio::test]
async fn numbers_beyond_every_range_do_not_slip_by() {
    let params = Json::parse(r#"[{"count": 1e999, "code": "a", "parts": []}]"#).unwrap();
    let error = Peer::local(validated()).call::<Value>("order", params).await.unwrap_err();
    assert!(matches!(error, CallError::Rejected(error) if error.code.0 == -32602));
}

#[tokio::test]
async fn every_entry_of_a_batch_is_checked_by_itself() {
    let body = r#"[
        {"jsonrpc": "2.0", "id": 1, "method": "sum", "params": ["x", 1]},
        {"jsonrpc": "2.0", "id": 2, "method": "sum", "params": ["x", "1"]},
        {"jsonrpc": "2.0", "method": "sum", "params": [1]},
        {"jsonrpc": "2.0", "id": 3, "method": "nothing", "params": [1]}
    ]"#;
    let answer = Engine::new(validated(), Settings::default()).exchange(body, &Context::default()).await;
    let Answer::Batch(text) = answer else { panic!("{answer:?}") };
    let answers: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(answers[0]["result"], 1);
    assert_eq!(answers[1]["error"]["data"], json!({"path": "/1", "expected": "a whole number"}));
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!(answers.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_stream_is_begun_only_with_params_that_fit() {
    let peer = Peer::local(validated());
    let items: Vec<_> = peer.stream::<u32>("count", [3]).await.unwrap().collect().await;
    assert_eq!(items.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [1, 2, 3]);
    let Err(CallError::Rejected(error)) = peer.stream::<u32>("count", [-1]).await else { panic!() };
    assert_eq!(error.code.0, -32602);
}

/// A service that answers everything with this, checked by the document of the shop, and what was told of its misfits.
fn answering(
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> (Arc<dyn Service>, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let validation = Validation::new(&document()).unwrap().with_results(move |method, misfit| {
        heard.lock().unwrap().push(format!("{method}: {misfit}"));
    });
    (validation.layer(Arc::new(service_fn(move |_| ReplyFuture::ready(reply())))), told)
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_told_and_not_given() {
    let (service, told) = answering(|| Reply::of(&"hunter2"));
    let answer = call(service, "late", &json!({"second": 1})).await;
    assert_eq!(answer[0], -32603);
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
    assert_eq!(*told.lock().unwrap(), ["late: expected a whole number at \"\""]);
    let (service, told) = answering(|| Reply::of(&7));
    assert_eq!(call(service, "late", &json!({"second": 1})).await, 7);
    assert!(told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn each_item_of_a_stream_is_checked_when_it_comes() {
    let (service, told) =
        answering(|| Reply::stream(futures_util::stream::iter([json!(1), json!("2"), json!(3)])));
    let items = Peer::local(service).stream::<Value>("count", [3]).await.unwrap();
    let codes: Vec<_> = items
        .map(|item| match item {
            Ok(value) => value,
            Err(CallError::Rejected(error)) => json!(error.code.0),
            Err(other) => panic!("{other}"),
        })
        .collect()
        .await;
    assert_eq!(codes, [json!(1), json!(-32603)]);
    assert_eq!(*told.lock().unwrap(), ["count: expected a whole number from 0 to 4294967295 at \"\""]);
}

// SEC-L-22: nothing is fetched, and patterns are bounded.
#[test]
fn a_schema_that_is_none_is_told_when_the_layer_is_made() {
    let make = |schema: Value| {
        let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"},
            "methods": [{"name": "a", "params": [{"name": "b", "schema": schema}]}]});
        Validation::new(&Document::from_value(value).unwrap()).map(|_| ())
    };
    assert_eq!(make(json!({"type": "string"})), Ok(()));
    for wrong in [
        json!({"type": "text"}),
        json!({"pattern": "("}),
        json!({"pattern": "(?=look-ahead)"}),
        json!({"pattern": "(a{1000}){1000}"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$ref": "#/nothing"}),
    ] {
        let error = make(wrong.clone()).unwrap_err();
        assert!(matches!(&error, ValidationError::Schema { .. }), "{wrong}: {error}");
    }
}

// SEC-L-22: a matcher that tries every way to match would not come to an end.
#[tokio::test]
async fn a_pattern_takes_time_that_grows_with_the_text_alone() {
    let value = json!({"openrpc": "1.3.2", "info": {"title": "T", "version": "1"},
        "methods": [{"name": "a", "params": [{"name": "b", "schema": {"pattern": "^(a+)+$"}}]}]});
    let validation = Validation::new(&Document::from_value(value).unwrap()).unwrap();
    let router =
        Router::builder().method("a", |(text,): (String,), _| Ok::<_, ErrorObject>(text)).build().unwrap();
    let service = validation.layer(Arc::new(router));
    let answer = call(service, "a", &json!(["a".repeat(10_000) + "b"])).await;
    assert_eq!(answer[0], -32602, "{answer}");
}
