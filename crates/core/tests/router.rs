//! Building routers: what they find, and what they refuse to be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::{Arc, Mutex};

use switchboard_core::{
    Call, CallError, Code, Dialect, ErrorObject, Json, Layer, Method, MethodDescription, Outcome, Peer,
    Reply, ReplyFuture, Router, RouterBuilder, RouterError, Service, Subscription, layer_fn, service_fn,
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
async fn layered_methods_are_those_added_before_and_nothing_else() {
    let recorder = Recorder::default();
    let router = Router::builder()
        .add(named("inside"))
        .mount("m/", Router::builder().add(named("inside")).build().unwrap())
        .layer_methods(recorder.clone())
        .add(named("outside"))
        .extension(named("rpc.discover"))
        .build()
        .unwrap();
    let peer = Peer::from(router);
    for method in ["inside", "m/inside", "outside", "unknown", "rpc.discover"] {
        let _ = peer.call::<String>(method, ()).await;
    }
    assert_eq!(*recorder.0.lock().unwrap(), ["inside", "m/inside"]);
}

#[tokio::test]
async fn a_layered_router_is_wrapped_whole_and_still_describes_itself() {
    let recorder = Recorder::default();
    let router = Router::builder().add(named("known")).extension(named("rpc.discover")).build().unwrap();
    let layered = router.layered(recorder.clone());
    let names: Vec<_> = layered.describe().methods.into_iter().map(|method| method.name).collect();
    assert_eq!(names, ["known", "rpc.discover"]);
    let peer = Peer::from(layered);
    for method in ["known", "unknown", "rpc.discover"] {
        let _ = peer.call::<String>(method, ()).await;
    }
    assert_eq!(*recorder.0.lock().unwrap(), ["known", "unknown", "rpc.discover"]);
}

#[tokio::test]
async fn the_layer_added_last_is_the_outermost() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |word: &'static str| {
        let order = Arc::clone(&order);
        layer_fn(move |call, next| {
            let order = Arc::clone(&order);
            async move {
                order.lock().unwrap().push(word);
                next.run(&call).await
            }
        })
    };
    let router = Router::builder().add(named("a")).build().unwrap();
    let peer = Peer::from(router.layered(note("inner")).layered(note("outer")));
    assert_eq!(peer.call::<String>("a", ()).await.as_deref(), Ok("a"));
    assert_eq!(*order.lock().unwrap(), ["outer", "inner"]);
}

#[tokio::test]
async fn a_layer_can_be_a_function_that_changes_calls_and_replies() {
    let shout = layer_fn(async |mut call, next| {
        call.method = call.method.as_str().to_lowercase().into();
        let reply = next.run(&call).await;
        match reply.outcome {
            Outcome::Error(_) => Reply::of(&format!("no {}", call.method)),
            _ => reply,
        }
    });
    let peer = Peer::from(Router::builder().add(named("a")).build().unwrap().layered(shout.clone()));
    assert_eq!(peer.call::<String>("A", ()).await.as_deref(), Ok("a"));
    assert_eq!(peer.call::<String>("B", ()).await.as_deref(), Ok("no b"));
}

/// A service that answers with the method it was called by.
fn echo(tag: &'static str) -> impl Service {
    service_fn(move |call: &Call| ReplyFuture::ready(Reply::of(&format!("{tag}:{}", call.method))))
}

#[tokio::test]
async fn a_mounted_service_gets_methods_without_their_prefix() {
    let router = || {
        Router::builder()
            .mount("a/", echo("a"))
            .mount("a/b/", echo("ab"))
            .mount("c.", echo("c"))
            .add(named("a/known"))
            .namespace("deep/", Router::builder().mount("deep/", echo("deep")))
            .merge(Router::builder().mount("merged_", echo("merged")))
    };
    for (method, answer) in [
        ("a/x", "a:x"),
        ("a/b/x", "ab:x"),
        ("a/b", "a:b"),
        ("a/a/x", "a:a/x"),
        ("a/known", "a/known"),
        ("a/known2", "a:known2"),
        ("c.rpc.discover", "c:rpc.discover"),
        ("deep/deep/deep/x", "deep:deep/x"),
        ("merged_x", "merged:x"),
    ] {
        assert_eq!(ask(router(), method).await.as_deref(), Ok(answer), "{method}");
    }
    for unknown in ["a", "a/", "b/x", "A/x", "deep/x", "rpc.discover"] {
        assert_eq!(ask(router(), unknown).await, Err(Code::METHOD_NOT_FOUND), "{unknown}");
    }
    let fallback = router().fallback(echo("fallback"));
    assert_eq!(ask(fallback, "a/").await.as_deref(), Ok("fallback:a/"));
}

#[test]
fn mounts_are_checked_when_building() {
    let twice = Router::builder().mount("a/", echo("1")).mount("b/", echo("2")).mount("a/", echo("3"));
    let error = twice.build().unwrap_err();
    assert_eq!(error, RouterError::DuplicateMount("a/".into()));
    assert!(error.to_string().contains("a/"), "{error}");
    let reserved = Router::builder().mount("rpc.x/", echo("1")).build().unwrap_err();
    assert_eq!(reserved, RouterError::Reserved("rpc.x/".into()));
}

#[test]
fn a_router_describes_what_it_mounts_unless_it_is_hidden() {
    let inner = |names: &[&'static str]| {
        let builder = names.iter().fold(Router::builder(), |builder, name| builder.add(named(name)));
        builder.build().unwrap()
    };
    let names = Subscription::named("item", "stop");
    let ticks = Method::stream("ticks", |_: Json, _| futures_util::stream::empty::<u8>()).subscription(names);
    let router = Router::builder()
        .add(named("z"))
        .add(named("a/known"))
        .mount_described("a/", inner(&["known", "other", "b/hidden"]).layered(Recorder::default()))
        .mount_described("a/b/", Router::builder().add(ticks).build().unwrap())
        .mount("silent/", inner(&["x"]));
    let described =
        |methods: Vec<MethodDescription>| methods.into_iter().map(|method| method.name).collect::<Vec<_>>();
    let expected = ["a/b/ticks", "a/known", "a/other", "z"];
    assert_eq!(described(router.describe_in(Dialect::default()).methods), expected);
    let router = router.build().unwrap();
    let subscription = router.describe().methods.swap_remove(0).subscription.unwrap();
    assert_eq!((subscription.item.as_str(), subscription.unsubscribe.as_str()), ("a/b/item", "a/b/stop"));
    assert_eq!(described(router.layered(Recorder::default()).describe().methods), expected);
}

#[tokio::test]
async fn the_subscriptions_of_a_mounted_service_have_its_prefix() {
    let names = Subscription::named("item", "stop");
    let ticks = Method::stream("ticks", |_: Json, _| futures_util::stream::empty::<u8>()).subscription(names);
    let router =
        Router::builder().mount("m/", Router::builder().add(ticks).build().unwrap()).build().unwrap();
    let Outcome::Stream(items) = router.call(&Call::new("m/ticks", None)).await.outcome else {
        panic!("no stream")
    };
    let names = items.subscription().unwrap();
    assert_eq!((names.item.as_str(), names.unsubscribe.as_str()), ("m/item", "m/stop"));
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
