//! A tool server for the Model Context Protocol (MCP): a calculator, the weather and an echo, with a resource, a prompt, and a tool that asks
//! the client's model. Then a client uses all of it.
//!
//! ```text
//! cargo run -p switchboard --features mcp,stdio,child --example 12_mcp_tools
//! cargo run -p switchboard --features mcp,stdio,child --example 12_mcp_tools -- stdio   # for the configuration of a host
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard::http::EndpointOptions;
use switchboard::mcp::model::{
    Body, CompletionParams, CompletionRef, Revision, Sampled, Sampling, SamplingContent,
};
use switchboard::mcp::{self, Caller, Client, ClientBuilder, McpRoute};
use switchboard::server::Server;
use switchboard::{ErrorObject, JsonSchema, Router, schemars, serde, service};

type Done = Result<(), Box<dyn Error>>;

struct Calculator;

#[service(namespace = "calculator")]
impl Calculator {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    /// Divides two numbers.
    #[method(safe)]
    fn divide(&self, a: f64, b: f64) -> Result<f64, ErrorObject> {
        // Models see this text and can try again.
        if b == 0.0 { Err(ErrorObject::validation_failed("b must not be 0")) } else { Ok(a / b) }
    }
}

/// The weather in a city.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(crate = "serde")]
struct Forecast {
    city: String,
    /// In degrees Celsius.
    temperature: f64,
    conditions: String,
}

/// The cities that have a forecast.
const CITIES: [(&str, f64, &str); 3] =
    [("Cairo", 31.0, "sunny"), ("Oslo", 4.5, "rain"), ("Paris", 17.0, "cloudy")];

struct Weather;

#[service(namespace = "weather")]
impl Weather {
    /// The weather in a city.
    #[method(safe)]
    #[mcp(title = "Weather", open_world = true)]
    fn current(&self, city: String) -> Result<Forecast, ErrorObject> {
        forecast(&city)
    }

    /// What to wear in a city, in the words of the client's model.
    #[method(safe)]
    async fn advise(&self, caller: &Caller, city: String) -> Result<String, ErrorObject> {
        let Forecast { temperature, conditions, .. } = forecast(&city)?;
        let question =
            format!("It is {temperature} degrees with {conditions} in {city}. What should I wear?");
        let sampled = caller.sample(question).max_tokens(100).await?;
        Ok(sampled.text())
    }

    /// The forecast of a city, as a text.
    #[mcp(resource = "weather://cities/{city}", mime = "text/plain")]
    fn report(&self, city: String) -> Result<String, ErrorObject> {
        let Forecast { temperature, conditions, .. } = forecast(&city)?;
        Ok(format!("{city}: {temperature} degrees, {conditions}"))
    }

    /// Plans a day outdoors.
    #[mcp(prompt)]
    fn plan(&self, city: String) -> String {
        format!("Look up the weather in {city} and plan a day outdoors.")
    }

    /// Completes the names of cities.
    #[mcp(completes = "report.city, plan.city")]
    fn cities(&self, prefix: String) -> Vec<&'static str> {
        CITIES.iter().map(|(name, ..)| *name).filter(|name| name.starts_with(&prefix)).collect()
    }
}

fn forecast(city: &str) -> Result<Forecast, ErrorObject> {
    let found = CITIES.iter().find(|(name, ..)| *name == city);
    let (_, temperature, conditions) =
        *found.ok_or_else(|| ErrorObject::validation_failed(format!("there is no forecast for {city}")))?;
    Ok(Forecast { city: city.to_owned(), temperature, conditions: conditions.to_owned() })
}

struct Echo;

#[service]
impl Echo {
    /// Returns its message.
    #[method(safe)]
    fn echo(&self, message: String) -> String {
        message
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let router = Router::builder().add(Calculator).add(Weather).add(Echo).build()?;
    let tools = mcp::Server::new(router)
        .named("example-tools", "1.0.0")
        .instructions("Look up the weather before you advise on clothes.");
    if std::env::args().nth(1).as_deref() == Some("stdio") {
        return Ok(tools.serve("stdio").await?);
    }

    let options = EndpointOptions::default().route("/mcp", McpRoute::new(&tools)?);
    let mut server = Server::new(Router::builder().build()?).with_http(options);
    server.listen("http://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());
    println!("MCP on {url}/mcp");
    use_them(&client().connect(&format!("{url}/mcp")).await?).await?;
    handle.shutdown();
    serving.await?;

    // The same as a host does it: this program as a child process, here for a client that has sessions.
    let program = format!("exec:'{}' stdio", std::env::current_exe()?.display());
    use_them(&client().revision(Revision::V2025_11_25).connect(&program).await?).await
}

/// A client whose model has one answer to everything.
fn client() -> ClientBuilder {
    Client::builder("example", "1.0.0").on_sample(|asked: Sampling| async move {
        let question =
            asked.messages.iter().flat_map(|message| &message.content).find_map(SamplingContent::as_text);
        println!("the server asks the model: {}", question.unwrap_or_default());
        Ok(Sampled::new("example", "A warm coat, and an umbrella."))
    })
}

/// Uses everything that the server offers.
async fn use_them(client: &Client) -> Done {
    for tool in client.tools().all().await? {
        println!("tool {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let sum: f64 = client.call("calculator_add", json!({"a": 2, "b": 3})).await?;
    assert!((sum - 5.0).abs() < 1e-9);
    // The text of an error is for the model, which can try again.
    let failed = client.tool("calculator_divide", json!({"a": 1, "b": 0})).await?;
    assert!(failed.is_error && failed.text().contains("b must not be 0"));
    let oslo: Forecast = client.call("weather_current", json!({"city": "Oslo"})).await?;
    assert_eq!(format!("{} degrees, {}", oslo.temperature, oslo.conditions), "4.5 degrees, rain");
    let said: String = client.call("echo", json!({"message": "hello"})).await?;
    assert_eq!(said, "hello");

    let report = client.read("weather://cities/Paris").await?;
    assert!(matches!(&report[0].body, Body::Text(text) if text == "Paris: 17 degrees, cloudy"));
    let prompt = client.prompt("weather_plan", json!({"city": "Cairo"})).await?;
    println!("a prompt: {}", prompt.messages[0].content.as_text().unwrap_or_default());
    let city = CompletionParams::new(CompletionRef::Prompt("weather_plan".to_owned()), "city", "O");
    assert_eq!(client.complete(&city).await?.values, ["Oslo"]);

    // The tool asks the client's model before it answers.
    let advice: String = client.call("weather_advise", json!({"city": "Oslo"})).await?;
    assert_eq!(advice, "A warm coat, and an umbrella.");
    println!("advice for Oslo: {advice}");
    Ok(())
}
