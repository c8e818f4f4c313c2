//! What a gateway says would happen to a call is what happens to it.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use switchboard_core::{
    Call, Code, Context, Json, Metadata, Name, Outcome, Reply, ReplyFuture, Service, service_fn,
};
use switchboard_gateway::{
    Attempts, Backend, Balance, Breaker, CallLimits, Conclusion, Conditions, Explain, Explanation, Fault,
    Gateway, GatewayBuilder, Hedge, Pool, PoolBuilder, Retry, Rewrite, Route, Stack, Step, Sticky,
};

use crate::fakes::{Fake, Mood, call, code, name, pool};

/// A server that answers with its name, the method and the params that it got.
fn echo(name: &'static str) -> impl Service {
    service_fn(move |call: &Call| {
        let params = call.params.as_ref().map(|params| params.as_str().to_owned());
        ReplyFuture::ready(Reply::of(&(name, call.method.to_string(), params)))
    })
}

const PATTERNS: [&str; 8] =
    ["**", "math/*", "math/a*", "math/add", "math/deep/**", "*", "other/add", "math/deep/add"];
const METHODS: [&str; 8] =
    ["math/add", "math/abs", "math/deep/add", "math/", "add", "other/add", "a/b/c", "math/deep/"];

/// A route, made of what decides about calls. Chance is left out.
fn routes() -> impl Strategy<Value = Route> {
    let upstream = prop::option::of(select(vec!["plain", "math", "deep", "nowhere"]));
    let header = prop::option::of(select(vec!["a", "b"]));
    let rename = prop::option::of(select(vec!["renamed", "v2/add"]));
    (select(PATTERNS.to_vec()), upstream, 0..10_u8, header, rename, 0..4_u8).prop_map(
        |(pattern, upstream, closed, header, rename, rewrite)| {
            let mut route = Route::new(pattern.parse().unwrap());
            if let Some(upstream) = upstream {
                route = route.to(upstream);
            }
            if closed == 0 {
                route = route.closed();
            }
            if let Some(value) = header {
                route = route.when(Conditions::default().with_header("x-test", value));
            }
            if let Some(name) = rename {
                route = route.rename(name);
            }
            match rewrite {
                0 => route.with_rewrite(Rewrite::default().set("/tenant", json!("acme"))),
                _ => route,
            }
        },
    )
}

