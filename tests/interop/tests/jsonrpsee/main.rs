//! jsonrpsee calls our server, and ours calls its.

mod server;

use futures_util::StreamExt;
use jsonrpsee::core::JsonRawValue;
use jsonrpsee::core::client::{
    BatchResponse, Client, ClientT, Error, IdKind, Subscription, SubscriptionClientT,
};
use jsonrpsee::core::params::{ArrayParams, BatchRequestBuilder, ObjectParams};
use jsonrpsee::http_client::HttpClient;
use jsonrpsee::rpc_params;
use jsonrpsee::ws_client::WsClientBuilder;
use serde_json::{Value, json};
use switchboard::{Subscription as Names, connect};
use switchboard_interop::{Demo, batch, calls, check, serve};

#[tokio::test]
async fn its_http_client_calls() {
    let serving = serve().await;
    let client = HttpClient::builder().build(serving.url("http")).unwrap();
    its_client_calls(&client).await;
    let text = HttpClient::builder().id_format(IdKind::String).build(serving.url("http")).unwrap();
    assert_eq!(text.request::<i64, _>("subtract", rpc_params![42, 23]).await.unwrap(), 19);
}

#[tokio::test]
async fn its_websocket_client_calls_and_subscribes() {
    let serving = serve().await;
    let client = WsClientBuilder::default().build(serving.url("ws")).await.unwrap();
    its_client_calls(&client).await;
    its_client_subscribes(&client).await;
}

async fn its_client_calls(client: &impl ClientT) {
    assert_eq!(client.request::<i64, _>("subtract", rpc_params![42, 23]).await.unwrap(), 19);
    let mut named = ObjectParams::new();
    named.insert("subtrahend", 23).unwrap();
    named.insert("minuend", 42).unwrap();
    assert_eq!(client.request::<i64, _>("subtract", named).await.unwrap(), 19);
    assert_eq!(client.request::<Value, _>("get_data", rpc_params![]).await.unwrap(), json!(["hello", 5]));

    let Err(Error::Call(error)) = client.request::<Value, _>("fail", rpc_params![]).await else {
        panic!("an error of the far side is told as one");
    };
    assert_eq!((error.code(), error.message()), (1234, "boom"));
    assert_eq!(error.data().map(JsonRawValue::get), Some(r#"{"x":1}"#));

    let updates = async || client.request::<u32, _>("updates", ArrayParams::new()).await.unwrap();
    let before = updates().await;
    client.notification("update", rpc_params![1, 2, 3]).await.unwrap();
    assert_eq!(updates().await, before + 1);

    let mut batch = BatchRequestBuilder::new();
    batch.insert("sum", rpc_params![1, 2, 4]).unwrap();
    batch.insert("no_such_method", rpc_params![]).unwrap();
    let answers: BatchResponse<'_, i64> = client.batch_request(batch).await.unwrap();
    assert_eq!((answers.num_successful_calls(), answers.num_failed_calls()), (1, 1));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.map_err(|error| error.code())).collect();
    assert_eq!(answers, [Ok(7), Err(-32601)]);
}

// JSP-01, JSP-02, JSP-03, JSP-06
async fn its_client_subscribes(client: &Client) {
    for _ in 0..3 {
        let ticks = client.subscribe("subscribe_ticks", rpc_params![], "unsubscribe_ticks");
        let mut ticks: Subscription<u32> = ticks.await.unwrap();
        for expected in 1..=3 {
            assert_eq!(ticks.next().await.unwrap().unwrap(), expected);
        }
        ticks.unsubscribe().await.unwrap();
    }
    let heads = client.subscribe("eth_subscribe", rpc_params!["newHeads"], "eth_unsubscribe");
    let mut heads: Subscription<Value> = heads.await.unwrap();
    for expected in ["0x1", "0x2", "0x3"] {
        assert_eq!(heads.next().await.unwrap().unwrap()["number"], expected);
    }
    drop(heads);
    let refused =
        client.subscribe::<Value, _>("eth_subscribe", rpc_params!["no_such_topic"], "eth_unsubscribe").await;
    assert!(matches!(refused, Err(Error::Call(_))), "{refused:?}");
    assert_eq!(client.request::<i64, _>("sum", rpc_params![1, 2]).await.unwrap(), 3);
}

#[tokio::test]
async fn our_client_calls_its_server_over_http() {
    let (address, _server) = server::start().await;
    let peer = connect(&format!("http://{address}")).await.unwrap();
    calls(&peer).await;
    batch(&peer).await;
}

#[tokio::test]
async fn our_client_calls_its_server_over_websocket_and_subscribes() {
    // JSP-01, JSP-02, JSP-03
    let (address, _server) = server::start().await;
    let peer = connect(&format!("ws://{address}")).await.unwrap();
    calls(&peer).await;
    batch(&peer).await;
    for _ in 0..3 {
        let names = Names::named("ticks", "unsubscribe_ticks");
        let ticks = peer.subscribe::<u32>("subscribe_ticks", (), names).await.unwrap();
        let ticks: Vec<_> = ticks.take(3).collect().await;
        assert_eq!(ticks, [Ok(1), Ok(2), Ok(3)]);
    }
    assert_eq!(peer.call::<i64>("sum", [1, 2]).await, Ok(3));
}

#[tokio::test]
async fn its_server_is_behind_a_gateway_and_its_client_before_it() {
    let (address, _server) = server::start().await;
    for scheme in ["http", "ws"] {
        let gateway =
            Demo::gateway(&[&format!("{scheme}://{address}"), "--set=upstream.upstream.profile=ethereum"])
                .await;
        let (http, ws) = (gateway.url.clone(), gateway.url.replacen("http", "ws", 1));
        for url in [&http, &ws] {
            let peer = connect(url).await.unwrap();
            calls(&peer).await;
            batch(&peer).await;
        }
        let client = HttpClient::builder().build(&http).unwrap();
        assert_eq!(client.request::<i64, _>("subtract", rpc_params![42, 23]).await.unwrap(), 19);
        let client = WsClientBuilder::default().build(&ws).await.unwrap();
        assert_eq!(client.request::<i64, _>("sum", rpc_params![1, 2]).await.unwrap(), 3);
        if scheme == "ws" {
            let heads = client.subscribe("eth_subscribe", rpc_params!["newHeads"], "eth_unsubscribe");
            let mut heads: Subscription<Value> = heads.await.unwrap();
            for expected in ["0x1", "0x2", "0x3"] {
                assert_eq!(heads.next().await.unwrap().unwrap()["number"], expected);
            }
            heads.unsubscribe().await.unwrap();
            assert_eq!(client.request::<i64, _>("sum", rpc_params![1, 2]).await.unwrap(), 3);
        }
    }
}

#[tokio::test]
async fn check_finds_what_its_server_does_otherwise() {
    let (address, _server) = server::start().await;
    let found = check(&format!("http://{address}"), &[]).await;
    assert!(found.passed > 100, "{found:?}");
    // A notification is answered, with null.
    assert!(found.failed.contains_key("notification-unknown") && found.breaks("J2-17"), "{found:?}");
    // A call with a negative identifier is taken for a notification, and its caller learns nothing.
    assert!(found.failed.contains_key("id-negative") && found.breaks("J2-28"), "{found:?}");
    // White space before a message is counted.
    assert!(found.failed.contains_key("much-white-space") && found.breaks("J2-61"), "{found:?}");
    // An invalid request is told as a text that is no JSON.
    assert!(found.failed.contains_key("invalid-without-id") && found.breaks("J2-20"), "{found:?}");
}
