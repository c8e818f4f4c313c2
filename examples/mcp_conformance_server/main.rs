//! The server that the official conformance suite of the Model Context Protocol tests: every fixture of the suite, as plain methods.
//!
//! ```sh
//! cargo run --example mcp_conformance_server --all-features -- 127.0.0.1:8000
//! npx @modelcontextprotocol/conformance server --url http://127.0.0.1:8000/mcp --suite all
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod jobs;
mod rounds;
mod texts;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::http::EndpointOptions;
use switchboard::mcp::model::{Audio, Content, Contents, Image, LogLevel, Resource, ToolResult};
use switchboard::mcp::{self, Answer, Caller, McpRoute};
use switchboard::server::Server;
use switchboard::{ErrorObject, Json, JsonSchema, Method, MethodDescription, Router, service};

use crate::jobs::Jobs;
use crate::rounds::Rounds;
use crate::texts::Texts;

/// A PNG of one pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0,
    0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54, 8, 0xd7, 0x63, 0xf8,
    0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42,
    0x60, 0x82,
];

/// A WAV without samples.
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

#[derive(serde::Deserialize, JsonSchema)]
struct User {
    username: String,
    email: String,
}

#[derive(serde::Deserialize, JsonSchema)]
struct Named {
    pub(crate) name: String,
}

#[derive(serde::Deserialize, JsonSchema)]
struct Confirmed {
    pub(crate) confirm: bool,
}

#[derive(serde::Deserialize, JsonSchema)]
struct Agreed {
    #[expect(dead_code, reason = "that there is an answer is enough")]
    ok: bool,
}

struct Fixtures {
    server: std::sync::OnceLock<mcp::Server>,
}

/// Tools for both wires.
struct Tools(std::sync::Arc<Fixtures>);

fn pause() -> tokio::time::Sleep {
    tokio::time::sleep(Duration::from_millis(50))
}

#[service]
impl Tools {
    /// Returns a text.
    #[method(safe)]
    fn test_simple_text(&self) -> String {
        "This is a simple text response for testing.".to_owned()
    }

    /// Returns an image.
    #[method(safe)]
    fn test_image_content(&self) -> Image {
        Image::png(PNG)
    }

    /// Returns audio.
    #[method(safe)]
    fn test_audio_content(&self) -> Audio {
        Audio::wav(WAV)
    }

    /// Returns a resource.
    #[method(safe)]
    fn test_embedded_resource(&self) -> Content {
        let text = "This is an embedded resource content.";
        Content::resource(Contents::text("test://embedded-resource", text).with_mime_type("text/plain"))
    }

    /// Returns a text, an image and a resource.
    #[method(safe)]
    fn test_multiple_content_types(&self) -> Vec<Content> {
        let json = Contents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
        vec![
            Content::text("Multiple content types test:"),
            Content::image(Image::png(PNG)),
            Content::resource(json.with_mime_type("application/json")),
        ]
    }

    /// Fails.
    #[method(safe)]
    fn test_error_handling(&self) -> ToolResult {
        ToolResult::error("This tool intentionally returns an error for testing")
    }

    /// Reports progress.
    #[method(safe)]
    async fn test_tool_with_progress(&self, caller: &Caller) -> String {
        for done in [0, 50, 100] {
            caller.progress(done, 100).await;
            pause().await;
        }
        "done".to_owned()
    }

