//! rmcp calls tools of a server that uses the TypeScript SDK, through `switchboard serve --from-mcp`: in both eras of the client, over HTTP
//! and to a child process.

use rmcp::model::ProtocolVersion;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use switchboard::connect as dial;
use switchboard_interop::{Demo, Other, Program};
use tokio::time::timeout;

use crate::host::{LIMIT, connect, told};

const TOOLS: Program = Program::Node("server-mcp-tools.mjs");

/// Uses everything that the server behind sends by itself.
async fn check(url: &str) {
    let mut front = Demo::start_with(&["--from-mcp", url]).await;
    for version in
        [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28]
    {
        let transport = StreamableHttpClientTransport::from_uri(format!("{}/mcp", front.url));
        let (client, mut heard) = connect(transport, &version).await;
        assert_eq!(told(&client, "ask", json!({})).await, "accept my name", "{version}");
        assert_eq!(told(&client, "sample", json!({})).await, "Paris", "{version}");
        while heard.try_recv().is_ok() {}
        assert_eq!(told(&client, "steps", json!({})).await, "done", "{version}");
        for expected in [1.0, 2.0] {
            assert_eq!(timeout(LIMIT, heard.recv()).await.unwrap(), Some(expected), "{version}");
        }
        client.cancel().await.unwrap();
    }
    let logged = front.stderr("all steps are done").await;
    assert!(logged.contains("WARN") && logged.contains("server=\"tools\""), "{logged}");

    let peer = dial(&front.url).await.unwrap();
    assert_eq!(peer.call::<Value>("grow", ()).await.unwrap(), "grown");
    let listed = async || {
        let document: Value = peer.call("rpc.discover", ()).await.unwrap();
        let methods = document["methods"].as_array().unwrap();
        methods.iter().any(|method| method["name"] == "late")
    };
    timeout(LIMIT, async { while !listed().await {} }).await.expect("the added tool is described");
    assert_eq!(peer.call::<Value>("late", ()).await.unwrap(), "late");
    let transport = StreamableHttpClientTransport::from_uri(format!("{}/mcp", front.url));
    let (client, _heard) = connect(transport, &ProtocolVersion::V_2026_07_28).await;
    assert_eq!(told(&client, "late", json!({})).await, "late");
}

#[tokio::test]
async fn a_child_process_asks_reports_logs_and_changes() {
    let words: Vec<String> = TOOLS.words().iter().map(|word| format!("'{word}'")).collect();
    check(&format!("exec:{} stdio", words.join(" "))).await;
}

#[tokio::test]
async fn a_server_over_http_asks_reports_logs_and_changes() {
    let behind = Other::start(TOOLS, &[]).await;
    check(&format!("{}/mcp", behind.url)).await;
}
