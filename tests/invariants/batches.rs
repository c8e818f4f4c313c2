//! No layer ever sees a batch, and a reply carries no id.

use std::sync::{Arc, Mutex};

use switchboard_core::{
    Call, Code, ErrorObject, Layer, Outcome, Reply, ReplyFuture, Service, Settings, service_fn,
};
use switchboard_tests::demo;
use switchboard_tests::tree::Tree;

use crate::ask;

/// A layer that writes down every call it sees.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Layer for Recorder {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        let Recorder(seen) = self.clone();
        Arc::new(service_fn(move |call: &Call| {
            let id = call.id().map_or("none", |id| id.as_str()).to_owned();
            let params = call.params.as_ref().map_or("none", |params| params.as_str()).to_owned();
            seen.lock().unwrap().push(format!("{} {params} {id} {:?}", call.method, call.cx.version));
            inner.call(call)
        }))
    }
}

impl Recorder {
    fn seen(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

const BATCH: &str = r#"[
    {"jsonrpc":"2.0","method":"add","params":[1,2],"id":1},
    {"jsonrpc":"2.0","method":"update","params":{"a":[1]}},
    {"method":"echo","params":["one"],"id":[1]},
    7,
    {"jsonrpc":"2.0","method":"nobody","id":"x"},
    {"jsonrpc":"2.0","method":"count","params":[2],"id":null}
]"#;

#[tokio::test]
async fn a_layer_sees_each_entry_of_a_batch_as_a_call_of_its_own() {
    let recorder = Recorder::default();
    let service = recorder.layer(Arc::new(demo::router()));
    ask(service, BATCH, &Settings::default()).await.unwrap();
    let expected = [
        "add [1,2] 1 V2",
        "update {\"a\":[1]} none V2",
        "echo [\"one\"] [1] V1",
        "nobody none \"x\" V2",
        "count [2] null V2",
    ];
    assert_eq!(recorder.seen(), expected);
}

#[tokio::test]
async fn a_layer_that_refuses_one_call_does_not_touch_the_rest_of_its_batch() {
    // J2-21, J2-42
    let guard = |inner: Arc<dyn Service>| -> Arc<dyn Service> {
        Arc::new(service_fn(move |call: &Call| match call.method.as_str() {
            "update" | "count" => ReplyFuture::ready(ErrorObject::unauthorized()),
            _ => inner.call(call),
        }))
    };
    let recorder = Recorder::default();
    let service = guard.layer(recorder.layer(Arc::new(demo::router())));
    let answer = ask(service, BATCH, &Settings::default()).await.unwrap();
    let expected = r#"[
        {"jsonrpc":"2.0","result":3,"id":1},
        {"result":"one","error":null,"id":[1]},
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":"<any>"},"id":null},
        {"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found","data":{"method":"nobody"}},"id":"x"},
        {"jsonrpc":"2.0","error":{"code":-32002,"message":"Unauthorized"},"id":null}
    ]"#;
    assert!(Tree::read(&answer).unwrap().matches(&Tree::read(expected).unwrap()), "{answer}");
    assert_eq!(recorder.seen().len(), 3, "what is refused outside is not seen inside");
}

#[tokio::test]
async fn one_and_the_same_reply_gets_the_id_of_every_call() {
    let same = service_fn(|_| ReplyFuture::ready(ErrorObject::new(Code(5), "same")));
    let batch = r#"[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b","id":"1"},
        {"jsonrpc":"2.0","method":"c","id":1.0}]"#;
    let answer = ask(same, batch, &Settings::default()).await.unwrap();
    let Tree::Array(responses) = Tree::read(&answer).unwrap() else { panic!("{answer}") };
    let ids: Vec<_> = responses.iter().map(|response| response.member("id").unwrap().to_string()).collect();
    assert_eq!(ids, ["1", "\"1\"", "1.0"]);
}

#[test]
fn a_reply_has_no_place_for_an_id() {
    fn parts(reply: Reply) -> usize {
        match reply.outcome {
            Outcome::Value(json) => size_of_val(&json),
            Outcome::Error(error) => size_of_val(&(&error.code, &error.message, &error.data)),
            Outcome::Stream(items) => size_of_val(&items),
        }
    }
    assert!(parts(Reply::of(&1)) > 0);
}
