//! Asking a router what it offers.

#![allow(clippy::unwrap_used)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard::{CallError, Context, ErrorObject, Json, Peer, Router, RouterBuilder, RouterError, service};
use switchboard_openrpc::{DISCOVER, Discovery, Document, Generator, Info};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Open {
    text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Secret {
    key: Inner,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    text: String,
}

struct Notes;

#[service]
impl Notes {
    fn read(&self) -> Open {
        Open { text: String::new() }
    }

    fn unlock(&self, secret: Secret) -> bool {
        secret.key.text.is_empty()
    }
}

fn routes() -> RouterBuilder {
    Router::builder().add(Notes)
}

fn discovery() -> Discovery {
    Discovery::new(Generator::new(Info::new("Notes", "1")))
}

async fn ask(router: Router, params: Option<&'static str>) -> Result<Json, i64> {
    let peer = Peer::local(router);
    let answer = match params {
        Some(params) => peer.call(DISCOVER, Json::parse(params).unwrap()).await,
        None => peer.call(DISCOVER, ()).await,
    };
    answer.map_err(|error| match error {
        CallError::Rejected(error) => error.code.0,
        other => panic!("{other}"),
    })
}

// OR-30, OR-31
#[tokio::test]
async fn the_document_is_given_to_whoever_asks_without_params() {
    let first = ask(discovery().build(routes()).unwrap(), None).await.unwrap();
    for params in ["[]", "{}", "[ ]", "{\n}", r#"{"_meta":{}}"#] {
        let json = ask(discovery().build(routes()).unwrap(), Some(params)).await.unwrap();
        // OR-32: the bytes are always the same.
        assert_eq!(json, first, "{params}");
    }
    let document = Document::parse(first.to_string()).unwrap();
    let names: Vec<_> = document.methods().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["read", "rpc.discover", "unlock"]);
    let discover = document.method(DISCOVER).unwrap();
    assert!(discover.is_safe() && discover.params().next().is_none());
}

#[service]
trait Weather {
    #[mcp(title = "Weather", resource = "desk://weather/{region}")]
    async fn weather(&self, #[arg(header = "Region")] region: String) -> String;
}

struct Station;

impl Weather for Station {
    async fn weather(&self, region: String) -> String {
        region
    }
}

#[tokio::test]
async fn extensions_of_methods_and_params_reach_a_remote_reader() {
    let routes = Router::builder().add(WeatherService(Station));
    let json = ask(discovery().build(routes).unwrap(), None).await.unwrap();
    let document = Document::parse(json.to_string()).unwrap();
    let weather = document.method("weather").unwrap();
    assert_eq!(weather.others["x-mcp"], json!({"title": "Weather", "resource": "desk://weather/{region}"}));
    let schemas: Vec<_> = weather.params().map(|param| param.schema.as_value().clone()).collect();
    assert_eq!(schemas, [json!({"type": "string", "x-mcp-header": "Region"})]);
}

// OR-30
#[tokio::test]
async fn other_params_are_refused() {
    for params in ["[1]", r#"{"a":1}"#, "[null]"] {
        assert_eq!(ask(discovery().build(routes()).unwrap(), Some(params)).await, Err(-32602), "{params}");
    }
}

// OR-34
#[tokio::test]
async fn a_router_without_discovery_tells_nothing() {
    assert_eq!(ask(routes().build().unwrap(), None).await, Err(-32601));
}

#[test]
fn a_second_discovery_is_refused() {
    let other = switchboard::Method::sync(DISCOVER, |(): (), _| Ok::<_, ErrorObject>(1));
    let error = discovery().build(routes().extension(other)).unwrap_err();
    assert_eq!(error, RouterError::Duplicate(DISCOVER.to_owned()));
}

/// Who calls, for this test.
struct Admin;

// OR-32
#[tokio::test]
async fn callers_are_told_only_of_what_they_may_see() {
    let is_visible = |cx: &Context, method: &str| method != "unlock" || cx.get::<Admin>().is_some();
    let router = std::sync::Arc::new(discovery().visible(is_visible).build(routes()).unwrap());
    let told = |cx: Context| {
        let call = switchboard::Call::new(DISCOVER, None).with_context(cx);
        let reply = switchboard::Service::call(&*router, &call).into_ready().unwrap();
        let switchboard::Outcome::Value(json) = reply.outcome else { panic!("no value") };
        json
    };
    let text = told(Context::default()).to_string();
    assert!(text.contains("Open"), "{text}");
    for hidden in ["unlock", "Secret", "Inner"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let mut cx = Context::default();
    cx.insert(Admin);
    let text = told(cx).to_string();
    for shown in ["unlock", "Secret", "Inner", "Open"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}