fn calls() -> impl Strategy<Value = Call> {
    let params = prop::option::of(select(vec!["[1]", "{}", r#"{"tenant":1, "b":2}"#]));
    let header = prop::option::of(select(vec!["a", "b", "c"]));
    (select(METHODS.to_vec()), params, header).prop_map(|(method, params, header)| {
        let params = params.map(|text| Json::parse(text.to_owned()).unwrap());
        let header = header.map(|value| ("x-test", value.as_bytes().to_vec()));
        let cx = Context::default().with_metadata(header.into_iter().collect::<Metadata>());
        Call::new(Name::from(method), params).with_context(cx)
    })
}

proptest! {
    /// Routes: the upstream, the method and the params that the explanation names are those that the upstream gets.
    #[test]
    fn a_call_goes_where_its_explanation_says(
        has_plain in any::<bool>(), routes in prop::collection::vec(routes(), 0..6), call in calls()
    ) {
        let builder = Gateway::builder()
            .backend(Backend::new("math", "math/", echo("math")))
            .backend(Backend::new("deep", "math/deep/", echo("deep")));
        let builder = match has_plain {
            true => builder.backend(Backend::new("plain", "", echo("plain"))),
            false => builder,
        };
        let gateway = routes.into_iter().fold(builder, GatewayBuilder::route).build().unwrap();
        let Explanation { conclusion, upstream, call: inside, .. } = gateway.explain(&call);
        let reply = gateway.call(&call).into_ready().expect("it is answered at once");
        match conclusion {
            Conclusion::Sent { .. } => {
                let Outcome::Value(value) = &reply.outcome else { panic!("{reply:?}") };
                let inside = inside.unwrap();
                let params = inside.params.as_ref().map(|params| params.as_str().to_owned());
                let expected = (upstream.unwrap().to_string(), inside.method.to_string(), params);
                prop_assert_eq!(value.decode::<(String, String, Option<String>)>().unwrap(), expected);
            }
            Conclusion::Refused(error) => prop_assert_eq!(error.code, code(&reply)),
            other => panic!("{other:?}"),
        }
    }

    /// Pools: a call goes to the node that is chosen, or to one of those that are possible.
    #[test]
    fn a_node_gets_a_call_that_may_get_it_by_its_explanation(
        nodes in prop::collection::vec((1..3_u32, 1..3_u32, 0..6_u8), 1..5),
        balance in select(vec![Balance::PowerOfTwo, Balance::RoundRobin]),
        sticky in prop::option::of(select(vec![Sticky::Session, Sticky::Param("/0".into())])),
        warm in 0..5_usize,
    ) {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _inside = runtime.enter();
        let fakes: Vec<Fake> = NAMES.iter().take(nodes.len()).map(|name| Fake::new(name)).collect();
        let built = fakes.iter().zip(&nodes).map(|(fake, (weight, priority, _))| {
            fake.node().with_weight(*weight).with_priority(*priority)
        });
        let builder = built.fold(Pool::builder("u").balance(balance), PoolBuilder::node);
        let pool = match sticky {
            Some(sticky) => builder.sticky(sticky).build(),
            None => builder.build(),
        };
        let call = Call::new("m", Some(Json::parse("[7]".to_owned()).unwrap()));
        for ((_, _, fate), (fake, name)) in nodes.iter().zip(fakes.iter().zip(NAMES)) {
            match fate {
                0 => drop(pool.drain(name, true)),
                1 => drop(pool.eject(name, Duration::from_secs(5))),
                2 => fake.set(Mood::Refuses),
                _ => {}
            }
        }
        // Nodes that refuse are avoided for a while.
        for _ in 0..warm {
            let _ = pool.call(&call).into_ready();
        }
        fakes.iter().for_each(|fake| fake.set(Mood::Answers));
        let mut steps = Vec::new();
        let conclusion = pool.explain(&call, &mut steps).break_value().expect("a pool ends every call");
        let reply = pool.call(&call).into_ready().expect("it is answered at once");
        match conclusion {
            Conclusion::Sent { server: Some(server) } => prop_assert_eq!(name(&reply), server),
            Conclusion::Sent { server: None } => {
                let start = format!("{}:", name(&reply));
                let step = steps.iter().find(|step| step.detail.starts_with(&start));
                prop_assert_eq!(step.map(|step| &*step.outcome), Some("possible"));
            }
            Conclusion::Refused(error) => prop_assert_eq!(error.code, code(&reply)),
            other => panic!("{other:?}"),
        }
    }
}

fn explained(stack: Stack) -> Explanation {
    let gateway = Gateway::builder().backend(Backend::new("u", "", stack)).build().unwrap();
    gateway.explain(&call())
}

/// The outcome and the detail of a step.
fn step<'a>(explanation: &'a Explanation, name: &str) -> (&'a str, &'a str) {
    let found = explanation.steps.iter().find(|step| step.step == name);
    let Step { outcome, detail, .. } = found.unwrap_or_else(|| panic!("no {name} in {explanation:?}"));
    (outcome, detail)
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_refuses_by_its_explanation_as_it_does() {
    let bad = Fake::that("bad", Mood::Refuses);
    let breaker = Breaker::default();
    let stack =
        || Stack::of(Attempts::new(pool(&[&bad]), Retry::times(0), None, |_| false)).with(breaker.clone());
    assert_eq!(step(&explained(stack()), "breaker").0, "closed");
    let gateway = Gateway::builder().backend(Backend::new("u", "", stack())).build().unwrap();
    for _ in 0..40 {
        gateway.call(&call()).await;
    }
    let open = gateway.explain(&call());
    assert_eq!(step(&open, "breaker").0, "open");
    assert!(
        matches!(&open.conclusion, Conclusion::Refused(error) if error.code == Code::UPSTREAM_FAILED),
        "{open:?}"
    );
    assert!(open.steps.iter().all(|step| step.step != "node"), "no server is asked: {open:?}");
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(step(&gateway.explain(&call()), "breaker").0, "half-open");
    // An explanation is not the call that is let through.
    bad.set(Mood::Answers);
    assert_eq!(name(&gateway.call(&call()).await), "bad");
}

#[tokio::test]
async fn policies_say_what_they_would_do() {
    let (one, two) = (Fake::new("one"), Fake::new("two"));
    let attempts = |is_safe: bool| {
        let hedge = Some(Hedge::After(Duration::from_millis(50)));
        Stack::of(Attempts::new(pool(&[&one, &two]), Retry::times(2), hedge, move |_| is_safe))
    };
    let limits = CallLimits::default().with_time(Some(Duration::from_secs(10)));
    let safe = explained(attempts(true).with(limits));
    assert_eq!(step(&safe, "limits"), ("on", "timeout 10s"));
    assert_eq!(step(&safe, "hedge"), ("on", "a second copy after 50.0ms"));
    assert!(step(&safe, "retry").1.contains("after any failure"), "{safe:?}");
    let not_safe = explained(attempts(false));
    assert_eq!(step(&not_safe, "hedge").0, "not used");
    assert!(step(&not_safe, "retry").1.contains("only if it was not sent"), "{not_safe:?}");
    let fault = Fault::default().with_error(Some(Code(-32000)));
    let failing = explained(attempts(true).with(fault));
    assert!(
        matches!(&failing.conclusion, Conclusion::Refused(error) if error.code == Code(-32000)),
        "{failing:?}"
    );
    let seldom = explained(attempts(true).with(fault.with_traffic(0.05)));
    assert!(step(&seldom, "fault").1.contains("5 % of the calls"), "{seldom:?}");
    assert!(matches!(seldom.conclusion, Conclusion::Sent { .. }));
    assert_eq!(one.take_asked() + two.take_asked(), 0, "an explanation sends nothing");
}

#[test]
fn a_route_that_takes_a_share_of_the_calls_is_possible() {
    let canary = Route::new("m".parse().unwrap()).to("next").when(Conditions::default().with_traffic(0.05));
    let gateway = Gateway::builder()
        .backend(Backend::new("plain", "", echo("plain")))
        .backend(Backend::new("next", "next/", echo("next")))
        .route(canary.with_source("gateway.toml:9"))
        .build()
        .unwrap();
    let explanation = gateway.explain(&call());
    assert_eq!(step(&explanation, "route"), ("possible", "m: takes 5 % of the calls"));
    assert_eq!(explanation.steps[0].source.as_deref(), Some("gateway.toml:9"));
    assert_eq!(explanation.upstream.as_deref(), Some("plain"));
}
