//! Libraries for Node call our server.

use switchboard_interop::{Program, run, serve, serve_lsp};

#[tokio::test]
async fn jayson_calls_over_http_tcp_unix_sockets_and_websocket() {
    let serving = serve().await;
    let urls = ["http", "tcp", "unix", "ws"].map(|scheme| serving.url(scheme));
    run(Program::Node("client-jayson.mjs"), &urls.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn json_rpc_2_0_calls_over_http_and_websocket() {
    let serving = serve().await;
    run(Program::Node("client-json-rpc-2.0.mjs"), &[&serving.url("http"), &serving.url("ws")]).await;
}

#[tokio::test]
async fn ws_calls_with_frames_of_every_kind() {
    let serving = serve().await;
    run(Program::Node("client-ws.mjs"), &[&serving.url("ws")]).await;
}

#[tokio::test]
async fn rpc_websockets_calls_and_subscribes() {
    let serving = serve().await;
    run(Program::Node("client-rpc-websockets.mjs"), &[&serving.url("ws")]).await;
}

#[tokio::test]
async fn vscode_jsonrpc_calls_a_child_and_over_sockets() {
    let serving = serve_lsp().await;
    let (tcp, unix) = (serving.url("tcp"), serving.url("unix"));
    let args = [&tcp, &unix, env!("CARGO_BIN_EXE_stdio"), "lsp"];
    run(Program::Node("client-vscode-jsonrpc.mjs"), &args).await;
}
