//! Servers that were written with other libraries, behind `switchboard gateway`, and clients of others before it.

use serde_json::Value;
use switchboard::connect;
use switchboard_interop::{Demo, Other, Program, batch, calls, notification, run};

/// Calls a server through a gateway, over HTTP and WebSocket.
async fn check(upstream: &str, options: &[&str]) {
    let gateway = Demo::gateway(&[&[upstream], options].concat()).await;
    for url in [gateway.url.clone(), gateway.url.replacen("http", "ws", 1)] {
        let peer = connect(&url).await.unwrap();
        calls(&peer).await;
        batch(&peer).await;
        notification(&peer).await;
    }
}

#[tokio::test]
async fn a_server_with_jayson_over_http() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["http"]).await;
    check(&other.url, &[]).await;
}

#[tokio::test]
async fn a_server_with_jayson_over_tls_and_its_own_authority() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["https"]).await;
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/node/localhost.pem");
    check(&other.url, &[&format!("--set=upstream.upstream.tls.ca={certificate}")]).await;
}

#[tokio::test]
async fn a_server_with_jsonrpcserver_over_http() {
    let other = Other::start(Program::Python("server_jsonrpcserver.py"), &[]).await;
    check(&other.url, &[]).await;
}

#[tokio::test]
async fn a_server_with_ws_and_json_rpc_2_0() {
    let other = Other::start(Program::Node("server-ws.mjs"), &[]).await;
    check(&other.url, &[]).await;
}

#[tokio::test]
async fn language_clients_each_with_a_server_of_pygls() {
    let words = Program::Python("server_pygls.py").words();
    let upstream = format!("exec:{}?framing=lsp", words.join(" "));
    let gateway = Demo::gateway(&[&upstream, "--set=upstream.upstream.profile=lsp"]).await;
    run(Program::Python("client_lsp.py"), &[&gateway.url.replacen("http", "ws", 1)]).await;
}

#[tokio::test]
async fn calls_to_a_server_that_is_gone_fail_and_others_do_not() {
    let [first, second] = [(); 2].map(|()| Other::start(Program::Node("server-jayson.mjs"), &["http"]));
    let (first, second) = (first.await, second.await);
    let gateway = Demo::gateway(&[&format!("a={}", first.url), &format!("b={}", second.url)]).await;
    let peer = connect(&gateway.url).await.unwrap();
    assert_eq!(peer.call::<i64>("a/sum", [1, 2]).await, Ok(3));
    drop(first);
    let error = peer.call::<Value>("a/sum", [1, 2]).await.expect_err("its server is gone");
    assert_eq!(error.rejection().expect("the gateway answers").code.0, -32004);
    assert_eq!(peer.call::<i64>("b/sum", [1, 2]).await, Ok(3));
}
