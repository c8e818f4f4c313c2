//! JSON-RPC servers as tools, and tools as methods of JSON-RPC.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Connection, Context, Describe, Dialect, Engine, ErrorObject, Json, Method,
    MethodDescription, Origin, Outcome, ParamDescription, Peer, ResultDescription, Router, Service, Settings,
    service_fn,
};
use switchboard_mcp::adapt::{Methods, Remote, RemoteError, Updates};
use switchboard_mcp::model::Revision;
use switchboard_mcp::{Client, Connector, Server};
use switchboard_openrpc::{Discovery, Document, Generator, Info};
use switchboard_transport::{memory, running};
use tokio::sync::mpsc;

#[derive(Deserialize)]
struct Two {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct To {
    to: u32,
}

#[derive(Deserialize)]
struct City {
    city: String,
}

/// The methods of a JSON-RPC server that describes itself.
fn backend() -> Router {
    let integer = || json!({"type": "integer"});
    let add = Method::sync("math/add", |Two { a, b }, _| Ok::<_, ErrorObject>(a + b)).described(move |_| {
        MethodDescription::documented("Adds two numbers.\n\nExactly.")
            .param(ParamDescription::required("a", integer()))
            .param(ParamDescription::required("b", integer()).documented("The other one."))
            .result(ResultDescription::Value(integer()))
            .example("small", json!({"a": 2, "b": 3}), Some(json!(5)))
            .safe()
    });
    let count = Method::stream("count", |To { to }, _| stream::iter(1..=to)).described(move |_| {
        MethodDescription::documented("Counts.")
            .param(ParamDescription::required("to", integer()))
            .result(ResultDescription::Stream(integer()))
    });
    let fail =
        Method::sync("fail", |(): (), _| Err::<i64, _>(ErrorObject::validation_failed("no such city")));
    let methods = Router::builder().add(add).add(count).add(fail);
    Discovery::new(Generator::new(Info::new("Backend", "2.0.0"))).build(methods).unwrap()
}

/// A client of an MCP server in this process, over a duplex connection, and the notifications that it gets.
fn connect(server: &Server) -> (Peer, mpsc::UnboundedReceiver<(String, Json)>) {
    let (sender, received) = mpsc::unbounded_channel();
    let client = service_fn(move |call: &Call| {
        let _ = sender.send((call.method.as_str().to_owned(), call.params.clone().unwrap_or(Json::NULL)));
        Json::NULL.into_reply()
    });
    (duplex(server, Arc::new(client)), received)
}

trait IntoReply {
    fn into_reply(self) -> switchboard_core::ReplyFuture;
}

impl IntoReply for Json {
    fn into_reply(self) -> switchboard_core::ReplyFuture {
        switchboard_core::ReplyFuture::ready(switchboard_core::Reply::value(self))
    }
}

fn duplex(server: &Server, client: Arc<dyn Service>) -> Peer {
    let (near, far) = memory::pair(64 << 10);
    let settings = || Settings::default().with_profile(Server::profile());
    let engine = Engine::new(server.service().unwrap(), settings());
    tokio::spawn(Connection::new(far.0, far.1, engine, Origin::new("memory")).1);
    let engine = Engine::new(client, settings());
    running::run(Connection::new(near.0, near.1, engine, Origin::new("memory")).1)
}

async fn initialize(peer: &Peer) {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    peer.call::<Value>("initialize", params).await.unwrap();
    peer.notify("notifications/initialized", ()).await.unwrap();
}

async fn call_tool(peer: &Peer, name: &str, arguments: Value) -> Value {
    peer.call("tools/call", json!({"name": name, "arguments": arguments})).await.unwrap()
}

#[tokio::test]
async fn methods_of_a_remote_server_are_tools() {
    let remote =
        Remote::discover(memory::connect(backend(), Router::builder().build().unwrap())).await.unwrap();
    assert_eq!(remote.info().title, "Backend");
    let server = Server::new(remote);
    let (peer, _received) = connect(&server);
    initialize(&peer).await;
    let tools: Value = peer.call("tools/list", json!({})).await.unwrap();
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["count", "fail", "math_add"]);
    let add = &tools["tools"][2];
    assert_eq!(add["annotations"]["readOnlyHint"], true);
    assert_eq!(
        add["inputSchema"]["properties"]["b"],
        json!({"type": "integer", "description": "The other one."})
    );
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    let text = add["description"].as_str().unwrap();
    assert_eq!(text, "Adds two numbers.\n\nExactly.\n\nExample: {\"a\":2,\"b\":3} returns 5");
    let sum = call_tool(&peer, "math_add", json!({"a": 2, "b": 3})).await;
    assert_eq!(sum["structuredContent"], json!({"result": 5}));
    let failed = call_tool(&peer, "fail", json!({})).await;
    assert_eq!(failed["isError"], true);
    assert!(failed["content"][0]["text"].as_str().unwrap().contains("no such city"));
}

