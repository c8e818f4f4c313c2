//! Building routers: what they find, and what they refuse to be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::{Arc, Mutex};

use switchboard_core::{
    Call, CallError, Code, ErrorObject, Json, Layer, Method, Peer, Reply, ReplyFuture, Router, RouterBuilder,
    RouterError, Service, service_fn,
};

/// A method that answers its own name.
fn named(name: &'static str) -> Method {
    Method::sync(name, move |_: Json, _| Ok::<_, ErrorObject>(name.to_owned()))
}

async fn ask(router: RouterBuilder, method: &str) -> Result<String, Code> {
    let outcome = Peer::local(router.build().unwrap()).call::<String>(method, ()).await;
    outcome.map_err(|error| error.rejection().unwrap().code)
}

#[tokio::test]
async fn merged_and_namespaced_methods_are_found_under_their_full_names() {
    let router = || {
        Router::builder().add(named("one")).merge(Router::builder().add(named("two"))).namespace(
            "admin/",
            Router::builder().add(named("three")).namespace("deep.", Router::builder().add(named("four"))),
        )
    };
    for (method, answer) in
        [("one", "one"), ("two", "two"), ("admin/three", "three"), ("admin/deep.four", "four")]
    {
        assert_eq!(ask(router(), method).await.as_deref(), Ok(answer));
    }
    for unknown in ["three", "One", "one ", "", "admin/", "admin/one"] {
        // J2-05
        assert_eq!(ask(router(), unknown).await, Err(Code::METHOD_NOT_FOUND), "{unknown:?}");
    }
}

#[test]
fn two_methods_of_one_name_are_refused_when_building() {
    // JK-03
    let twice = Router::builder().add(named("a")).namespace("", Router::builder().add(named("a")));
    let error = twice.build().unwrap_err();
    assert_eq!(error, RouterError::Duplicate("a".into()));
    assert!(error.to_string().contains("registered twice"), "{error}");
    assert_eq!(Router::builder().add(named("")).build().unwrap_err(), RouterError::Unnamed);
}

#[tokio::test]
async fn names_kept_for_the_protocol_need_the_door_for_extensions() {
    // J2-06, JK-03
    let refused = Router::builder().add(named("rpc.discover")).build().unwrap_err();
    assert_eq!(refused, RouterError::Reserved("rpc.discover".into()));
    let smuggled = Router::builder().namespace("rpc", Router::builder().add(named(".x"))).build();
    assert_eq!(smuggled.unwrap_err(), RouterError::Reserved("rpc.x".into()));
    let extended =
        || Router::builder().extension(named("rpc.discover")).add(named("rpcx")).add(named("rpc_foo"));
    assert_eq!(ask(extended(), "rpc.discover").await.as_deref(), Ok("rpc.discover"));
    assert_eq!(ask(extended(), "rpcx").await.as_deref(), Ok("rpcx"));
    assert_eq!(ask(extended(), "rpc.other").await, Err(Code::METHOD_NOT_FOUND));
}

#[tokio::test]
async fn a_fallback_gets_what_nobody_else_takes() {
    let fallback = service_fn(|call: &Call| ReplyFuture::ready(Reply::of(&format!("not {}", call.method))));
    let router = Router::builder().add(named("known")).fallback(fallback);
    let peer = Peer::local(router.build().unwrap());
    assert_eq!(peer.call::<String>("known", ()).await.as_deref(), Ok("known"));
    assert_eq!(peer.call::<String>("other", ()).await.as_deref(), Ok("not other"));
}

/// Writes down the methods that pass.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Layer for Recorder {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        let seen = Arc::clone(&self.0);
        Arc::new(service_fn(move |call: &Call| {
            seen.lock().unwrap().push(call.method.to_string());
            inner.call(call)
        }))
    }
}

#[tokio::test]
async fn a_layer_wraps_what_was_added_before_it() {
    let recorder = Recorder::default();
    let router =
        Router::builder().add(named("inside")).layer(&recorder).add(named("outside")).build().unwrap();
    let peer = Peer::local(router);
    for method in ["inside", "outside", "unknown"] {
        let _ = peer.call::<String>(method, ()).await;
    }
    assert_eq!(*recorder.0.lock().unwrap(), ["inside"]);
}

#[tokio::test]
async fn a_layer_on_the_router_sees_unknown_methods_too() {
    let recorder = Recorder::default();
    let layered = recorder.layer(Arc::new(Router::builder().add(named("known")).build().unwrap()));
    let peer = Peer::local(layered);
    for method in ["known", "unknown"] {
        let _ = peer.call::<String>(method, ()).await;
    }
    assert_eq!(*recorder.0.lock().unwrap(), ["known", "unknown"]);
}

#[test]
fn a_router_describes_its_methods_in_the_order_of_their_names() {
    let router = Router::builder().add(named("b")).add(named("a")).extension(named("rpc.x")).build().unwrap();
    let names: Vec<_> = router.describe().methods.into_iter().map(|method| method.name).collect();
    assert_eq!(names, ["a", "b", "rpc.x"]);
}

#[tokio::test(start_paused = true)]
async fn any_timeout_can_be_given() {
    let peer = Peer::local(Router::builder().add(named("a")).build().unwrap());
    assert!(peer.call::<String>("a", ()).timeout(std::time::Duration::MAX).await.is_ok());
    let never = Peer::local(service_fn(|_| ReplyFuture::pending(std::future::pending())));
    let outcome = never.call::<String>("a", ()).timeout(std::time::Duration::ZERO).await;
    assert_eq!(outcome, Err(CallError::TimedOut));
}
