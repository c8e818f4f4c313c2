//! The handshake, and requests that need none.

use std::time::Duration;

use serde_json::json;
use switchboard_mcp::CacheScope;

use crate::client::{Client, alone, everything};
use crate::fixtures::{add, offered, server};

// MCP-L-02, MCP-L-03
#[tokio::test(start_paused = true)]
async fn each_version_is_answered_with_itself_and_unknown_ones_with_the_newest_that_has_sessions() {
    for (requested, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let mut client = Client::connect(&server([add()]).instructions("Count."));
        let answer = client.initialize(requested, json!({})).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], expected, "{requested}");
        assert_eq!(result["serverInfo"]["name"], "test");
        assert_eq!(result["instructions"], "Count.");
        assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
        assert_eq!(result["capabilities"].get("prompts"), None, "there are none");
        assert_eq!(result["capabilities"].get("resources"), None, "there are none");
    }
}

// MCP-L-01
#[tokio::test(start_paused = true)]
async fn an_initialize_that_cannot_be_read_begins_no_session() {
    let mut client = Client::connect(&server([add()]));
    for params in [json!({}), json!({"protocolVersion": 7}), json!({"protocolVersion": null})] {
        assert_eq!(client.ask("initialize", params).await["error"]["code"], -32602);
    }
    assert_eq!(client.ask("tools/list", json!({})).await["error"]["code"], -32600);
    assert!(client.initialize("2025-06-18", json!({})).await.get("result").is_some());
}

// MCP-L-06
#[tokio::test(start_paused = true)]
async fn before_initialize_only_a_ping_is_answered() {
    let mut client = Client::connect(&server([add()]));
    for method in ["tools/list", "tools/call", "logging/setLevel", "resources/subscribe"] {
        assert_eq!(client.ask(method, json!({})).await["error"]["code"], -32600, "{method}");
    }
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    client.notify("notifications/initialized", json!({})).await;
    client.is_silent().await;
}

