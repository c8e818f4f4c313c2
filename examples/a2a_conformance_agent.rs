//! The agent that the official compatibility kit of Agent2Agent (A2A) and the libraries of others are run against: what it does is named by
//! the start of a message's identifier. Its card is signed with a new key, whose public part is at `/keys.json`.
//!
//! ```text
//! cargo run -p switchboard --features a2a --example a2a_conformance_agent -- 127.0.0.1:9999
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use switchboard::a2a::model::{AgentCard, AgentSkill, Artifact, Message, Part};
use switchboard::a2a::{A2aRoute, Agent, CardRoute, Outcome, PushOptions, TaskHandle};
use switchboard::http::{EndpointOptions, TextRoute};
use switchboard::identity::jwt::SigningKey;
use switchboard::server::Server;
use switchboard::{ErrorObject, Json, Router};

async fn answer(message: Message, task: TaskHandle) -> Result<Outcome, ErrorObject> {
    let id = message.message_id.as_str();
    let is = |prefix: &str| id.starts_with(prefix);
    let file = || Part::raw("Generated file content", "text/plain").with_filename("output.txt");
    if is("tck-message-response") {
        return Ok("Direct message response".into());
    }
    if is("tck-input-required") {
        return Ok(Outcome::input_required("Please go on."));
    }
    if is("tck-reject-task") {
        return Ok(Outcome::rejected("rejected"));
    }
    if is("tck-stream-002") {
        return Ok(Outcome::completed());
    }
    if is("tck-complete-task") {
        return Ok(Outcome::completed_with("Hello from TCK"));
    }
    if is("tck-stream") || is("test-resubscribe") {
        task.working("working").await?;
    }
    let part = match () {
        () if is("test-resubscribe-message-id") => {
            tokio::time::sleep(Duration::from_secs(4)).await;
            return Ok(Outcome::completed());
        }
        () if is("tck-stream-artifact-chunked") => {
            task.chunk(Artifact::text("chunked", "chunk-1 "), false).await?;
            task.chunk(Artifact::text("chunked", "chunk-2"), true).await?;
            return Ok(Outcome::completed());
        }
        () if is("tck-artifact-file-url") => Part::url("https://example.com/output.txt")
            .with_filename("output.txt")
            .with_media_type("text/plain"),
        () if is("tck-artifact-file") || is("tck-stream-artifact-file") => file(),
        () if is("tck-artifact-data") => {
            let json = Json::parse(r#"{"key": "value", "count": 42}"#);
            Part::data(json.map_err(|error| ErrorObject::internal(&error))?)
        }
        () if is("tck-stream-artifact-text") => Part::text("Streamed text content"),
        () if is("tck-stream-001") => Part::text("Stream hello from TCK"),
        () if is("tck-stream-003") => Part::text("Stream task lifecycle"),
        () if is("tck-stream-ordering-001") => Part::text("Ordered output"),
        () if is("tck-artifact-text") => Part::text("Generated text content"),
        () => return Ok(Outcome::completed_with("Hello from TCK")),
    };
    task.artifact(Artifact::new("artifact", vec![part])).await?;
    Ok(Outcome::completed())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let card = AgentCard::new("Conformance agent", "Does what the compatibility kit asks for.", "1.0.0")
        .skill(AgentSkill::new("tck", "TCK", "Does what the compatibility kit asks for.").tagged(["tck"]));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let key = SigningKey::generate()?.with_id("conformance");
    let keys = format!(r#"{{"keys":[{}]}}"#, key.public_key().unwrap_or_default());
    let keys =
        TextRoute::new(HeaderValue::from_static("application/json"), move || (StatusCode::OK, keys.clone()));
    let mut server = Server::new(Router::builder().build()?);
    server.listen(&format!("http://{address}")).await?;
    let url = server.urls().next().ok_or("it listens")?;
    // Notifications go to this machine, where the kit receives them. Other agents leave that out.
    let agent = Agent::new(card, answer)
        .with_push(PushOptions::default().with_loopback(true))
        .with_signing_key(key)
        .with_origin(url.as_str())
        .build();
    let options = EndpointOptions::default()
        .without_routes()
        .with_paths(Vec::new())
        .route("/keys.json", keys)
        .route("/", A2aRoute::new(&agent))
        .route(CardRoute::PATH, CardRoute::new(&agent, "/").without_old_members())
        // With the members for 0.3, which the kit does not allow.
        .route("/.well-known/agent.json", CardRoute::new(&agent, "/"));
    let server = server.with_http(options);
    println!("Agent at {url}/");
    if std::env::var_os("SWITCHBOARD_EXAMPLE_ONCE").is_some() {
        server.handle().shutdown();
    }
    server.serve().await;
    Ok(())
}
