//! Which upstream gets a call, and what it gets.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard_core::{
    Call, Code, Context, ErrorObject, Json, Metadata, Method, Name, Outcome, Reply, ReplyFuture, Router,
    Service, Subscription, service_fn,
};
use switchboard_gateway::{
    Backend, Conditions, Discovered, Gateway, GatewayBuilder, GatewayError, ParamsForm, Rewrite, Route,
};
use switchboard_layers::access::Who;
use switchboard_layers::identity::{Identity, Proof};
use switchboard_openrpc::Document;

use crate::fakes::code;

/// A server that answers with its name, the method and the params that it got.
fn echo(name: &'static str) -> impl Service {
    service_fn(move |call: &Call| {
        let params = call.params.as_ref().map(|params| params.as_str().to_owned());
        ReplyFuture::ready(Reply::of(&(name, call.method.to_string(), params)))
    })
}

fn route(pattern: &str) -> Route {
    Route::new(pattern.parse().unwrap())
}

/// Two upstreams with a prefix each, and one without.
fn gateway(routes: impl IntoIterator<Item = Route>) -> Gateway {
    let builder = Gateway::builder()
        .backend(Backend::new("plain", "", echo("plain")))
        .backend(Backend::new("math", "math/", echo("math")))
        .backend(Backend::new("deep", "math/deep/", echo("deep")));
    routes.into_iter().fold(builder, GatewayBuilder::route).build().unwrap()
}

async fn ask(gateway: &Gateway, method: &str, params: Option<&str>) -> Reply {
    let params = params.map(|text| Json::parse(text.to_owned()).unwrap());
    gateway.call(&Call::new(Name::from(method), params)).await
}

/// Which upstream answers a method, and as what it is called there.
async fn check(gateway: &Gateway, method: &str, upstream: &str, inside: &str) {
    let reply = ask(gateway, method, None).await;
    let Outcome::Value(value) = &reply.outcome else { panic!("{method}: {reply:?}") };
    let got: (String, String, Option<String>) = value.decode().unwrap();
    assert_eq!((got.0.as_str(), got.1.as_str()), (upstream, inside), "{method}");
}

#[tokio::test]
async fn the_longest_prefix_decides() {
    let gateway = gateway([]);
    check(&gateway, "math/add", "math", "add").await;
    check(&gateway, "math/deep/add", "deep", "add").await;
    check(&gateway, "other/add", "plain", "other/add").await;
    // A prefix alone is not a method of its upstream.
    check(&gateway, "math/", "plain", "math/").await;
}

#[tokio::test]
async fn the_most_specific_route_decides_whatever_the_order() {
    let routes = || [route("**").to("plain"), route("math/a*").to("deep"), route("math/add").to("math")];
    let mut backwards = routes();
    backwards.reverse();
    for routes in [routes(), backwards] {
        let gateway = gateway(routes);
        check(&gateway, "math/add", "math", "add").await;
        check(&gateway, "math/abs", "deep", "math/abs").await;
        check(&gateway, "math/sub", "plain", "math/sub").await;
    }
}

#[tokio::test]
async fn closed_methods_do_not_exist() {
    let gateway = gateway([route("math/secret*").closed(), route("math/secret_ok")]);
    let reply = ask(&gateway, "math/secret_key", None).await;
    assert_eq!(code(&reply), Code::METHOD_NOT_FOUND);
    check(&gateway, "math/secret_ok", "math", "secret_ok").await;
    let lost = self::gateway([route("a").to("nowhere")]);
    assert_eq!(code(&ask(&lost, "a", None).await), Code::METHOD_NOT_FOUND);
}

#[tokio::test]
async fn methods_are_renamed() {
    let routes = [route("old_*").to("math").rename("v2/*"), route("math/sum").rename("add")];
    let gateway = gateway(routes);
    check(&gateway, "old_add", "math", "v2/add").await;
    check(&gateway, "math/sum", "math", "add").await;
}

