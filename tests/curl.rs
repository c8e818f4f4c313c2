//! A client that is not ours, over HTTP: curl.

#![allow(clippy::unwrap_used)]

use std::io::ErrorKind;
use std::process::{Command, Output};
use std::sync::Arc;

use switchboard_core::Settings;
use switchboard_tests::{demo, secure};
use switchboard_transport::http::{Endpoint, EndpointOptions, Get, HttpServer};
use tokio::task::spawn_blocking;

const CALL: &str = r#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#;
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"update","params":[]}"#;
const JSON: [&str; 2] = ["--header", "content-type: application/json"];

/// What curl prints: a status, the headers in lower case, and a body.
struct Printed {
    status: u16,
    head: String,
    body: String,
}

/// Runs curl with these arguments against a server of ours.
async fn curl(args: &[&str]) -> Printed {
    curl_at("", args).await
}

/// Runs curl with these arguments against this path of a server of ours.
async fn curl_at(path: &str, args: &[&str]) -> Printed {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let (url, handle) = (format!("http://{}/{path}", server.local_addr()), server.handle());
    let options = EndpointOptions::default().with_get(Get::only(["greet", "count_and_break"]));
    let serving = tokio::spawn(server.serve_endpoint(Endpoint::new(demo::router()).with_options(options)));
    let output = run(args, &url).await;
    handle.shutdown();
    serving.await.unwrap();
    read(&output)
}

/// Runs curl with these arguments.
async fn run(args: &[&str], url: &str) -> Output {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--include", "--max-time", "20", "--noproxy", "*"]);
    command.args(args).arg(url);
    match spawn_blocking(move || command.output()).await.unwrap() {
        Err(error) if error.kind() == ErrorKind::NotFound => panic!(
            "curl is missing, needed to call over HTTP with a client that is not ours; install it, on Debian or \
             Ubuntu with `sudo apt-get install curl`"
        ),
        output => output.unwrap(),
    }
}

fn read(output: &Output) -> Printed {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl failed: {errors}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head ends with an empty line");
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    Printed { status, head: head.to_lowercase(), body: body.to_owned() }
}

