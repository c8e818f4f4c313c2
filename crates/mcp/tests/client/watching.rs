//! Changes of lists and resources, and what happens when the server restarts.

use futures_util::StreamExt as _;
use serde_json::json;
use switchboard_core::CallError;
use switchboard_mcp::model::Revision;
use switchboard_mcp::{Change, HttpOptions, Watch};

use crate::client::within;
use crate::fixtures::{add, offered, server, text_tool};
use crate::serving::{serve, serve_with};
use crate::ways::{WAYS, Way, builder, connect, path};

async fn next(watch: &mut Watch) -> Result<Change, CallError> {
    within(watch.next()).await.expect("the stream has ended")
}

// MCP-RES-04, MCP-U-01, MCP-U-02, MCP-U-03
#[tokio::test]
async fn changes_are_seen_in_both_eras() {
    for way in WAYS {
        let resource = offered("hours", json!({"resource": "test://hours"}), "9 to 5");
        let server = server([add(), resource]);
        let connected = connect(way, &server, builder()).await;
        let mut watch = within(connected.client.watch(["test://hours"])).await.unwrap();
        server.updated("test://other");
        server.updated("test://hours");
        assert_eq!(next(&mut watch).await, Ok(Change::Resource("test://hours".to_owned())), "{way:?}");
        server.add(text_tool("more", |_, _| async { Ok(String::new()) })).unwrap();
        assert_eq!(next(&mut watch).await, Ok(Change::Tools), "{way:?}");
    }
}

// MCP-U-04
#[tokio::test]
async fn each_watch_hears_of_its_own_resources() {
    let resource = |name: &'static str| offered(name, json!({"resource": format!("test://{name}")}), "");
    for way in [Way::Http(Revision::V2026_07_28), Way::Duplex(Revision::V2025_11_25)] {
        let server = server([resource("a"), resource("b")]);
        let connected = connect(way, &server, builder()).await;
        let mut one = within(connected.client.watch(["test://a"])).await.unwrap();
        let mut two = within(connected.client.watch(["test://b"])).await.unwrap();
        server.updated("test://b");
        server.updated("test://a");
        assert_eq!(next(&mut one).await, Ok(Change::Resource("test://a".to_owned())), "{way:?}");
        assert_eq!(next(&mut two).await, Ok(Change::Resource("test://b".to_owned())), "{way:?}");
        drop(one);
        server.updated("test://b");
        assert_eq!(next(&mut two).await, Ok(Change::Resource("test://b".to_owned())), "{way:?}");
    }
}

// MCP-U-06, MCP-HTTP-12
#[tokio::test]
async fn a_restart_of_the_server_is_a_gap() {
    for way in [Way::Http(Revision::V2026_07_28), Way::Http(Revision::V2025_11_25)] {
        let resource = || offered("hours", json!({"resource": "test://hours"}), "9 to 5");
        let serving = serve(&server([add(), resource()])).await;
        let address = serving.address.to_string();
        let client = builder().connect(&format!("http://{address}/{}", path(way))).await.unwrap();
        let mut watch = within(client.watch(["test://hours"])).await.unwrap();
        serving.stop().await;
        let again = server([add(), resource()]);
        let _serving = serve_with(&again, HttpOptions::default(), &address).await;
        let gap = next(&mut watch).await;
        assert!(matches!(gap, Err(CallError::Gap(_))), "{way:?}: {gap:?}");
        again.updated("test://hours");
        assert_eq!(next(&mut watch).await, Ok(Change::Resource("test://hours".to_owned())), "{way:?}");
        let sum: i64 = within(client.call("math_add", json!({"a": 2, "b": 3})).into_future()).await.unwrap();
        assert_eq!(sum, 5);
    }
}

#[tokio::test]
async fn a_server_that_does_not_say_when_resources_change_is_not_asked() {
    let connected = connect(Way::Http(Revision::V2026_07_28), &server([add()]), builder()).await;
    let refused = within(connected.client.watch(["test://hours"])).await;
    assert!(matches!(refused, Err(CallError::Unsupported(_))));
}
