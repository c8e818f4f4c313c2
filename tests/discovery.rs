//! Discovery, and calls that are checked by what it tells, over every carrier.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use futures_util::stream;
use serde_json::{Value, json};
use switchboard_core::{
    ErrorObject, Json, Layer, Method, MethodDescription, ParamDescription, ResultDescription, Router, Service,
};
use switchboard_openrpc::{Discovery, Generator, Info, Validation};
use switchboard_tests::carrier::{Carrier, Heard};
use switchboard_tests::over_every_carrier;
use switchboard_tests::transcript::Transcript;

over_every_carrier!(what_is_told_holds);

async fn what_is_told_holds(carrier: &dyn Carrier) {
    let transcript = Transcript::read(include_str!("discovery.txt")).unwrap();
    let mut counted = 0;
    for section in transcript.sections {
        let mut line = carrier.open(service(), section.settings).await;
        for step in section.steps {
            let heard = line.send(step.sent.clone().into()).await;
            if matches!(heard, Heard::Unable(_)) {
                continue;
            }
            counted += 1;
            if let Err(reason) = step.check(&heard) {
                panic!("over {}, line {}: {}\n  {reason}", carrier.name(), step.line, step.sent);
            }
        }
    }
    assert!(counted > 5, "{} carried {counted} steps only", carrier.name());
}

fn service() -> Arc<dyn Service> {
    let described = |name: &str, schema: Value, result: ResultDescription| {
        let description =
            MethodDescription::documented("").param(ParamDescription::required(name, schema)).result(result);
        move |_: &mut _| description.clone()
    };
    let age = Method::sync("age", |_: Json, _| Ok::<_, ErrorObject>(true)).described(described(
        "years",
        json!({"type": "integer", "minimum": 0}),
        ResultDescription::Value(json!({"type": "boolean"})),
    ));
    let count = Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)).described(described(
        "to",
        json!({"type": "integer", "maximum": 9}),
        ResultDescription::Stream(json!({"type": "integer"})),
    ));
    let generator = Generator::new(Info::new("Ages", "1"));
    let router = Discovery::new(generator.clone()).build(Router::builder().add(age).add(count)).unwrap();
    let validation = Validation::new(&generator.document(&router)).unwrap();
    validation.with_results(|method, misfit| panic!("{method}: {misfit}")).layer(Arc::new(router))
}