#[tokio::test]
async fn a_route_with_a_condition_lets_others_pass() {
    let conditions =
        Conditions::default().with_header("x-canary", "yes").with_callers([Who::Role("tester".into())]);
    let conditions = conditions.with_roles("bob", ["tester"]);
    let gateway = gateway([route("math/add").to("deep").when(conditions), route("math/*").rename("other")]);
    let upstream = async |who: &str, header: &str| {
        let metadata: Metadata = [("x-canary", header.as_bytes().to_vec())].into_iter().collect();
        let mut cx = Context::default().with_metadata(metadata);
        Identity::new(who, Proof::Token).attach(&mut cx);
        let reply = gateway.call(&Call::new("math/add", None).with_context(cx)).await;
        let Outcome::Value(value) = reply.outcome else { panic!() };
        let (upstream, method, _) = value.decode::<(String, String, Option<String>)>().unwrap();
        format!("{upstream} {method}")
    };
    assert_eq!(upstream("bob", "yes").await, "deep math/add");
    for (who, header) in [("bob", "no"), ("alice", "yes")] {
        assert_eq!(upstream(who, header).await, "math other", "{who} {header}");
    }
}

#[tokio::test]
async fn a_canary_gets_its_percentage_of_the_calls() {
    // The test has its own thread, and so its own random numbers.
    fastrand::seed(17);
    for (share, expected) in [(0.0, 0..=0), (0.05, 450..=550), (0.5, 4_850..=5_150), (1.0, 10_000..=10_000)] {
        let canary = Conditions::default().with_traffic(share);
        let gateway = gateway([route("math/*").to("deep").when(canary)]);
        let mut count = 0;
        for _ in 0..10_000 {
            let Outcome::Value(value) = ask(&gateway, "math/add", None).await.outcome else { panic!() };
            count += usize::from(value.decode::<(String, String, Option<String>)>().unwrap().0 == "deep");
        }
        assert!(expected.contains(&count), "{count} of 10,000 calls, of a share of {share}");
    }
}