#[tokio::test]
async fn streams_of_a_remote_server_are_progress() {
    let remote =
        Remote::discover(memory::connect(backend(), Router::builder().build().unwrap())).await.unwrap();
    let server = Server::new(remote);
    let (peer, mut received) = connect(&server);
    initialize(&peer).await;
    let params = json!({"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "p"}});
    let counted: Value = peer.call("tools/call", params).await.unwrap();
    assert_eq!(counted["structuredContent"], json!({"result": [1, 2, 3]}));
    for number in 1..=3 {
        let (method, params) = received.recv().await.unwrap();
        assert_eq!(method, "notifications/progress");
        assert_eq!(params.get("message").unwrap().as_str(), format!("\"{number}\""));
    }
}

#[tokio::test]
async fn methods_are_filtered_renamed_and_described() {
    let peer = memory::connect(backend(), Router::builder().build().unwrap());
    let remote = Remote::discover(peer).await.unwrap();
    let remote = remote.keep("math/*".parse().unwrap()).keep("count".parse().unwrap());
    let remote =
        remote.without("count".parse().unwrap()).rename("math/add", "sum").describe("math/add", "Sums up.");
    assert_eq!(remote.methods(), ["math/add"]);
    let refused = Service::call(&remote, &Call::new("count", None)).await;
    assert!(matches!(refused.outcome, Outcome::Error(error) if error.code.0 == -32601));
    let server = Server::new(remote);
    let (peer, _received) = connect(&server);
    initialize(&peer).await;
    let tools: Value = peer.call("tools/list", json!({})).await.unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1);
    assert_eq!(tools["tools"][0]["name"], "sum");
    assert!(tools["tools"][0]["description"].as_str().unwrap().starts_with("Sums up."));
    assert_eq!(call_tool(&peer, "sum", json!({"a": 1, "b": 1})).await["content"][0]["text"], "2");
}

/// A server that shows the params of its calls, and what they were.
fn recorder() -> (Peer, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let service = service_fn(move |call: &Call| {
        let params = call.params.as_ref().map_or_else(|| "none".to_owned(), Json::to_string);
        sink.lock().unwrap().push(format!("{} {params}", call.method));
        Json::NULL.into_reply()
    });
    (memory::connect(service, Router::builder().build().unwrap()), seen)
}

#[tokio::test]
async fn named_arguments_are_passed_by_position_where_the_document_says_so() {
    let document = json!({"openrpc": "1.2.6", "info": {"title": "Chain", "version": "1"}, "methods": [
        {"name": "eth_call", "paramStructure": "by-position", "params": [
            {"name": "to", "required": true, "schema": {"type": "string"}},
            {"name": "gas", "schema": {"type": "integer"}},
            {"name": "block", "schema": {"$ref": "#/components/schemas/Block"}}],
         "result": {"name": "r", "schema": {"$ref": "#/components/schemas/Block"}}},
        {"name": "named", "params": [{"name": "a", "schema": {}}], "result": {"name": "r", "schema": {}}}],
        "components": {"schemas": {"Block": {"type": "object", "properties": {"parent": {"$ref": "#/components/schemas/Block"}}}}}});
    let (peer, seen) = recorder();
    let document = Document::from_value(document).unwrap();
    let remote = Remote::with_document(peer, document).unwrap();
    let described = remote.describe_in(Dialect::Draft2020);
    assert_eq!(described.methods[0].params.as_ref().unwrap()[2].schema, json!({"$ref": "#/$defs/Block"}));
    assert_eq!(described.definitions["Block"]["properties"]["parent"], json!({"$ref": "#/$defs/Block"}));
    let server = Server::new(remote.clone());
    let (peer, _received) = connect(&server);
    initialize(&peer).await;
    let tools: Value = peer.call("tools/list", json!({})).await.unwrap();
    let schema = &tools["tools"][0]["inputSchema"];
    assert_eq!(schema["properties"]["block"], json!({"$ref": "#/$defs/Block"}));
    assert!(schema["$defs"]["Block"].is_object(), "{schema}");
    call_tool(&peer, "eth_call", json!({"block": {}, "to": "0x1"})).await;
    call_tool(&peer, "eth_call", json!({})).await;
    call_tool(&peer, "named", json!({"a": 1})).await;
    call_tool(&peer, "named", json!({})).await;
    let params = Json::parse(r#"{"a":2}"#).unwrap();
    Service::call(&remote.by_position(), &Call::new("named", Some(params))).await;
    let expected =
        [r#"eth_call ["0x1",null,{}]"#, "eth_call none", r#"named {"a":1}"#, "named none", "named [2]"];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_server_that_does_not_describe_itself_is_an_error_that_says_so() {
    let undescribed = Router::builder().method("m", |(): (), _| Ok::<_, ErrorObject>(1)).build().unwrap();
    assert_eq!(Remote::discover(Peer::from(undescribed)).await.unwrap_err(), RemoteError::Undescribed);
    let wrong = Router::builder().method("m", |(): (), _| Ok::<_, ErrorObject>(1));
    let wrong =
        wrong.extension(Method::sync("rpc.discover", |(): (), _| Ok::<_, ErrorObject>(1))).build().unwrap();
    assert!(matches!(Remote::discover(Peer::from(wrong)).await, Err(RemoteError::Document(_))));
}

#[tokio::test]
async fn notifications_of_the_remote_server_are_updates_where_that_is_said() {
    let document = Arc::new(Mutex::new(
        json!({"openrpc": "1.3.2", "info": {"title": "Prices", "version": "1"}, "methods": [
        {"name": "price", "params": [{"name": "symbol", "required": true, "schema": {"type": "string"}}],
         "result": {"name": "r", "schema": {"type": "number"}}}]}),
    ));
    let told = Arc::clone(&document);
    let clients: Arc<Mutex<Vec<Peer>>> = Arc::default();
    let known = Arc::clone(&clients);
    let discover = move |(): (), cx: Context| {
        known.lock().unwrap().push(cx.peer().clone());
        Ok::<_, ErrorObject>(told.lock().unwrap().clone())
    };
    let router = Router::builder().extension(Method::sync("rpc.discover", discover)).build().unwrap();
    let updates = Updates::default()
        .on("price/changed", "resource:prices://{symbol}".parse().unwrap())
        .on("methods/changed", "tools".parse().unwrap());
    let remote = Remote::discover(memory::connect(router, updates.clone())).await.unwrap();
    let remote = remote.resource("price", "prices://{symbol}");
    let server = Server::new(remote.clone());
    updates.attach(&remote, &server);
    let (peer, mut received) = connect(&server);
    initialize(&peer).await;
    peer.call::<Value>("resources/subscribe", json!({"uri": "prices://ACME"})).await.unwrap();
    let backend = clients.lock().unwrap()[0].clone();
    backend.notify("other", json!({})).await.unwrap();
    backend.notify("price/changed", json!({"symbol": "OTHER"})).await.unwrap();
    backend.notify("price/changed", json!({"symbol": "ACME"})).await.unwrap();
    let (method, params) = received.recv().await.unwrap();
    assert_eq!(
        (method.as_str(), params.as_str()),
        ("notifications/resources/updated", r#"{"uri":"prices://ACME"}"#)
    );
    let added =
        json!({"name": "reset", "params": [], "result": {"name": "r", "schema": {"type": "boolean"}}});
    document.lock().unwrap()["methods"].as_array_mut().unwrap().push(added);
    backend.notify("methods/changed", json!({})).await.unwrap();
    assert_eq!(received.recv().await.unwrap().0, "notifications/tools/list_changed");
    assert_eq!(server.tools(), [("reset".to_owned(), "reset".to_owned())]);
}

/// An MCP server with tools, a resource and a prompt.
fn mcp_server() -> Server {
    let city = |docs: &'static str| {
        move |_: &mut switchboard_core::Schemas| {
            MethodDescription::documented(docs)
                .param(ParamDescription::required("city", json!({"type": "string", "minLength": 1})))
        }
    };
    let weather = Method::sync("weather", |City { city }, _| match city.as_str() {
        "Oslo" => Ok(json!({"city": city, "degrees": 7})),
        other => Err(ErrorObject::validation_failed(format!("no such city: {other}"))),
    });
    let schema = json!({"type": "object", "properties": {"degrees": {"type": "integer"}}});
    let weather = weather.described(move |schemas| {
        city("The weather in a city.")(schemas).result(ResultDescription::Value(schema.clone())).safe()
    });
    let greet = Method::sync("greet", |City { city }, _| Ok::<_, ErrorObject>(format!("Hello {city}!")));
    let greet = greet.described(move |schemas| {
        city("Greets.")(schemas).result(ResultDescription::Value(json!({"type": "string"})))
    });
    let about = Method::sync("about", |City { city }, _| Ok::<_, ErrorObject>(format!("About {city}.")));
    let about = about.described(move |schemas| {
        city("Facts.")(schemas)
            .result(ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"resource": "city://{city}"}))
    });
    let plan = Method::sync("plan", |City { city }, _| Ok::<_, ErrorObject>(format!("Plan {city}.")));
    let plan = plan.described(move |schemas| {
        city("Plans.")(schemas)
            .result(ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"prompt": true}))
    });
    let router = Router::builder().add(weather).add(greet).add(about).add(plan).build().unwrap();
    Server::new(router).named("weather", "1.0.0")
}

