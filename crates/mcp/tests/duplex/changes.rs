//! Changes that sessions hear of.

use serde_json::json;
use switchboard_core::Router;
use switchboard_mcp::Server;
use switchboard_mcp::model::{Capability, Contents, Resource};

use crate::client::Client;
use crate::fixtures::{add, offered, server, text_tool};

// MCP-T-08
#[tokio::test(start_paused = true)]
async fn sessions_that_have_begun_hear_of_changed_lists() {
    let server = server([
        add(),
        offered("plan", json!({"prompt": true}), "p"),
        offered("r", json!({"resource": "test://r"}), "r"),
    ]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    client.is_silent().await;
    server.add(text_tool("new", |_, _| async { Ok(String::new()) })).unwrap();
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    server.disable("math_add");
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(client.ask("tools/call", json!({"name": "math_add"})).await["error"]["code"], -32602);
    server.enable("math_add").unwrap();
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(client.ask("tools/list", json!({})).await["result"]["tools"].as_array().unwrap().len(), 2);
    server.disable("plan");
    client.notification("notifications/prompts/list_changed").await;
    server.disable("test://r");
    client.notification("notifications/resources/list_changed").await;
    // Nothing changes here.
    server.disable("plan");
    server.enable("math_add").unwrap();
    assert!(server.add(text_tool("new", |_, _| async { Ok(String::new()) })).is_err());
    client.is_silent().await;
}

// MCP-L-07, MCP-T-08
#[tokio::test(start_paused = true)]
async fn a_list_that_became_empty_can_still_be_asked_for() {
    let server = server([add(), offered("plan", json!({"prompt": true}), "p")]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    client.is_silent().await;
    server.disable("math_add");
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(client.ask("tools/list", json!({})).await["result"], json!({"tools": []}));
    assert_eq!(client.ask_alone("tools/list", json!({})).await["result"]["tools"], json!([]));
    server.disable("plan");
    client.notification("notifications/prompts/list_changed").await;
    assert_eq!(client.ask("prompts/list", json!({})).await["result"], json!({"prompts": []}));
    // Clients that come later may wait for it, too.
    let mut late = Client::connect(&server);
    let begun = late.initialize("2025-06-18", json!({})).await;
    assert_eq!(begun["result"]["capabilities"]["tools"], json!({"listChanged": true}));
    late.notify("notifications/initialized", json!({})).await;
    late.is_silent().await;
    server.enable("math_add").unwrap();
    late.notification("notifications/tools/list_changed").await;
}

// MCP-L-07, MCP-T-08
#[tokio::test(start_paused = true)]
async fn sessions_hear_only_of_lists_that_they_were_told_of() {
    let server = server([add()]);
    let mut early = Client::session(&server, "2025-06-18", json!({})).await;
    early.is_silent().await;
    server.add(offered("plan", json!({"prompt": true}), "p")).unwrap();
    early.is_silent().await;
    let mut late = Client::session(&server, "2025-06-18", json!({})).await;
    late.is_silent().await;
    server.disable("plan");
    late.notification("notifications/prompts/list_changed").await;
    early.is_silent().await;
}

// MCP-L-07, MCP-T-08
#[tokio::test(start_paused = true)]
async fn what_is_declared_ahead_may_come_later() {
    let server = server([]).declares([Capability::Tools, Capability::Prompts, Capability::Resources]);
    let mut client = Client::connect(&server);
    let begun = client.initialize("2025-06-18", json!({})).await;
    let list = json!({"listChanged": true});
    let resources = json!({"listChanged": true, "subscribe": true});
    let declared = json!({"logging": {}, "tools": list, "prompts": list, "resources": resources});
    assert_eq!(begun["result"]["capabilities"], declared);
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.ask("tools/list", json!({})).await["result"], json!({"tools": []}));
    server.add(add()).unwrap();
    client.notification("notifications/tools/list_changed").await;
    server.add(offered("plan", json!({"prompt": true}), "p")).unwrap();
    client.notification("notifications/prompts/list_changed").await;
    server.add(offered("r", json!({"resource": "test://r"}), "r")).unwrap();
    client.notification("notifications/resources/list_changed").await;
}

// MCP-T-08
#[tokio::test(start_paused = true)]
async fn what_was_removed_can_be_added_again_with_another_definition() {
    let server = server([add()]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    client.is_silent().await;
    server.add(text_tool("new", |_, _| async { Ok("first".to_owned()) })).unwrap();
    client.notification("notifications/tools/list_changed").await;
    assert!(server.remove("new"));
    client.notification("notifications/tools/list_changed").await;
    assert_eq!(client.ask("tools/call", json!({"name": "new"})).await["error"]["code"], -32602);
    assert!(!server.remove("new"));
    server.add(text_tool("new", |_, _| async { Ok("second".to_owned()) })).unwrap();
    client.notification("notifications/tools/list_changed").await;
    let called = client.ask("tools/call", json!({"name": "new"})).await;
    assert_eq!(called["result"]["content"][0]["text"], "second");
}

#[tokio::test(start_paused = true)]
async fn of_two_methods_of_another_server_with_one_name_the_first_is_a_tool() {
    let methods = || {
        let answer = |text: &'static str| move |_, _| async move { Ok(text.to_owned()) };
        let router =
            Router::builder().add(text_tool("a.b", answer("dot"))).add(text_tool("a/b", answer("slash")));
        router.add(add()).build().unwrap()
    };
    assert!(Server::new(methods()).service().is_err());
    let server = Server::forwarding(methods());
    assert_eq!(server.tools().len(), 2);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    let called = client.ask("tools/call", json!({"name": "a_b"})).await;
    assert_eq!(called["result"]["content"][0]["text"], "dot");
}

// MCP-L-05, MCP-L-06
#[tokio::test(start_paused = true)]
async fn before_initialized_nothing_is_sent() {
    let server = server([add()]);
    let mut connected = Client::connect(&server);
    connected.is_silent().await;
    let mut begun = Client::connect(&server);
    begun.initialize("2025-06-18", json!({})).await;
    server.disable("math_add");
    connected.is_silent().await;
    begun.is_silent().await;
    begun.notify("notifications/initialized", json!({})).await;
    begun.is_silent().await;
    server.enable("math_add").unwrap();
    begun.notification("notifications/tools/list_changed").await;
    connected.is_silent().await;
}

// MCP-RES-04
#[tokio::test(start_paused = true)]
async fn only_subscribers_hear_of_an_update() {
    let server = server([
        offered("a", json!({"resource": "test://a"}), "a"),
        offered("t", json!({"resource": "test://t/{id}"}), "t"),
    ])
    .resource(Resource::new("test://fixed", "Fixed"), Contents::text("test://fixed", "one"));
    let mut one = Client::session(&server, "2025-06-18", json!({})).await;
    let mut two = Client::session(&server, "2025-06-18", json!({})).await;
    for uri in ["test://a", "test://t/7", "test://fixed"] {
        assert_eq!(one.ask("resources/subscribe", json!({"uri": uri})).await["result"], json!({}));
        server.updated(uri);
        assert_eq!(one.notification("notifications/resources/updated").await, json!({"uri": uri}));
    }
    server.updated("test://t/8");
    server
        .set_resource(Resource::new("test://fixed", "Fixed"), Contents::text("test://fixed", "two"))
        .unwrap();
    assert_eq!(one.notification("notifications/resources/updated").await, json!({"uri": "test://fixed"}));
    two.is_silent().await;
    assert_eq!(one.ask("resources/unsubscribe", json!({"uri": "test://a"})).await["result"], json!({}));
    assert_eq!(one.ask("resources/unsubscribe", json!({"uri": "test://never"})).await["result"], json!({}));
    server.updated("test://a");
    one.is_silent().await;
}

// MCP-RES-04
#[tokio::test(start_paused = true)]
async fn what_does_not_exist_cannot_be_subscribed_to() {
    let server = server([offered("a", json!({"resource": "test://a"}), "a")]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "none://"})).await["error"]["code"], -32002);
    assert_eq!(client.ask("resources/subscribe", json!({})).await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_is_forgotten() {
    let server = server([offered("a", json!({"resource": "test://a"}), "a")]);
    let mut left = Client::session(&server, "2025-06-18", json!({})).await;
    left.ask("resources/subscribe", json!({"uri": "test://a"})).await;
    drop(left);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    client.ask("resources/subscribe", json!({"uri": "test://a"})).await;
    server.updated("test://a");
    client.notification("notifications/resources/updated").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_told_of_each_change_once() {
    let server = server([offered("a", json!({"resource": "test://a"}), "a")]);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    client.ask("resources/subscribe", json!({"uri": "test://a"})).await;
    let tasks = tokio::runtime::Handle::current().metrics();
    let before = tasks.num_alive_tasks();
    for _ in 0..10_000 {
        server.updated("test://a");
    }
    assert!(tasks.num_alive_tasks() <= before + 1, "one task for a client");
    client.notification("notifications/resources/updated").await;
    client.is_silent().await;
}
