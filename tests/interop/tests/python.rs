//! Libraries for Python call our server.

use switchboard_interop::{Program, run, serve};

#[tokio::test]
async fn httpx_calls_in_every_version_and_reads_event_streams() {
    let serving = serve().await;
    run(Program::Python("client_httpx.py"), &[&serving.url("http")]).await;
}

#[tokio::test]
async fn jsonrpcclient_calls_over_http_and_websocket() {
    let serving = serve().await;
    run(Program::Python("client_jsonrpcclient.py"), &[&serving.url("http"), &serving.url("ws")]).await;
}

#[tokio::test]
async fn websockets_calls_and_subscribes() {
    let serving = serve().await;
    run(Program::Python("client_websockets.py"), &[&serving.url("ws")]).await;
}

#[tokio::test]
async fn web3_takes_us_for_a_node_over_http_websocket_and_ipc() {
    let serving = serve().await;
    let urls = ["http", "ws", "unix"].map(|scheme| serving.url(scheme));
    run(Program::Python("client_web3.py"), &urls.each_ref().map(String::as_str)).await;
}