async fn client(server: &Server, is_old: bool) -> Client {
    let server = server.clone();
    let connect = move |service| {
        let peer = duplex(&server, service);
        // A server of the older era does not know the probe.
        let old = service_fn({
            let peer = peer.clone();
            move |call: &Call| match call.method.as_str() {
                "server/discover" => ErrorObject::method_not_found("server/discover").into_reply(),
                _ => Service::call(&peer, call),
            }
        });
        let peer = if is_old { Peer::local(old) } else { peer };
        async { Ok::<_, CallError>(peer) }
    };
    Connector::default().over(connect).await.unwrap()
}

impl IntoReply for ErrorObject {
    fn into_reply(self) -> switchboard_core::ReplyFuture {
        switchboard_core::ReplyFuture::ready(self)
    }
}

async fn check_methods(client: &Client) {
    let methods = Methods::of(client).await.unwrap();
    let discovery = Discovery::new(Generator::new(Info::new("From MCP", "1.0.0")));
    let router = discovery.build(Router::builder().mount_described("", methods)).unwrap();
    let peer = Peer::from(router);
    let check = async |method: &'static str, params: Value, expected: Result<Value, (i64, &str)>| {
        let params = Json::encode(&params).unwrap();
        let told = match peer.call::<Value>(method, params).await {
            Ok(value) => Ok(value),
            Err(CallError::Rejected(error)) => Err((error.code.0, error.message.to_string())),
            Err(error) => panic!("{method}: {error}"),
        };
        assert_eq!(told, expected.map_err(|(code, text)| (code, text.to_owned())), "{method}");
    };
    check("weather", json!({"city": "Oslo"}), Ok(json!({"city": "Oslo", "degrees": 7}))).await;
    check("weather", json!(["Oslo"]), Ok(json!({"city": "Oslo", "degrees": 7}))).await;
    let failed = "Invalid user data: no such city: Rome";
    check("weather", json!({"city": "Rome"}), Err((-32001, failed))).await;
    check("greet", json!({"city": "Oslo"}), Ok(json!("Hello Oslo!"))).await;
    let read: Value = peer.call("resources/read", json!({"uri": "city://Oslo"})).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "About Oslo.");
    let templates: Value = peer.call("resources/templates/list", ()).await.unwrap();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "city://{city}");
    let prompts: Value = peer.call("prompts/list", ()).await.unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "plan");
    let prompt: Value = peer.call("prompts/get", json!(["plan", {"city": "Oslo"}])).await.unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "Plan Oslo.");
    let document: Json = peer.call("rpc.discover", ()).await.unwrap();
    let document = Document::parse(document.to_string()).unwrap();
    let weather = document.method("weather").unwrap();
    assert!(weather.is_safe());
    assert_eq!(weather.summary.as_deref(), Some("The weather in a city."));
    let param = weather.params().next().unwrap();
    assert_eq!(param.schema.as_value(), &json!({"type": "string", "minLength": 1}));
    let result = weather.result().unwrap();
    assert_eq!(result.schema.as_value()["properties"]["degrees"], json!({"type": "integer"}));
}