// MCP-L-11
#[tokio::test(start_paused = true)]
async fn a_ping_without_params_is_answered_at_any_time() {
    let mut client = Client::session(&server([add()]), "2025-11-25", json!({})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"})).await;
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
}

// MCP-HTTP-15
#[tokio::test(start_paused = true)]
async fn a_second_initialize_is_refused_and_changes_nothing() {
    let mut client = Client::session(&server([add()]), "2025-03-26", json!({})).await;
    let second = client.initialize("2025-11-25", everything()).await;
    assert_eq!(second["error"]["code"], -32600);
    // The session still speaks the first revision: results have no structured content.
    let result = client.call("math_add", json!({"a": 2, "b": 3})).await;
    assert_eq!(result, json!({"content": [{"type": "text", "text": "5"}]}));
}

// MCP-X-04, MCP-M-01, MCP-D-01, MCP-D-02
#[tokio::test(start_paused = true)]
async fn requests_that_stand_alone_need_no_handshake() {
    let mut client = Client::connect(&server([add()]));
    let discovered = client.ask_alone("server/discover", json!({})).await;
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    let called =
        client.ask_alone("tools/call", json!({"name": "math_add", "arguments": {"a": 2, "b": 3}})).await;
    assert_eq!(called["result"]["structuredContent"], 5);
    // They begin no session.
    assert_eq!(client.ask("tools/list", json!({})).await["error"]["code"], -32600);
}

// MCP-X-04, MCP-M-06, MCP-M-07
#[tokio::test(start_paused = true)]
async fn both_eras_mix_on_one_connection() {
    let mut client = Client::session(&server([add()]), "2024-11-05", json!({})).await;
    for _ in 0..2 {
        let old = client.ask("tools/list", json!({})).await;
        assert_eq!(old["result"].get("resultType"), None);
        assert_eq!(old["result"]["tools"][0].get("annotations"), None, "2024-11-05 has none");
        let new = client.ask_alone("tools/list", json!({})).await;
        assert_eq!(new["result"]["resultType"], "complete");
        let server = &new["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "test");
    }
}

// MCP-M-03, MCP-M-05, MCP-M-11
#[tokio::test(start_paused = true)]
async fn what_a_request_says_about_itself_is_checked() {
    let mut client = Client::connect(&server([add()]));
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let mut check = async |method: &str, meta, code: i64| {
        let answer = client.ask(method, json!({"_meta": meta})).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"]["data"].clone()
    };
    check("tools/list", json!({version: "2026-07-28"}), -32602).await;
    check("tools/list", json!({version: "2026-07-28", capabilities: 1}), -32602).await;
    check("tools/list", json!({version: 5, capabilities: {}}), -32602).await;
    let data = check("tools/list", json!({version: "2099-01-01", capabilities: {}}), -32022).await;
    assert_eq!(data, json!({"supported": ["2026-07-28"], "requested": "2099-01-01"}));
    for removed in ["ping", "initialize", "logging/setLevel", "resources/subscribe", "prompts/list"] {
        check(removed, json!({version: "2026-07-28", capabilities: {}}), -32601).await;
    }
}

// MCP-L-08, MCP-Z-04
#[tokio::test(start_paused = true)]
async fn methods_of_other_revisions_and_of_the_other_side_are_unknown() {
    let mut client = Client::session(&server([add()]), "2025-06-18", json!({})).await;
    for method in
        ["server/discover", "subscriptions/listen", "tasks/get", "roots/list", "math/add", "prompts/list"]
    {
        assert_eq!(client.ask(method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    for notification in ["notifications/none", "notifications/roots/list_changed", "notifications/progress"] {
        client.notify(notification, json!({"progressToken": 1, "progress": 1})).await;
    }
    client.is_silent().await;
}

// MCP-B-08, MCP-L-07
#[tokio::test(start_paused = true)]
async fn unknown_members_are_ignored() {
    let mut client = Client::connect(&server([add()]));
    let params = json!({
        "protocolVersion": "2025-11-25", "surplus": 1, "clientInfo": {"name": "t", "version": "1", "x": [1]},
        "capabilities": {"telepathy": {}, "experimental": {"x": 1}, "roots": {"speed": 9}},
    });
    assert!(client.ask("initialize", params).await.get("result").is_some());
    let result = client.ask("tools/list", json!({"_meta": {"com.example/x": 1}, "surplus": true})).await;
    assert_eq!(result["result"]["tools"][0]["name"], "math_add");
    let both =
        alone(json!({"surplus": 1, "_meta": {"io.modelcontextprotocol/unheard": 1}}), json!({"x": {}}));
    assert!(client.ask("tools/list", both).await.get("result").is_some());
}

// MCP-K-01
#[tokio::test(start_paused = true)]
async fn lists_and_contents_say_how_long_clients_may_keep_them() {
    let methods = || {
        [
            add(),
            offered("plan", json!({"prompt": true}), "p"),
            offered("fixed", json!({"resource": "test://fixed"}), "f"),
            offered("each", json!({"resource": "test://each/{id}"}), "e"),
        ]
    };
    let minute = server(methods()).cache(Duration::from_secs(60), CacheScope::Public);
    let cacheable = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "server/discover",
    ];
    for (server, hints) in
        [(server(methods()), (json!(0), json!("private"))), (minute, (json!(60_000), json!("public")))]
    {
        let mut client = Client::session(&server, "2025-11-25", json!({})).await;
        for method in cacheable {
            let params = json!({"uri": "test://fixed"});
            let result = client.ask_alone(method, params.clone()).await["result"].clone();
            assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&hints.0, &hints.1), "{method}: {result}");
            // Only the stateless revision has hints.
            if method != "server/discover" {
                let result = client.ask(method, params).await["result"].clone();
                assert!(result.is_object(), "{method}");
                assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (None, None), "{method}");
            }
        }
        // Calls are never kept.
        for (method, params) in [
            ("tools/call", json!({"name": "math_add", "arguments": {"a": 1, "b": 2}})),
            ("prompts/get", json!({"name": "plan"})),
        ] {
            let result = client.ask_alone(method, params).await["result"].clone();
            assert_eq!(result["resultType"], "complete", "{method}");
            assert_eq!((result.get("ttlMs"), result.get("cacheScope")), (None, None), "{method}");
        }
    }
}
