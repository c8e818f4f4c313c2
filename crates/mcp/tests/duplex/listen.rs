//! Subscriptions of clients without a session.

use serde_json::{Value, json};
use switchboard_mcp::Server;
use switchboard_mcp::model::Capability;

use crate::client::{Client, alone};
use crate::fixtures::{add, offered, server};

fn offering() -> Server {
    server([
        add(),
        offered("plan", json!({"prompt": true}), "p"),
        offered("a", json!({"resource": "test://a/b"}), "a"),
    ])
}

/// Listens, and gives the identifier of the subscription and what is acknowledged.
async fn listen(client: &mut Client, notifications: Value) -> (u64, Value) {
    let id = client
        .request("subscriptions/listen", alone(json!({"notifications": notifications}), json!({})))
        .await;
    let acknowledged = client.notification("notifications/subscriptions/acknowledged").await;
    assert_eq!(acknowledged["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    (id, acknowledged["notifications"].clone())
}

fn meta(id: u64) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

// MCP-U-01, MCP-U-02, MCP-U-03
#[tokio::test(start_paused = true)]
async fn the_acknowledgement_comes_first_and_then_only_what_was_asked_for() {
    let server = offering();
    let mut client = Client::connect(&server);
    let wanted =
        json!({"toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["test://a"]});
    let (id, honoured) = listen(&mut client, wanted).await;
    assert_eq!(honoured, json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"]}));
    server.disable("plan");
    server.updated("test://other");
    server.updated("test://ab");
    server.disable("math_add");
    let changed = client.notification("notifications/tools/list_changed").await;
    assert_eq!(changed, json!({"_meta": meta(id)}));
    // MCP-U-07
    server.updated("test://a/b");
    let updated = client.notification("notifications/resources/updated").await;
    assert_eq!(updated, json!({"_meta": meta(id), "uri": "test://a/b"}));
    client.is_silent().await;
}

// MCP-U-04, MCP-U-05, MCP-C-02
#[tokio::test(start_paused = true)]
async fn subscriptions_are_told_apart_and_end_one_by_one() {
    let server = offering();
    let mut client = Client::connect(&server);
    let (one, _) = listen(&mut client, json!({"toolsListChanged": true})).await;
    let (two, _) = listen(&mut client, json!({"toolsListChanged": true, "promptsListChanged": true})).await;
    server.disable("math_add");
    let mut ids = Vec::new();
    for _ in 0..2 {
        let changed = client.notification("notifications/tools/list_changed").await;
        ids.push(changed["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, [one, two]);
    client.notify("notifications/cancelled", alone(json!({"requestId": one}), json!({}))).await;
    client.is_silent().await;
    server.enable("math_add").unwrap();
    assert_eq!(client.notification("notifications/tools/list_changed").await, json!({"_meta": meta(two)}));
    client.notify("notifications/cancelled", json!({"requestId": two})).await;
    client.is_silent().await;
    server.disable("plan");
    client.is_silent().await;
}

// MCP-U-01
#[tokio::test(start_paused = true)]
async fn a_subscription_without_its_list_is_invalid() {
    let mut client = Client::connect(&offering());
    for params in [
        json!({}),
        json!({"notifications": []}),
        json!({"notifications": {"resourceSubscriptions": "test://a"}}),
        json!({"notifications": {"resourceSubscriptions": [1]}}),
    ] {
        assert_eq!(client.ask_alone("subscriptions/listen", params).await["error"]["code"], -32602);
    }
}

// MCP-U-02
#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_have_is_not_honoured() {
    let mut client = Client::connect(&server([add()]));
    let wanted = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["test://a"], "telepathy": true,
    });
    assert_eq!(listen(&mut client, wanted).await.1, json!({"toolsListChanged": true}));
}

// MCP-U-02, MCP-U-03
#[tokio::test(start_paused = true)]
async fn a_list_that_is_declared_ahead_is_listened_to() {
    let server = server([add()]).declares([Capability::Prompts]);
    let mut client = Client::connect(&server);
    let wanted = json!({"promptsListChanged": true, "resourcesListChanged": true});
    let (id, honoured) = listen(&mut client, wanted).await;
    assert_eq!(honoured, json!({"promptsListChanged": true}));
    server.add(offered("plan", json!({"prompt": true}), "p")).unwrap();
    let changed = client.notification("notifications/prompts/list_changed").await;
    assert_eq!(changed, json!({"_meta": meta(id)}));
    server.remove("plan");
    client.notification("notifications/prompts/list_changed").await;
    assert_eq!(client.ask_alone("prompts/list", json!({})).await["result"]["prompts"], json!([]));
}

// MCP-X-04
#[tokio::test(start_paused = true)]
async fn a_session_and_a_subscription_on_one_connection_hear_each_for_itself() {
    let server = offering();
    let mut client = Client::session(&server, "2025-11-25", json!({})).await;
    let (id, _) = listen(&mut client, json!({"toolsListChanged": true})).await;
    server.disable("math_add");
    let mut seen = [client.next().await, client.next().await];
    seen.sort_by_key(|message| message.to_string().len());
    assert_eq!(seen[0], json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(seen[1]["params"]["_meta"], meta(id));
}

// MCP-M-08, MCP-U-03
#[tokio::test(start_paused = true)]
async fn a_listener_that_is_far_behind_still_hears_of_every_resource() {
    let server = offering();
    let mut client = Client::connect(&server);
    let (_, honoured) =
        listen(&mut client, json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a/b"]})).await;
    assert_eq!(honoured["toolsListChanged"], true);
    for _ in 0..200 {
        server.updated("test://other");
    }
    server.updated("test://a/b");
    client.notification("notifications/resources/updated").await;
}

// MCP-U-08
#[tokio::test(start_paused = true)]
async fn subscriptions_are_bounded_and_make_room_when_they_end() {
    let server = offering();
    let mut clients = Vec::new();
    for _ in 0..16 {
        let mut client = Client::connect(&server);
        for _ in 0..64 {
            listen(&mut client, json!({"toolsListChanged": true})).await;
        }
        clients.push(client);
    }
    let mut client = Client::connect(&server);
    let params = json!({"notifications": {"toolsListChanged": true}});
    let refused = client.ask_alone("subscriptions/listen", params).await;
    assert!(refused["error"]["message"].is_string(), "{refused}");
    clients[0].notify("notifications/cancelled", json!({"requestId": 1})).await;
    clients[0].is_silent().await;
    listen(&mut client, json!({"toolsListChanged": true})).await;
}