#[tokio::test]
async fn a_call_is_answered_with_its_result() {
    // JH-22, JH-25
    let printed = curl(&[&JSON[..], &["--data-binary", CALL]].concat()).await;
    assert_eq!((printed.status, &*printed.body), (200, r#"{"jsonrpc":"2.0","result":5,"id":1}"#));
    assert!(printed.head.contains("\r\ncontent-type: application/json"), "{}", printed.head);
    assert!(printed.head.contains("\r\ncontent-length: 35"), "{}", printed.head);
}

#[tokio::test]
async fn over_tls_a_call_is_answered_in_either_version_of_http_and_the_certificate_counts() {
    // SEC-H-07
    let service = Arc::new(demo::router());
    let (server, pem) = secure::server_with_pem("https://127.0.0.1:0", service, Settings::default()).await;
    let (url, handle) = (server.urls().next().unwrap(), server.handle());
    let serving = tokio::spawn(server.serve());
    let file = std::env::temp_dir().join(format!("switchboard-curl-{}.pem", std::process::id()));
    std::fs::write(&file, pem).unwrap();
    let file_name = file.display().to_string();
    for version in ["--http1.1", "--http2"] {
        let args = ["--cacert", &file_name, version, "--data-binary", CALL];
        let printed = read(&run(&[&JSON[..], &args].concat(), &url).await);
        assert_eq!((printed.status, &*printed.body), (200, r#"{"jsonrpc":"2.0","result":5,"id":1}"#));
        let expected = if version == "--http2" { "http/2 " } else { "http/1.1 " };
        assert!(printed.head.starts_with(expected), "{version}: {}", printed.head);
    }
    let untrusting = run(&[&JSON[..], &["--data-binary", CALL]].concat(), &url).await;
    // 60: the certificate cannot be verified.
    assert_eq!(untrusting.status.code(), Some(60));
    std::fs::remove_file(file).unwrap();
    handle.shutdown();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_call_by_name_is_answered_with_its_result() {
    // J2-08
    let call = r#"{"jsonrpc":"2.0","id":"x","method":"subtract","params":{"subtrahend":23,"minuend":42}}"#;
    let printed = curl(&[&JSON[..], &["--data-binary", call]].concat()).await;
    assert_eq!((printed.status, &*printed.body), (200, r#"{"jsonrpc":"2.0","result":19,"id":"x"}"#));
}

#[tokio::test]
async fn an_error_of_a_method_is_answered_with_200() {
    // JH-22
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"fail"}"#;
    let printed = curl(&[&JSON[..], &["--data-binary", call]].concat()).await;
    let error = r#"{"code":1234,"message":"boom","data":{"x":1}}"#;
    assert_eq!(
        (printed.status, printed.body),
        (200, format!(r#"{{"jsonrpc":"2.0","error":{error},"id":1}}"#))
    );
}

#[tokio::test]
async fn a_batch_is_answered_with_a_list() {
    // J2-41
    let batch = format!("[{CALL},{NOTIFICATION},{CALL}]");
    let printed = curl(&[&JSON[..], &["--data-binary", &batch]].concat()).await;
    let sum = r#"{"jsonrpc":"2.0","result":5,"id":1}"#;
    assert_eq!((printed.status, printed.body), (200, format!("[{sum},{sum}]")));
}

#[tokio::test]
async fn a_notification_is_answered_with_204_and_nothing() {
    // JH-23
    let printed = curl(&[&JSON[..], &["--data-binary", NOTIFICATION]].concat()).await;
    assert_eq!((printed.status, &*printed.body), (204, ""));
    assert!(!printed.head.contains("\r\ncontent-type:"), "{}", printed.head);
}

#[tokio::test]
async fn a_body_that_is_not_said_to_be_json_is_refused_with_415() {
    // JH-21: curl says that it is a form
    let printed = curl(&["--data-binary", CALL]).await;
    assert_eq!(printed.status, 415);
    assert!(printed.body.contains("`Content-Type` must be application/json"), "{}", printed.body);
}

#[tokio::test]
async fn a_get_is_refused_with_405_and_what_is_allowed() {
    // JH-20
    let printed = curl(&[]).await;
    assert_eq!(printed.status, 405);
    assert!(printed.head.contains("\r\nallow: post"), "{}", printed.head);
}

#[tokio::test]
async fn a_stream_path_is_called_with_a_query() {
    // JH-27, LLM-01
    let printed = curl_at("rpc/stream?method=greet&id=7&name=J%C3%BCrg", &["--no-buffer"]).await;
    assert_eq!(printed.status, 200);
    assert!(printed.head.contains("\r\ncontent-type: text/event-stream"), "{}", printed.head);
    let reply = r#"{"jsonrpc":"2.0","result":"Hello, Jürg!","id":7}"#;
    assert_eq!(printed.body, format!("data: {reply}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn a_stream_that_is_called_with_a_query_begins_with_a_start() {
    // LLM-01, LLM-07
    let printed = curl_at("rpc/stream?method=count_and_break", &["--no-buffer"]).await;
    let start = r#"data: {"jsonrpc":"2.0","result":"","id":1,"event":"start"}"#;
    let item = r#"data: {"jsonrpc":"2.0","result":1,"id":1}"#;
    let error = r#"data: {"jsonrpc":"2.0","error":{"code":7,"message":"the stream broke"},"id":1}"#;
    assert_eq!(printed.body, format!("{start}\n\n{item}\n\n{error}\n\ndata: [DONE]\n\n"));
}

#[tokio::test]
async fn a_post_that_accepts_events_gets_them() {
    // LLM-01
    let accept = ["--header", "accept: text/event-stream", "--data-binary", CALL];
    let printed = curl(&[&JSON[..], &accept].concat()).await;
    let reply = r#"{"jsonrpc":"2.0","result":5,"id":1}"#;
    assert_eq!((printed.status, printed.body), (200, format!("data: {reply}\n\ndata: [DONE]\n\n")));
}
