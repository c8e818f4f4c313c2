//! Our client calls servers that were written with other libraries.

use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard::{Dial, ErrorObject, Profile, Router, RouterBuilder, Settings, connect};
use switchboard_interop::{Other, Program, batch, calls, notification};
use tokio::sync::mpsc;

/// What servers find that call back.
fn ada() -> RouterBuilder {
    Router::builder().method("name", |(): (), _| Ok::<_, ErrorObject>("Ada"))
}

#[tokio::test]
async fn a_server_with_jayson_over_http() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["http"]).await;
    let peer = connect(&other.url).await.unwrap();
    calls(&peer).await;
    notification(&peer).await;
    batch(&peer).await;
}

#[tokio::test]
async fn a_server_with_jayson_over_tcp() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["tcp"]).await;
    let peer = connect(&other.url).await.unwrap();
    calls(&peer).await;
    notification(&peer).await;
    batch(&peer).await;
}

#[tokio::test]
async fn a_server_with_ws_and_json_rpc_2_0_that_calls_back() {
    let other = Other::start(Program::Node("server-ws.mjs"), &[]).await;
    let peer = Dial::new(&other.url).unwrap().with_service(ada().build().unwrap()).connect().await.unwrap();
    calls(&peer).await;
    notification(&peer).await;
    batch(&peer).await;
    assert_eq!(peer.call::<String>("introduce", ()).await.as_deref(), Ok("Hello, Ada!"));
}

#[tokio::test]
async fn a_subscription_in_the_manner_of_ethereum_ends_at_the_server_when_it_is_dropped() {
    // ETH-01, ETH-02, ETH-03
    let other = Other::start(Program::Node("server-ws.mjs"), &[]).await;
    let peer = connect(&other.url).await.unwrap();
    let heads = peer.stream::<Value>("eth_subscribe", ["newHeads"]).await.unwrap();
    let heads: Vec<_> = heads.take(3).map(|head| head.unwrap()["number"].clone()).collect().await;
    assert_eq!(heads, [json!("0x1"), json!("0x2"), json!("0x3")]);
    assert_eq!(peer.call::<u32>("subscriptions", ()).await, Ok(0));
}

#[tokio::test]
async fn a_server_with_vscode_jsonrpc_as_a_child() {
    let (hanging, mut hangs) = mpsc::unbounded_channel();
    let here = ada().method("hanging", move |(): (), _| {
        hanging.send(()).expect("the test waits for it");
        Ok::<_, ErrorObject>(())
    });
    let words = Program::Node("server-vscode-jsonrpc.mjs").words();
    let settings = Settings::default().with_profile(Profile::lsp());
    let dial = Dial::new(&format!("exec:{}?framing=lsp", words.join(" "))).unwrap();
    let peer = dial.with_settings(settings).with_service(here.build().unwrap()).connect().await.unwrap();
    calls(&peer).await;
    notification(&peer).await;
    assert_eq!(peer.call::<String>("introduce", ()).await.as_deref(), Ok("Hello, Ada!"));

    // LSP-C-01: a call that nobody waits for is cancelled.
    tokio::select! {
        answer = peer.call::<Value>("hang", ()).into_future() => panic!("it hangs: {answer:?}"),
        begun = hangs.recv() => assert_eq!(begun, Some(())),
    }
    assert_eq!(peer.call::<u32>("cancelled", ()).await, Ok(1));
}

#[tokio::test]
async fn a_server_with_websockets() {
    let other = Other::start(Program::Python("server_websockets.py"), &[]).await;
    let peer = connect(&other.url).await.unwrap();
    calls(&peer).await;
    notification(&peer).await;
    batch(&peer).await;
}
