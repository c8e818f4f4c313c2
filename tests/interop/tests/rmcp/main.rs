//! rmcp, the Rust SDK of the Model Context Protocol, calls our server: over HTTP, as a child process and over TCP, in each revision that
//! it speaks.

#![allow(deprecated, reason = "2026-07-28 discourages sampling and roots; clients still have them")]

mod everything;
mod host;
mod relay;

use std::future::pending;

use rmcp::ServiceError;
use rmcp::model::{
    ClientRequest, ErrorCode, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams, Request,
    ResourceContents,
};
use rmcp::service::PeerRequestOptions;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value, json};
use switchboard::http::EndpointOptions;
use switchboard::server::{Handle, Server};
use switchboard::{ErrorObject, Router, Settings, mcp, service};
use switchboard_interop::Fixtures;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use crate::host::{Client, LIMIT, call, connect, revisions, told, tool};

/// Lists, calls, reads, asks and reports.
async fn check(client: &Client, heard: &mut mpsc::UnboundedReceiver<f64>, version: &ProtocolVersion) {
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "test_simple_text"));
    assert_eq!(told(client, "greet", json!({"name": "Ann"})).await, "Hello, Ann!");
    let failed = call(client, "test_error_handling", json!({})).await.unwrap();
    assert_eq!(failed.is_error, Some(true));
    let Err(ServiceError::McpError(unknown)) = call(client, "no_such_tool", json!({})).await else {
        panic!("an unknown tool is an error of the protocol");
    };
    assert_eq!(unknown.code, ErrorCode::INVALID_PARAMS);

    let resources = client.list_all_resources().await.unwrap();
    assert!(resources.iter().any(|resource| resource.uri == "test://static-text"));
    let read = client.read_resource(ReadResourceRequestParams::new("test://template/7/data")).await.unwrap();
    let Some(ResourceContents::TextResourceContents { text, .. }) = read.contents.first() else {
        panic!("{read:?}");
    };
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["id"], "7");

    let prompts = client.list_all_prompts().await.unwrap();
    assert!(prompts.iter().any(|prompt| prompt.name == "test_simple_prompt"));
    let arguments = Map::from_iter([("arg1".to_owned(), json!("a")), ("arg2".to_owned(), json!("b"))]);
    let params = GetPromptRequestParams::new("test_prompt_with_arguments").with_arguments(arguments);
    let prompt = client.get_prompt(params).await.unwrap();
    let text = prompt.messages[0].content.as_text().map(|block| block.text.as_str());
    assert_eq!(text, Some("Prompt with arguments: arg1='a', arg2='b'"));

    while heard.try_recv().is_ok() {}
    assert_eq!(told(client, "test_tool_with_progress", json!({})).await, "done");
    for expected in [0.0, 50.0, 100.0] {
        assert_eq!(timeout(LIMIT, heard.recv()).await.unwrap(), Some(expected));
    }

    let sampled = told(client, "test_sampling", json!({"prompt": "Capital of France?"})).await;
    assert_eq!(sampled, "LLM response: Paris");
    let elicited = call(client, "test_elicitation", json!({"message": "Who are you?"})).await.unwrap();
    // Elicitation is newer than sessions.
    match version.as_str() < "2025-06-18" {
        true => assert_eq!(elicited.is_error, Some(true)),
        false => {
            let text = elicited.content[0].as_text().map(|block| block.text.as_str());
            assert_eq!(text, Some("User response: accept, my username, my email"));
            let rounds = told(client, "test_input_required_result_multi_round", json!({})).await;
            assert_eq!(rounds, "All steps are done.");
        }
    }
}