#[tokio::test]
async fn tools_are_methods_in_both_eras() {
    let server = mcp_server();
    let modern = client(&server, false).await;
    assert_eq!(modern.revision(), Revision::V2026_07_28);
    assert_eq!(modern.server().unwrap().name, "weather");
    check_methods(&modern).await;
    let old = client(&server, true).await;
    assert_eq!(old.revision(), Revision::V2025_11_25);
    check_methods(&old).await;
}

#[tokio::test]
async fn tools_that_are_added_can_be_called() {
    for is_old in [false, true] {
        let server = mcp_server();
        let methods = Methods::of(&client(&server, is_old).await).await.unwrap();
        let call = async || match Service::call(&methods, &Call::new("late", None)).await.outcome {
            Outcome::Value(value) => value.to_string(),
            Outcome::Error(error) => error.code.to_string(),
            Outcome::Stream(_) => "a stream".to_owned(),
        };
        assert_eq!(call().await, "-32601");
        // The server may not have seen the subscription yet: then it lists the tool anyway.
        let mut count = 0;
        while call().await == "-32601" {
            let name = if count == 0 { "late".to_owned() } else { format!("more{count}") };
            server.add(Method::sync(name, |(): (), _| Ok::<_, ErrorObject>(json!({"n": 1})))).unwrap();
            count += 1;
            tokio::task::yield_now().await;
            assert!(count < 10_000);
        }
        assert_eq!(call().await, r#"{"n":1}"#);
    }
}