    /// Logs.
    #[method(safe)]
    async fn test_tool_with_logging(&self, caller: &Caller) -> String {
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            caller.log(LogLevel::Info, text).await;
            pause().await;
        }
        "logged".to_owned()
    }

    /// Logs, if the client wants to see it.
    #[method(safe)]
    async fn test_logging_tool(&self, caller: &Caller) -> String {
        caller.log(LogLevel::Info, "a message").await;
        "logged".to_owned()
    }

    /// Asks the client's model.
    async fn test_sampling(&self, caller: &Caller, prompt: String) -> Result<String, ErrorObject> {
        let sampled = caller.sample(prompt).max_tokens(100).await?;
        Ok(format!("LLM response: {}", sampled.text()))
    }

    /// Needs a client with a model.
    async fn test_missing_capability(&self, caller: &Caller) -> Result<String, ErrorObject> {
        Ok(caller.sample("Hello").await?.text())
    }

    /// Asks the user.
    async fn test_elicitation(&self, caller: &Caller, message: String) -> Result<String, ErrorObject> {
        Ok(match caller.elicit::<User>(message).await? {
            Answer::Accept(User { username, email }) => format!("User response: accept, {username}, {email}"),
            Answer::Decline => "User response: decline".to_owned(),
            Answer::Cancel => "User response: cancel".to_owned(),
        })
    }

    /// Asks the user, with defaults.
    async fn test_elicitation_sep1034_defaults(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "User name", "default": "John Doe"},
                "age": {"type": "integer", "description": "User age", "default": 30},
                "score": {"type": "number", "description": "User score", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "description": "Verified", "default": true},
            },
            "required": [],
        });
        asked(caller, &schema).await
    }

    /// Asks the user to choose.
    async fn test_elicitation_sep1330_enums(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let titled = json!([
            {"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"},
            {"const": "value3", "title": "Third Option"},
        ]);
        let schema = json!({
            "type": "object",
            "properties": {
                "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
                "titledSingle": {"type": "string", "oneOf": titled},
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
                },
                "titledMulti": {"type": "array", "items": {"anyOf": titled}},
            },
            "required": [],
        });
        asked(caller, &schema).await
    }

    /// Lets the client come back for the result.
    async fn test_reconnection(&self, caller: &Caller) -> String {
        caller.close_stream(Duration::from_millis(500));
        pause().await;
        "Reconnection test completed successfully.".to_owned()
    }

    /// Asks the user while it streams.
    async fn test_streaming_elicitation(&self, caller: &Caller) -> Result<String, ErrorObject> {
        caller.progress(1, 2).await;
        asked(caller, &json!({"type": "object", "properties": {"name": {"type": "string"}}})).await
    }

    /// Changes the list of tools.
    fn test_trigger_tool_change(&self) -> Result<String, ErrorObject> {
        self.0.toggle("test_simple_text")
    }

    /// Changes the list of prompts.
    fn test_trigger_prompt_change(&self) -> Result<String, ErrorObject> {
        self.0.toggle("test_simple_prompt")
    }

    /// Has an argument that travels in a header too.
    #[method(safe)]
    fn test_header_param(
        &self,
        #[arg(header = "Region", default = "eu".to_owned())] region: String,
    ) -> String {
        format!("region: {region}")
    }
}

impl Fixtures {
    /// Takes something off a list and puts it back.
    fn toggle(&self, name: &str) -> Result<String, ErrorObject> {
        let server = self.server.get().ok_or_else(|| ErrorObject::internal(&"the server has not started"))?;
        server.disable(name);
        server.enable(name).map_err(|error| ErrorObject::internal(&error))?;
        Ok(format!("{name} was taken off its list and put back"))
    }
}

async fn asked(caller: &Caller, schema: &Value) -> Result<String, ErrorObject> {
    let answer = caller.elicit_as::<Json>("Please fill in the form.", schema).await?;
    Ok(match answer {
        Answer::Accept(content) => format!("Elicitation completed: action=accept, content={content}"),
        Answer::Decline => "Elicitation completed: action=decline".to_owned(),
        Answer::Cancel => "Elicitation completed: action=cancel".to_owned(),
    })
}

/// A tool whose schema is given as it is.
fn schema_tool() -> Method {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    let run = |_: Option<Json>, _| Ok::<_, ErrorObject>("accepted".to_owned());
    Method::sync("json_schema_2020_12_tool", run).described(move |_| {
        MethodDescription::documented("Has a schema with many keywords.")
            .extension("x-mcp-input-schema", schema.clone())
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fixtures = std::sync::Arc::new(Fixtures { server: std::sync::OnceLock::new() });
    let router =
        Router::builder().add(Tools(fixtures.clone())).add(Rounds).add(Jobs).add(Texts).add(schema_tool());
    let text = Resource::new("test://static-text", "Static text");
    let binary = Resource::new("test://static-binary", "Static binary");
    let server = mcp::Server::new(router.build()?)
        .named("mcp-conformance-server", "1.0.0")
        .resource(
            text,
            Contents::text("test://static-text", "This is the content of the static text resource.")
                .with_mime_type("text/plain"),
        )
        .resource(binary, Contents::blob("test://static-binary", PNG).with_mime_type("image/png"));
    let _ = fixtures.server.set(server.clone());
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    if address == "stdio" {
        return Ok(server.serve("stdio").await?);
    }
    let route = McpRoute::new(&server)?;
    let (events, messages) = route.two_paths("/messages");
    let options =
        EndpointOptions::default().route("/mcp", route).route("/sse", events).route("/messages", messages);
    let mut listening = Server::new(Router::builder().build()?).with_http(options);
    listening.listen(&format!("http://{address}")).await?;
    for url in listening.urls() {
        println!("MCP at {url}/mcp");
    }
    if std::env::var_os("SWITCHBOARD_EXAMPLE_ONCE").is_some() {
        listening.handle().shutdown();
    }
    listening.serve().await;
    Ok(())
}