#[tokio::test]
async fn it_uses_everything_over_http_in_every_revision() {
    let server = Fixtures::start().await;
    for version in revisions() {
        let transport = StreamableHttpClientTransport::from_uri(server.url.clone());
        let (client, mut heard) = connect(transport, &version).await;
        check(&client, &mut heard, &version).await;
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn it_uses_everything_of_a_child_process_in_every_revision() {
    for version in revisions() {
        let mut command = Command::new(Fixtures::program());
        command.arg("stdio");
        let (client, mut heard) = connect(TokioChildProcess::new(command).unwrap(), &version).await;
        check(&client, &mut heard, &version).await;
        client.cancel().await.unwrap();
    }
}

/// A tool with a typed result, and one that never returns: it says when it starts and when it is dropped.
struct Tools(mpsc::UnboundedSender<&'static str>);

struct Told(mpsc::UnboundedSender<&'static str>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[service]
impl Tools {
    /// Divides.
    fn divide(&self, a: i64, b: i64) -> Result<[i64; 2], ErrorObject> {
        match (a.checked_div(b), a.checked_rem(b)) {
            (Some(quotient), Some(rest)) => Ok([quotient, rest]),
            _ => Err(ErrorObject::validation_failed("cannot divide by 0")),
        }
    }

    /// Never returns.
    async fn hang(&self) {
        let told = Told(self.0.clone());
        let _ = told.0.send("started");
        pending::<()>().await;
    }
}

/// A server of these tools, until it is dropped.
struct Serving {
    http: String,
    tcp: String,
    events: Mutex<mpsc::UnboundedReceiver<&'static str>>,
    handle: Handle,
}

impl Serving {
    async fn start() -> Serving {
        let (sender, events) = mpsc::unbounded_channel();
        let router = Router::builder().add(Tools(sender)).build().unwrap();
        let tools = mcp::Server::new(router).named("tools", "1.0.0");
        let options = EndpointOptions::default().route("/mcp", mcp::McpRoute::new(&tools).unwrap());
        let settings = Settings::default().with_profile(mcp::Server::profile());
        let mut server = Server::new(tools.service().unwrap()).with_settings(settings).with_http(options);
        for url in ["http://127.0.0.1:0", "tcp://127.0.0.1:0"] {
            server.listen(url).await.unwrap();
        }
        let urls: Vec<String> = server.urls().collect();
        let handle = server.handle();
        tokio::spawn(server.serve());
        let tcp = urls[1].trim_start_matches("tcp://").to_owned();
        Serving { http: format!("{}/mcp", urls[0]), tcp, events: Mutex::new(events), handle }
    }

    async fn event(&self) -> Option<&'static str> {
        timeout(LIMIT, self.events.lock().await.recv()).await.expect("the tool says so in time")
    }

    /// Uses typed results, and cancels in both ways.
    async fn check(&self, client: &Client, version: &ProtocolVersion) {
        let result = call(client, "divide", json!({"a": 17, "b": 5})).await.unwrap();
        // A list cannot be structured content before 2026-07-28; it is put into an object.
        let divided: [i64; 2] = match version.as_str() {
            "2026-07-28" => result.into_typed().unwrap(),
            text if text < "2025-06-18" => result.into_typed().unwrap(),
            _ => serde_json::from_value(result.into_typed::<Value>().unwrap()["result"].clone()).unwrap(),
        };
        assert_eq!(divided, [3, 2]);
        let failed = call(client, "divide", json!({"a": 17, "b": 0})).await.unwrap();
        assert_eq!(failed.is_error, Some(true));

        let request = ClientRequest::CallToolRequest(Request::new(tool("hang", json!({}))));
        let handle =
            client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
        assert_eq!(self.event().await, Some("started"));
        handle.cancel(Some("enough".to_owned())).await.unwrap();
        assert_eq!(self.event().await, Some("dropped"));

        let mut abandoned = Box::pin(client.call_tool(tool("hang", json!({}))));
        tokio::select! {
            _ = &mut abandoned => panic!("it never returns"),
            event = self.event() => assert_eq!(event, Some("started")),
        }
        drop(abandoned);
        assert_eq!(self.event().await, Some("dropped"));
        assert!(call(client, "divide", json!({"a": 1, "b": 1})).await.is_ok(), "others go on");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

// MCP-C-01, MCP-N-06
#[tokio::test]
async fn its_results_are_typed_and_it_cancels_over_http() {
    let serving = Serving::start().await;
    for version in revisions() {
        let transport = StreamableHttpClientTransport::from_uri(serving.http.clone());
        let (client, _heard) = connect(transport, &version).await;
        serving.check(&client, &version).await;
        client.cancel().await.unwrap();
    }
}

// MCP-C-01, MCP-S-06, MCP-S-08
#[tokio::test]
async fn its_results_are_typed_and_it_cancels_over_tcp() {
    let serving = Serving::start().await;
    for version in revisions() {
        let stream = TcpStream::connect(&serving.tcp).await.unwrap();
        let (client, _heard) = connect(stream, &version).await;
        serving.check(&client, &version).await;
        client.cancel().await.unwrap();
    }
}
