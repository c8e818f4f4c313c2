//! `switchboard generate`: clients that are written, and one in Rust that is called with. Those in other languages run in `tests/interop`.

use std::fs;
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use serde_json::json;
use switchboard::openrpc::{Document, Language, client};
use switchboard::{Code, Dial, Peer};

use crate::program::{Serving, parts, run, run_with};

/// The client of some methods of the demo server, as the program writes it. `UPDATE_GOLDEN=1` writes it anew.
#[rustfmt::skip]
#[allow(unreachable_pub, reason = "a client does not know where it stands")]
#[path = "generated/demo.rs"]
mod demo;

/// A client of a document with all that is odd. Most of the test is that it compiles.
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "nobody calls with it")]
#[path = "../../../openrpc/tests/golden/zoo.rs"]
mod zoo;

/// A client of a document with names that mean something elsewhere. The test is that it compiles.
#[rustfmt::skip]
#[allow(dead_code, unreachable_pub, reason = "nobody calls with it")]
#[path = "../../../openrpc/tests/golden/names.rs"]
mod names;

/// The methods that the client in Rust has.
const KEPT: [&str; 8] = [
    "ai/generate",
    "demo/error",
    "getStatus",
    "logEvent",
    "math/add",
    "math/add_stream",
    "trigger_error",
    "sum",
];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_client_in_rust_is_the_one_that_is_tested() {
    let serving = Serving::start(&[]);
    let (code, stdout, stderr) = parts(run(&["discover", &serving.url(), "--openrpc"]));
    assert_eq!(code, Some(0), "{stderr}");
    let mut document = Document::parse(stdout).unwrap();
    document.retain_methods(|method| KEPT.contains(&method.name.as_str()));
    let written = client(&document, Language::Rust).unwrap();
    let golden = file("tests/commands/generated/demo.rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &written).unwrap();
    }
    let kept = fs::read_to_string(&golden).unwrap_or_default();
    assert!(written == kept, "{} is another now; UPDATE_GOLDEN=1 writes it anew", golden.display());
}

// OR-50
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_client_in_rust_calls_over_http_and_websocket() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    for url in [url.clone(), url.replacen("http", "ws", 1)] {
        let peer: Peer = Dial::new(&url).unwrap().connect().await.unwrap();
        let client = demo::Client::new(peer);
        assert_eq!(client.math().add(2.0, 3.0).await.unwrap(), 5.0);
        assert_eq!(client.sum(Some(&[1.0, 2.0])).await.unwrap(), 3.0);
        let items = client.math().add_stream(1, 2).await.unwrap();
        assert_eq!(items.map(|item| item.unwrap()).collect::<Vec<_>>().await, [0, 1, 2, 3]);
        let error = client.trigger_error(Some("boom")).await.unwrap_err();
        assert_eq!(error.rejection().unwrap().message, "boom");
        let error = client.demo().error(&demo::DemoErrorKind::Upstream).await.unwrap_err();
        assert_eq!(error.rejection().unwrap().code, Code::UPSTREAM_FAILED);
        let prompt = demo::AiGeneratePrompt::String("to be".to_owned());
        assert_eq!(client.ai().generate(&prompt).await.unwrap(), "to be");
        let items = client.ai().generate_stream(&prompt).await.unwrap();
        assert_eq!(items.map(|item| item.unwrap()).collect::<Vec<_>>().await, ["to ", "be"]);
        let before = client.get_status().await.unwrap().notices;
        client.log_event(["login"]).await.unwrap();
        assert_eq!(client.get_status().await.unwrap().notices, before + 1);
    }
}

// OR-50
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_client_in_rust_sends_typed_batches() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    for url in [url.clone(), url.replacen("http", "ws", 1)] {
        let client = demo::Client::new(Dial::new(&url).unwrap().connect().await.unwrap());
        let mut batch = client.batch();
        let sum = batch.add(client.math().add(2.0, 3.0));
        let error = batch.add(client.trigger_error(Some("boom")));
        let status = batch.add(client.get_status());
        let outcomes = batch.send().await.unwrap();
        assert_eq!(sum.read(&outcomes), Ok(5.0));
        assert_eq!(error.read(&outcomes).unwrap_err().rejection().unwrap().message, "boom");
        assert_eq!(status.read(&outcomes).unwrap().status, "ok");
    }
}

#[test]
fn types_are_made_with_what_they_must_have_and_unions_are_told_apart_by_their_tag() {
    let animal = zoo::Animal {
        parents: Some(Vec::new()),
        ..zoo::Animal::new(zoo::AnimalKind::Fish, "Wanda".to_owned())
    };
    let born = zoo::Event::Born(zoo::EventBorn { animal });
    for (event, expected) in [
        (born, json!({"event": "born", "animal": {"kind": "fish", "name": "Wanda", "parents": []}})),
        (zoo::Event::Closed(zoo::EventClosed::default()), json!({"event": "closed"})),
        (zoo::Event::Fed(zoo::Event3 { when: Some(7) }), json!({"event": "fed", "when": 7})),
    ] {
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
        assert_eq!(serde_json::from_value::<zoo::Event>(expected).unwrap(), event);
    }
}

#[test]
fn a_client_is_written_to_stdout_or_to_a_file() {
    let zoo = file("../openrpc/tests/golden/zoo.json").display().to_string();
    let (code, written, stderr) = parts(run(&["generate", "rust", &zoo]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(written, include_str!("../../../openrpc/tests/golden/zoo.rs"));
    let text = fs::read_to_string(&zoo).unwrap();
    assert_eq!(parts(run_with(&text, &["generate", "rust", "-"])).1, written);
    let folder = std::env::temp_dir().join(format!("switchboard-generate-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let there = folder.join("client.rs").display().to_string();
    assert_eq!(
        parts(run(&["generate", "rust", &zoo, "-o", &there])),
        (Some(0), String::new(), String::new())
    );
    assert_eq!(fs::read_to_string(&there).unwrap(), written);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_no_document_is_told() {
    let (code, _, stderr) = parts(run_with("{}", &["generate", "python", "-"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("stdin is not an OpenRPC document: it has no list of methods"), "{stderr}");
}
