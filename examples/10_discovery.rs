//! A service that describes itself, validates calls against that description, and serves it as a document.
//!
//! ```text
//! cargo run -p switchboard --features http,validate --example 10_discovery
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard::http::{DocumentRoute, EndpointOptions};
use switchboard::openrpc::{DISCOVER, Discovery, Document, Generator, Info, Validation};
use switchboard::server::Server;
use switchboard::{Json, Router, connect, schemars, serde, service};

/// A table for some people.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "serde")]
struct Table {
    /// The name of the guest.
    name: String,
    /// The size of the party.
    #[schemars(range(min = 1, max = 12))]
    guests: u8,
}

struct Restaurant;

#[service(namespace = "tables")]
impl Restaurant {
    /// Books a table and returns its number.
    #[method(example(name = "two", params = [{"name": "Ann", "guests": 2}], result = 102))]
    fn book(&self, table: Table) -> u32 {
        let _ = table.name;
        100 + u32::from(table.guests)
    }

    /// Notes that a guest is late.
    #[method(notification)]
    fn late(&self, name: String) {
        println!("{name} is late");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let generator = Generator::new(Info::new("Restaurant", "1.0.0"));
    let router = Discovery::new(generator.clone()).build(Router::builder().add(Restaurant))?;
    let validation = Validation::new(&generator.document(&router))?;
    let checked = router.layered(validation);

    let options = EndpointOptions::default().route("/openrpc.json", DocumentRoute);
    let mut server = Server::new(checked).with_http(options);
    server.listen("http://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());

    let peer = connect(&url).await?;
    let told: Json = peer.call(DISCOVER, ()).await?;
    let document = Document::parse(told.to_string())?;
    for method in document.methods() {
        println!("{}: {}", method.name, method.summary.as_deref().unwrap_or_default());
    }

    let number: u32 = peer.call("tables/book", [serde_json::json!({"name": "Ann", "guests": 2})]).await?;
    println!("table {number}");
    let refused = peer.call::<u32>("tables/book", [serde_json::json!({"name": "Bob", "guests": 40})]).await;
    let error = refused.expect_err("too many come");
    if let Some(error) = error.rejection() {
        println!("{error} {}", error.data.clone().unwrap_or(Json::NULL));
    }

    drop(peer);
    handle.shutdown();
    serving.await?;
    Ok(())
}