#[tokio::test]
async fn params_cross_byte_for_byte_unless_a_route_rewrites_them() {
    let rewrite = Rewrite::default().set("/tenant", json!("acme")).remove("/debug");
    let gateway = gateway([route("math/tenant").with_rewrite(rewrite)]);
    let params = async |method: &str, params: &str| {
        let Outcome::Value(value) = ask(&gateway, method, Some(params)).await.outcome else { panic!() };
        value.decode::<(String, String, String)>().unwrap().2
    };
    let odd = r#"{ "z" : 1.50e+2, "a":"\u0041", "z2" :[ ] }"#;
    assert_eq!(params("math/add", odd).await, odd);
    let rewritten = params("math/tenant", r#"{"tenant":"evil","debug":1,"n":2}"#).await;
    let rewritten: Value = serde_json::from_str(&rewritten).unwrap();
    assert_eq!(rewritten, json!({ "tenant": "acme", "n": 2 }));
    let cannot = ask(&gateway, "math/tenant", Some("[1]")).await;
    assert_eq!(code(&cannot), Code::INVALID_PARAMS);
}

/// What an upstream gets of these params of `subtract`, whose parameters its server describes, with this structure.
async fn subtracted(structure: &str, route: Route, params: &str) -> Result<String, Code> {
    let slots = ["minuend", "subtrahend"].map(|name| json!({ "name": name, "schema": {} }));
    let result = json!({ "name": "difference", "schema": {} });
    let method =
        json!({ "name": "subtract", "paramStructure": structure, "params": slots, "result": result });
    let info = json!({ "title": "math", "version": "1" });
    let document = json!({ "openrpc": "1.3.2", "info": info, "methods": [method] });
    let document = Document::parse(document.to_string()).unwrap();
    let known = Discovered::from_document(document, Vec::new()).unwrap();
    let backend = Backend::new("math", "", echo("math")).discovered(known);
    let gateway = Gateway::builder().backend(backend).route(route).build().unwrap();
    let call = Call::new("subtract", Some(Json::parse(params.to_owned()).unwrap()));
    let explained = gateway.explain(&call).call.and_then(|call| Some(call.params?.as_str().to_owned()));
    let reply = gateway.call(&call).await;
    match &reply.outcome {
        Outcome::Value(value) => {
            let (_, _, got) = value.decode::<(String, String, Option<String>)>().unwrap();
            assert_eq!(explained, got, "the explanation");
            Ok(got.unwrap_or_default())
        }
        _ => {
            assert_eq!(explained, None, "the explanation");
            Err(code(&reply))
        }
    }
}

#[tokio::test]
async fn a_caller_cannot_avoid_changes_by_name_with_positional_params() {
    let drop = || route("subtract").with_rewrite(Rewrite::default().remove("/minuend"));
    let set = || route("subtract").with_rewrite(Rewrite::default().set("/subtrahend", json!(0)));
    let check = async |structure: &str, route: Route, params: &str, expected: &str| {
        assert_eq!(
            subtracted(structure, route, params).await.as_deref(),
            Ok(expected),
            "{structure} {params}"
        );
    };
    check("either", drop(), "[9,2]", r#"{"subtrahend":2}"#).await;
    check("either", drop().with_params(ParamsForm::Named), "[9,2]", r#"{"subtrahend":2}"#).await;
    check("either", drop().with_params(ParamsForm::Positional), "[9,2]", "[null,2]").await;
    check("either", set(), "[9,2]", r#"{"minuend":9,"subtrahend":0}"#).await;
    check("by-position", set(), "[9,2]", "[9,0]").await;
    check("either", drop(), "[]", "[]").await;
    let by_position = route("subtract").with_rewrite(Rewrite::default().set("/1", json!(0)));
    let by_position = by_position.with_params(ParamsForm::Positional);
    check("either", by_position, r#"{"minuend":9,"subtrahend":2}"#, "[9,0]").await;
    // Without a description, no name has a position.
    let gateway = gateway([route("math/subtract").with_rewrite(Rewrite::default().remove("/minuend"))]);
    assert_eq!(code(&ask(&gateway, "math/subtract", Some("[9,2]")).await), Code::INVALID_PARAMS);
}

fn described() -> Gateway {
    let ticks = Method::stream("ticks", |(): (), _| futures_util::stream::iter([1, 2]));
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("reset", |(): (), _| Ok::<_, ErrorObject>(()))
        .add(ticks.subscription(Subscription::named("tick", "unticks")));
    let router = Arc::new(router.build().unwrap());
    let backend = Backend::new("math", "math/", Arc::clone(&router)).described(router);
    Gateway::builder().backend(backend).route(route("math/reset").closed()).build().unwrap()
}

#[tokio::test]
async fn subscriptions_have_their_prefix() {
    let reply = ask(&described(), "math/ticks", None).await;
    let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
    let names = items.subscription().unwrap();
    assert_eq!((names.item.as_str(), names.unsubscribe.as_str()), ("math/tick", "math/unticks"));
    let items: Vec<i64> = items.map(|item| item.unwrap().decode::<i64>().unwrap()).collect().await;
    assert_eq!(items, [1, 2]);
}

#[test]
fn the_gateway_describes_what_it_serves() {
    let methods = Router::builder().mount_described("", described()).build().unwrap().describe().methods;
    let names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["math/add", "math/ticks"], "a closed method is not shown");
    let names = methods[1].subscription.as_ref().unwrap();
    assert_eq!(names.item.as_str(), "math/tick");
}

#[test]
fn upstreams_that_could_not_be_told_apart_are_refused() {
    let build = |names: [&'static str; 2], prefixes: [&'static str; 2]| {
        let builder = Gateway::builder().backend(Backend::new(names[0], prefixes[0], echo("a")));
        builder.backend(Backend::new(names[1], prefixes[1], echo("b"))).build()
    };
    assert!(matches!(build(["a", "a"], ["a/", "b/"]), Err(GatewayError::SameName(_))));
    assert!(matches!(build(["a", "b"], ["a/", "a/"]), Err(GatewayError::SamePrefix(..))));
    assert!(build(["a", "b"], ["", "a/"]).is_ok());
}
