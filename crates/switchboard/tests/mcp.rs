//! What `#[service]` tells clients of the Model Context Protocol about methods.

#![allow(clippy::unwrap_used)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{Methods, Router, service};

#[derive(Serialize, Deserialize, JsonSchema)]
enum Region {
    North,
    South,
}

struct Desk;

#[service(namespace = "desk", rename_args = "camelCase")]
impl Desk {
    #[mcp(title = "Weather", name = "forecast", open_world = true, destructive = false, task = "optional")]
    #[mcp(icon = "https://desk.example/sun.png", icon = "data:image/png;base64,AA==", scope = "read admin")]
    fn weather(&self, city: String) -> String {
        city
    }

    #[mcp(tool = false)]
    fn hidden(&self) {}

    #[mcp()]
    fn plain(&self) {}

    #[mcp(resource = "desk://cities/{cityName}{?units}", mime = "text/markdown")]
    fn city(&self, city_name: String, units: Option<String>, #[arg(default = 5)] limit: u8) -> String {
        format!("{city_name} {units:?} {limit}")
    }

    #[method(name = "trip/plan")]
    #[mcp(prompt)]
    fn plan(&self, city: String) -> String {
        city
    }

    #[mcp(completes = "city.cityName, desk/trip/plan.city, trips/book.city")]
    fn cities(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }
}

#[service]
trait Weather {
    /// The weather of a region.
    #[method(extension("x-cost" = 5))]
    #[mcp(title = "Weather")]
    async fn weather(
        &self,
        #[arg(header = "Region")] region: Region,
        #[arg(header = "Days", default = 3)] days: u8,
        #[arg(header = "Units")] units: Option<String>,
    ) -> String;
}

struct Station;

impl Weather for Station {
    async fn weather(&self, region: Region, days: u8, _: Option<String>) -> String {
        let region = match region {
            Region::North => "north",
            Region::South => "south",
        };
        format!("{region} {days}")
    }
}

fn check(methods: impl Methods, name: &str, expected: &Value) {
    let methods = Router::builder().add(methods).build().unwrap().describe().methods;
    let others = methods.into_iter().find(|method| method.name == name).unwrap().others;
    assert_eq!(Value::from(others), *expected);
}

#[test]
fn a_tool_has_its_names_and_hints() {
    let told = json!({
        "title": "Weather",
        "name": "forecast",
        "icons": [{"src": "https://desk.example/sun.png"}, {"src": "data:image/png;base64,AA=="}],
        "openWorldHint": true,
        "destructiveHint": false,
        "scope": "read admin",
        "task": "optional",
    });
    check(Desk, "desk/weather", &json!({"x-mcp": told}));
    check(Desk, "desk/hidden", &json!({"x-mcp": {"tool": false}}));
    check(Desk, "desk/plain", &json!({}));
}

#[test]
fn a_resource_has_its_uri_and_type() {
    let told = json!({"resource": "desk://cities/{cityName}{?units}", "mimeType": "text/markdown"});
    check(Desk, "desk/city", &json!({"x-mcp": told}));
}

#[test]
fn a_prompt_says_that_it_is_one() {
    check(Desk, "desk/trip/plan", &json!({"x-mcp": {"prompt": true}}));
}

#[test]
fn completed_arguments_have_the_full_names_of_their_methods() {
    let pairs = json!([["desk/city", "cityName"], ["desk/trip/plan", "city"], ["trips/book", "city"]]);
    check(Desk, "desk/cities", &json!({"x-mcp": {"completes": pairs}}));
}

#[test]
fn a_trait_tells_the_same_as_an_impl() {
    check(WeatherService(Station), "weather", &json!({"x-cost": 5, "x-mcp": {"title": "Weather"}}));
}

#[test]
fn the_schema_of_an_argument_names_its_header() {
    let described = Router::builder().add(WeatherService(Station)).build().unwrap().describe();
    let schema = described.methods[0].params_schema().unwrap();
    let properties = &schema["properties"];
    assert_eq!(
        properties["region"],
        json!({"allOf": [{"$ref": "#/$defs/Region"}], "x-mcp-header": "Region"})
    );
    assert_eq!(
        (&properties["days"]["x-mcp-header"], &properties["days"]["default"]),
        (&json!("Days"), &json!(3))
    );
    assert_eq!(properties["units"], json!({"type": ["string", "null"], "x-mcp-header": "Units"}));
}

#[tokio::test]
async fn a_typed_client_calls_such_a_method_like_any_other() {
    let client = WeatherClient::new(Router::builder().add(WeatherService(Station)).build().unwrap());
    assert_eq!(client.weather(Region::South, None, None).await.as_deref(), Ok("south 3"));
}
