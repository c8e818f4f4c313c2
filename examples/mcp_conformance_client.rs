//! The client that the official conformance suite of the Model Context Protocol tests. It does what each scenario asks for, with the
//! public API only, and finds out by itself which revision the server speaks.
//!
//! ```sh
//! cargo build --example mcp_conformance_client --all-features
//! npx @modelcontextprotocol/conformance client --command target/debug/examples/mcp_conformance_client --requirements 2026-07-28
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::{env, fmt};

use futures_util::future::join_all;
use serde_json::{Value, json};
use switchboard::ErrorObject;
use switchboard::mcp::model::{Capability, ElicitForm, Elicited, Root, Sampled, Sampling};
use switchboard::mcp::{Client, ClientBuilder};

#[path = "mcp_conformance_client/login.rs"]
mod login;

type Done = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Done {
    let url = match env::args().nth(1) {
        Some(url) => url,
        // There is no server to talk to.
        None if env::var_os("SWITCHBOARD_EXAMPLE_ONCE").is_some() => return Ok(()),
        None => return Err(Missing("the URL of the server, as an argument").into()),
    };
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").map_err(|_| Missing("MCP_CONFORMANCE_SCENARIO"))?;
    let context: Value = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };
    let client = Client::builder("switchboard-conformance", env!("CARGO_PKG_VERSION"));
    let client = match scenario.as_str() {
        // A client that can be asked also listens outside of calls, and this server answers there.
        "sse-retry" => client,
        _ => with_answers(client),
    };
    let client = match scenario.starts_with("auth/") {
        true => client.credentials(Arc::new(login::login(&scenario, &context)?)),
        false => client,
    };
    let client = client.connect(&url).await?;
    println!("{scenario}: {:?} speaks {}", client.server().map(|server| &server.name), client.revision());
    play(&scenario, &client, &context).await
}

/// A client that answers everything that servers ask.
fn with_answers(client: ClientBuilder) -> ClientBuilder {
    client
        .on_elicit(|form: ElicitForm| async move {
            // While this waits for the user, other calls go on.
            if let Some(client) = MEANWHILE.get() {
                let other = client.tool("test_mrtr_unrelated", json!({})).await;
                println!("meanwhile: {other:?}");
            }
            Elicited::accept(&form.defaults()).unwrap_or_else(|_| Elicited::cancel())
        })
        .on_sample(|_: Sampling| async { Ok::<_, ErrorObject>(Sampled::new("none", "I am not a model.")) })
        .roots([Root::new("file:///tmp")])
}

/// The client that makes another call while the user is asked.
static MEANWHILE: OnceLock<Client> = OnceLock::new();

async fn play(scenario: &str, client: &Client, context: &Value) -> Done {
    match scenario {
        "tools_call" => {
            client.tools().all().await?;
            client.tool("add_numbers", json!({"a": 5, "b": 3})).await?;
        }
        "elicitation-sep1034-client-defaults" => {
            client.tool("test_client_elicitation_defaults", json!({})).await?;
        }
        "sse-retry" => {
            client.tool("test_reconnection", json!({})).await?;
        }
        "http-standard-headers" => everything(client).await?,
        "http-custom-headers" => {
            client.tools().all().await?;
            for call in context["toolCalls"].as_array().into_iter().flatten() {
                client.tool(call["name"].as_str().unwrap_or_default(), &call["arguments"]).await?;
            }
        }
        "http-invalid-tool-headers" => {
            for tool in client.tools().all().await? {
                client.tool(&tool.name, json!({"region": "us-west1"})).await?;
            }
        }
        "sep-2322-client-request-state" => {
            MEANWHILE.get_or_init(|| client.clone());
            for tool in ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"] {
                client.tool(tool, json!({})).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tools = client.tools().all().await?;
            let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
            let schema = &tool.ok_or(Missing("json_schema_2020_12_tool"))?.input_schema;
            client.tool("json_schema_echo", json!({"schema": schema})).await?;
        }
        skills if skills.starts_with("sep-2640-client-") => {
            client.request::<Value>("skills/list", ()).await?;
        }
        auth if auth.starts_with("auth/") => {
            client.tools().all().await?;
            client.tool("test-tool", json!({})).await?;
        }
        _ => drop(client.tools().all().await?),
    }
    Ok(())
}

/// Lists everything, and uses all of it.
async fn everything(client: &Client) -> Done {
    let tools = client.tools().all().await?;
    let calls = tools.iter().map(|tool| client.tool(&tool.name, json!({})).into_future());
    join_all(calls).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    if client.has(Capability::Resources) {
        for resource in client.resources().all().await? {
            client.read(&resource.uri).await?;
        }
    }
    if client.has(Capability::Prompts) {
        for prompt in client.prompts().all().await? {
            client.prompt(&prompt.name, json!({})).await?;
        }
    }
    Ok(())
}

/// Something that the program needs is not there.
#[derive(Debug)]
struct Missing(&'static str);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing: {}", self.0)
    }
}

impl Error for Missing {}
