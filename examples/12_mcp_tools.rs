//! A tool server for the Model Context Protocol (MCP): a calculator, the weather and an echo, with a resource, a prompt, and a tool that asks
//! the client's model.
//!
//! ```text
//! cargo run -p switchboard --features mcp,stdio --example 12_mcp_tools
//! cargo run -p switchboard --features mcp,stdio --example 12_mcp_tools -- stdio   # for the configuration of a host
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::http::EndpointOptions;
use switchboard::mcp::{self, Caller, McpRoute};
use switchboard::server::Server;
use switchboard::{Dial, ErrorObject, JsonSchema, Peer, Router, schemars, serde, service};

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
async fn main() -> Result<(), Box<dyn Error>> {
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
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert("mcp-protocol-version", HeaderValue::from_static("2026-07-28"));
    let peer = Dial::new(&format!("{url}/mcp"))?.with_headers(headers).connect().await?;
    call_it(&peer).await?;
    handle.shutdown();
    serving.await?;
    Ok(())
}

/// What a client of the stateless revision sends and gets: each request stands alone.
async fn call_it(peer: &Peer) -> Result<(), Box<dyn Error>> {
    let list = send(peer, "tools/list", "", json!({})).await?;
    for tool in list["tools"].as_array().into_iter().flatten() {
        println!("tool {}: {}", tool["name"], tool["description"]);
    }
    for (name, arguments) in [
        ("calculator_add", json!({"a": 2, "b": 3})),
        ("calculator_divide", json!({"a": 1, "b": 0})),
        ("weather_current", json!({"city": "Oslo"})),
        ("echo", json!({"message": "hello"})),
    ] {
        let result = send(peer, "tools/call", name, json!({"name": name, "arguments": arguments})).await?;
        println!("{name}: {}", result["content"][0]["text"]);
    }
    let uri = "weather://cities/Paris";
    let read = send(peer, "resources/read", uri, json!({"uri": uri})).await?;
    println!("{uri}: {}", read["contents"][0]["text"]);
    let params = json!({"name": "weather_plan", "arguments": {"city": "Cairo"}});
    let prompt = send(peer, "prompts/get", "weather_plan", params).await?;
    println!("weather_plan: {}", prompt["messages"][0]["content"]["text"]);

    // The tool asks a model: the first answer is the question, the second call brings the model's answer.
    let name = "weather_advise";
    let mut params = json!({"name": name, "arguments": {"city": "Oslo"}});
    let asked = send(peer, "tools/call", name, params.clone()).await?;
    let requests = asked["inputRequests"].as_object().ok_or("it asks")?;
    for (key, request) in requests {
        println!("{name} asks: {}", request["params"]["messages"][0]["content"]["text"]);
        let content = json!({"type": "text", "text": "A warm coat, and an umbrella."});
        params["inputResponses"][key] = json!({"role": "assistant", "content": content, "model": "example"});
    }
    params["requestState"] = asked["requestState"].clone();
    let result = send(peer, "tools/call", name, params).await?;
    println!("{name}: {}", result["content"][0]["text"]);
    Ok(())
}

/// Sends a request of the revision 2026-07-28. Its headers repeat the method and its target, for proxies.
async fn send(peer: &Peer, method: &str, target: &str, mut params: Value) -> Result<Value, Box<dyn Error>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "example", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    });
    let request = peer
        .call::<Value>(method, params)
        .metadata("mcp-method", method.to_owned())
        .metadata("mcp-name", target.to_owned());
    Ok(request.await?)
}
