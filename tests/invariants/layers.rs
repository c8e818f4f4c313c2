//! A layer around a router sees every call.

use std::sync::{Arc, Mutex};

use switchboard_core::{Describe, Layered, Outcome, Settings, layer_fn};
use switchboard_openrpc::{Discovery, Generator, Info};
use switchboard_tests::demo;

use crate::ask;

/// A router that describes itself, in a layer that notes each call and what it was answered with.
fn noted() -> (Layered, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&notes);
    let note = layer_fn(move |call, next| {
        let seen = Arc::clone(&seen);
        async move {
            let reply = next.run(&call).await;
            let id = call.id().map_or("none", |id| id.as_str());
            let outcome = match &reply.outcome {
                Outcome::Value(_) => "value".to_owned(),
                Outcome::Error(error) => error.code.to_string(),
                Outcome::Stream(_) => "stream".to_owned(),
            };
            seen.lock().unwrap().push(format!("{} {id} {outcome}", call.method));
            reply
        }
    });
    let router = Discovery::new(Generator::new(Info::new("Demo", "1"))).build(demo::calm()).unwrap();
    (router.layered(note), notes)
}

#[tokio::test]
async fn a_layer_function_sees_entries_notifications_unknown_methods_extensions_and_streams() {
    let (service, notes) = noted();
    let service = Arc::new(service);
    for body in [
        r#"[{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1},{"jsonrpc":"2.0","method":"update"},{"jsonrpc":"2.0","method":"nobody","id":2}]"#,
        r#"{"jsonrpc":"2.0","method":"update"}"#,
        r#"{"jsonrpc":"2.0","method":"rpc.discover","id":3}"#,
        r#"{"jsonrpc":"2.0","method":"count","params":[2],"id":4}"#,
    ] {
        ask(service.clone(), body, &Settings::default()).await;
    }
    let expected = [
        "add 1 value",
        "update none value",
        "nobody 2 -32601",
        "update none value",
        "rpc.discover 3 value",
        "count 4 stream",
    ];
    assert_eq!(*notes.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_layered_router_is_described_as_it_is_without_layers() {
    let (service, _) = noted();
    let names = |service: &dyn Describe| {
        let methods = service.describe_in(switchboard_core::Dialect::default()).methods;
        methods.into_iter().map(|method| method.name).collect::<Vec<_>>()
    };
    let bare = Discovery::new(Generator::new(Info::new("Demo", "1"))).build(demo::calm()).unwrap();
    assert_eq!(names(&service), names(&bare));
    assert!(Generator::new(Info::new("Demo", "1")).document(&service).method("rpc.discover").is_some());
}
