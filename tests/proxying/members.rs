//! Members of requests and responses that the protocol does not define.

use futures_util::{StreamExt, stream};
use switchboard_core::{
    Call, Code, ErrorObject, Json, Members, Method, Outcome, Remote, Reply, ReplyFuture, Router,
    RouterBuilder, Service, StreamWanted, service_fn,
};

use crate::{Chain, Pair, call_with};

/// What stands beside each answer.
const BESIDE: &str = r#"{"trace":{"id":"a\u0062c"},"cost":1.50}"#;

/// Answers with the unknown members of the request, and with unknown members: a value, an error or a stream.
fn members_both_ways() -> RouterBuilder {
    let answer = |call: &Call| {
        let members = call.cx.get::<Members>().map_or(Json::NULL, |members| members.0.clone());
        let mut reply = match call.params.as_ref().map(Json::as_str) {
            Some(r#"["error"]"#) => Reply::error(ErrorObject::new(Code(7), "no")),
            Some(r#"["stream"]"#) => Reply::stream(stream::iter([1, 2])),
            _ => Reply::value(members),
        };
        reply.extra_mut().members = Some(Json::parse(BESIDE).unwrap());
        ReplyFuture::ready(reply)
    };
    Router::builder().add(Method::new("answer", service_fn(answer)))
}

fn members_of(reply: &Reply) -> Option<&str> {
    reply.extra.as_ref()?.members.as_ref().map(Json::as_str)
}

over_every_pair!(members_that_the_protocol_does_not_define_arrive);

async fn members_that_the_protocol_does_not_define_arrive(pair: Pair) {
    let chain = Chain::open(pair, members_both_ways()).await;
    let asked = r#"{"meta":{"a":[1.0,"\u0041"]},"tag":null}"#;
    let reply = Service::call(&chain.client, &call_with("answer", asked)).await;
    assert_eq!(members_of(&reply), Some(BESIDE));
    let Outcome::Value(arrived) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!(arrived.as_str(), asked);

    // The answer comes in an event stream where HTTP has to carry progress.
    let reply = Service::call(&chain.client, &call_with("answer", r#"{"progress":true}"#)).await;
    assert_eq!(members_of(&reply), Some(BESIDE));

    // A stream stays one, or is collected on the way.
    for params in [r#"["error"]"#, r#"["stream"]"#] {
        let call = Call::new("answer", Some(Json::parse(params).unwrap()));
        let reply = Service::call(&chain.client, &call).await;
        assert_eq!(members_of(&reply), Some(BESIDE), "{params}");
        assert_eq!(matches!(reply.outcome, Outcome::Error(_)), params.contains("error"));
    }
}

over_every_pair! { members_beside_a_stream_arrive:
    ws_to_tcp => ("ws://127.0.0.1:0", "tcp://127.0.0.1:0"),
    tcp_to_ws => ("tcp://127.0.0.1:0", "ws://127.0.0.1:0"),
}

async fn members_beside_a_stream_arrive(pair: Pair) {
    let chain = Chain::open(pair, members_both_ways()).await;
    let mut call = Call::new("answer", Some(Json::parse(r#"["stream"]"#).unwrap()));
    call.cx.insert(StreamWanted);
    let reply = Service::call(&chain.client, &call).await;
    assert_eq!(members_of(&reply), Some(BESIDE));
    let Outcome::Stream(items) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!(items.count().await, 2);
    let calls = vec![call.clone(), call];
    for reply in Remote::batch(&chain.client, calls).await {
        assert_eq!(members_of(&reply), Some(BESIDE));
    }
}
