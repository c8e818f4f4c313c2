//! What MCP servers offer and answer arrives as it is.

use serde_json::{Value, json};

use super::{Agent, Behind, call, rpc, text};
use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run_with};

/// What the test server answers, as its program has it.
fn blocks() -> Value {
    json!([
        {"type": "text", "text": "See:", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "_meta": {"width": 1}},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "note://1", "name": "one", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "note://2", "text": "two"}},
    ])
}

#[test]
fn content_blocks_arrive_unchanged_in_both_eras() {
    let behind = Behind::new("content", "", "");
    let mut agent = Agent::new(&behind.url());
    let meta = json!({"example.com/trace": "abc"});
    let expected = json!({"content": blocks(), "structuredContent": {"kinds": 5}, "_meta": meta});
    assert_eq!(agent.call("t_blocks", &json!({})), expected);
    let failed = agent.call("t_fails", &json!({}));
    assert_eq!(failed["isError"], true);
    assert_eq!((&failed["content"], &failed["_meta"]), (&blocks(), &meta));
    // A client without a session, of the newer era.
    let alone = agent.call_alone("t_blocks", &json!({}));
    assert_eq!(alone["content"], blocks());
    assert_eq!(alone["structuredContent"], json!({"kinds": 5}));
    assert_eq!(alone["resultType"], "complete");
    assert_eq!(alone["_meta"]["example.com/trace"], "abc");
    assert_eq!(alone["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "switchboard");
    let failed = agent.call_alone("t_fails", &json!({}));
    assert_eq!((&failed["isError"], &failed["content"]), (&json!(true), &blocks()));
    // Plain callers get what it means.
    assert_eq!(call(&behind.url(), &["t/blocks"]).1.split_whitespace().collect::<String>(), "{\"kinds\":5}");
    let (code, _, stderr) = call(&behind.url(), &["t/fails"]);
    assert!(code == Some(1) && stderr.contains("-32001") && stderr.contains("See:"), "{stderr}");
}

#[test]
fn the_first_clients_get_texts_for_blocks_that_they_do_not_know() {
    let behind = Behind::new("lowered", "", "");
    let mut agent = Agent::speaking(&behind.url(), "2024-11-05", |_, _| Value::Null);
    let told = agent.call("t_blocks", &json!({}));
    assert_eq!(told["content"][1]["type"], "image");
    assert_eq!(told["content"][2]["type"], "text", "{told}");
    assert_eq!(told["content"][3]["type"], "text", "{told}");
    assert!(told.get("structuredContent").is_none(), "{told}");
}

#[test]
fn a_cached_answer_is_right_for_agents_and_for_plain_callers() {
    let route = "[[route]]\nmethods = \"t/count\"\ncache = \"1h\"\nshared = true";
    let behind = Behind::new("cache", "sessions = \"shared\"", route);
    let plain = || rpc(&behind.url(), "t/count", &json!({"a": 1}))["result"].clone();
    let mut agent = Agent::new(&behind.url());
    assert_eq!(text(&agent.call("t_count", &json!({"a": 1}))), "1");
    assert_eq!(plain(), "1");
    assert_eq!(text(&agent.call("t_count", &json!({"a": 2}))), "2");
    assert_eq!(text(&agent.call("t_count", &json!({"a": 1}))), "1");
    assert_eq!(plain(), "1");
}

#[test]
fn prompts_and_resources_are_offered_and_passed_on() {
    let behind = Behind::new("prompts", "", "");
    let mut agent = Agent::new(&behind.url());
    let prompts = agent.ask("prompts/list", &json!({}))["result"]["prompts"].clone();
    assert_eq!(prompts[0]["name"], "t_greet");
    assert_eq!(
        (&prompts[0]["title"], &prompts[0]["arguments"][0]["required"]),
        (&json!("Greeting"), &json!(true))
    );
    let params = json!({"name": "t_greet", "arguments": {"name": "Ada"}});
    let greeted = agent.ask("prompts/get", &params)["result"].clone();
    assert_eq!(greeted["description"], "A greeting.");
    assert_eq!(greeted["messages"][0]["content"]["text"], "Hello Ada");
    assert_eq!(greeted["messages"][1]["content"]["uri"], "note://1");
    let reference = json!({"type": "ref/prompt", "name": "t_greet"});
    let params = json!({"ref": reference, "argument": {"name": "name", "value": "A"}});
    let completed = agent.ask("completion/complete", &params)["result"].clone();
    assert_eq!(completed, json!({"completion": {"values": ["greet A"], "hasMore": true}}));
    let resources = agent.ask("resources/list", &json!({}))["result"]["resources"].clone();
    assert_eq!(resources, json!([{"uri": "note://1", "name": "t_one", "mimeType": "text/plain", "size": 3}]));
    let templates = agent.ask("resources/templates/list", &json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "note://by/{author}");
    // One that is listed, one of the template, and one that the server only links to.
    for uri in ["note://1", "note://by/ada", "note://2"] {
        let read = agent.ask("resources/read", &json!({"uri": uri}))["result"]["contents"].clone();
        let expected =
            json!([{"uri": uri, "mimeType": "text/plain", "text": format!("of {uri}"), "_meta": {"n": 1}}]);
        assert_eq!(read, expected);
    }
    assert!(agent.ask("resources/read", &json!({"uri": "other://1"})).get("error").is_some());
}

#[test]
fn updates_of_resources_reach_those_who_subscribed() {
    for sessions in ["per-client", "shared"] {
        let behind = Behind::new(&format!("updates-{sessions}"), &format!("sessions = \"{sessions}\""), "");
        let (mut one, mut two) = (Agent::new(&behind.url()), Agent::new(&behind.url()));
        let heard = one.listen();
        one.ask("resources/subscribe", &json!({"uri": "note://1"}));
        two.ask("resources/list", &json!({}));
        // With a process for each agent, only its own one is subscribed to.
        let touching = if sessions == "shared" { &mut two } else { &mut one };
        touching.call("t_touch", &json!({"uri": "note://1"}));
        assert_eq!(heard.recv().unwrap()["params"]["uri"], "note://1", "{sessions}");
        assert!(two.heard.is_empty(), "{:?}", two.heard);
    }
}

#[test]
fn tools_of_a_server_of_the_newer_era_fit_older_clients() {
    let server = Serving::start(&[]);
    let folder = Folder::new("agents-newer");
    let config = format!(
        "listen = \"http://127.0.0.1:0\"\n[upstream.demo]\nurl = \"{}/mcp\"\nprofile = \"mcp\"\nrequired = true\n",
        server.url()
    );
    std::fs::write(folder.file("gateway.toml"), config).unwrap();
    let gateway = Serving::spawn(program(&["gateway", "--config", &folder.file("gateway.toml")]));
    let mut agent = Agent::new(&gateway.url());
    let added = agent.call("demo_math_add", &json!({"a": 2, "b": 3}));
    assert_eq!(added["structuredContent"], json!({"result": 5}));
    let added = agent.call_alone("demo_math_add", &json!({"a": 2, "b": 3}));
    assert_eq!(added["structuredContent"], 5);
    assert_eq!(call(&gateway.url(), &["demo/math_add", "2", "3"]).1, "5\n");
}

#[test]
fn a_server_over_http_is_offered_over_stdio() {
    let server = Serving::start(&[]);
    let client = json!({"name": "agent", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let params = json!({"name": "t_math_add", "arguments": {"a": 2, "b": 3}});
    let called = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let upstream = format!("t={}/mcp", server.url());
    let arguments = ["gateway", &upstream, "--set=upstream.t.profile=mcp", "--stdio", "--mcp"];
    let (code, stdout, stderr) = parts(run_with(&format!("{begin}\n{begun}\n{called}\n"), &arguments));
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap_or(&stderr)).unwrap();
    assert_eq!((code, &last["id"], &*text(&last["result"])), (Some(0), &json!(2), "5"), "{last}");
}
