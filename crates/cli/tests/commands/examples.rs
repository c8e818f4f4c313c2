//! What the document of `switchboard serve` says is true: each example is answered as it says, by name and by position, and every
//! way that a method can fail is declared.

use serde_json::{Map, Value, json};
use switchboard::openrpc::{Document, MethodEntry, ParamStructure};
use switchboard::{CallError, Dial, Peer};

use crate::program::Serving;

async fn peer(serving: &Serving) -> Peer {
    Dial::new(&serving.url()).unwrap().connect().await.unwrap()
}

async fn document(peer: &Peer) -> Document {
    let document: Value = peer.call("rpc.discover", ()).await.unwrap();
    Document::from_value(document).unwrap()
}

/// What a method is called with, in every way that it takes.
fn ways(method: &MethodEntry, params: &[(&str, Value)]) -> Vec<Value> {
    let by_name = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let by_name = Value::from(Map::from_iter(by_name));
    let by_position = Value::from_iter(params.iter().map(|(_, value)| value.clone()));
    match method.param_structure {
        ParamStructure::Either => vec![by_name, by_position],
        ParamStructure::ByName => vec![by_name],
        _ => vec![by_position],
    }
}

// OR-18, OR-42
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_example_is_answered_as_the_document_says() {
    let serving = Serving::start(&[]);
    let peer = peer(&serving).await;
    let document = document(&peer).await;
    let mut count = 0;
    for method in document.methods() {
        for example in method.examples() {
            let params: Vec<(&str, Value)> = example
                .params
                .iter()
                .filter_map(|param| param.here())
                .map(|param| (param.name.as_str(), param.value.clone().unwrap()))
                .collect();
            let expected = example.result.as_ref().and_then(|result| result.here()?.value.clone());
            for params in ways(method, &params) {
                let answer: Value = peer.call(method.name.as_str(), &params).await.unwrap();
                assert_eq!(Some(&answer), expected.as_ref(), "{} with {params}", method.name);
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}

// OR-45
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_error_is_one_that_the_document_declares() {
    let serving = Serving::start(&[]);
    let peer = peer(&serving).await;
    let document = document(&peer).await;
    let check = async |name: &str, params: Value, code: i64| {
        let answer = peer.call::<Value>(name, &params).await;
        let Err(CallError::Rejected(error)) = answer else { panic!("{name} with {params}: {answer:?}") };
        assert_eq!(error.code.0, code, "{name} with {params}");
        let method = document.method(name).unwrap();
        let declared = method.errors().find(|declared| declared.code == code);
        let declared = declared.unwrap_or_else(|| panic!("{name} does not declare {code}"));
        let data = error.data.as_ref().map(|data| data.decode::<Value>().unwrap());
        let schema = method.data_schema(declared);
        assert_eq!(data.is_some(), schema.is_some(), "{name}: {data:?}");
        if let (Some(data), Some(schema)) = (data, schema) {
            let members = schema["required"].as_array().unwrap();
            assert!(members.iter().all(|member| data.get(member.as_str().unwrap()).is_some()), "{data}");
        }
    };
    check("math/sqrt", json!([-1]), -32001).await;
    check("math/multiply", json!([1e300, 1e300]), -32001).await;
    check("math/add_stream", json!([1, -2]), -32001).await;
    check("wait", json!([-1]), -32001).await;
    check("ticks", json!([1, 0]), -32001).await;
    check("watch", json!([0]), -32001).await;
    check("watch", json!([]), -32000).await;
    check("ai/generate", json!(["x".repeat(4001)]), -32602).await;
    check("demo/error", json!(["invalid_data"]), -32001).await;
    check("demo/error", json!(["unauthorized"]), -32002).await;
    check("demo/error", json!(["timeout"]), -32003).await;
    check("demo/error", json!(["upstream"]), -32004).await;
    check("trigger_error", json!(["boom"]), -32000).await;
}

// OR-48
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_streams_says_so() {
    let serving = Serving::start(&[]);
    let document = document(&peer(&serving).await).await;
    let streams = |name: &str| {
        let method = document.method(name).unwrap();
        (method.stream_item().is_some(), method.is_stream_optional())
    };
    assert_eq!(streams("ai/generate"), (true, true));
    for name in ["count", "ticks", "math/add_stream", "paritosh/stream"] {
        assert_eq!(streams(name), (true, false), "{name}");
    }
    assert_eq!(streams("math/add"), (false, false));
}
