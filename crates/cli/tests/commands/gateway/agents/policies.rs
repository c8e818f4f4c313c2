//! Every policy applies to each call of a tool.

use serde_json::{Value, json};

use super::{Agent, Behind, rpc, text};

#[test]
fn rules_about_arguments_apply_to_tools() {
    let rules = r#"[access]
rules = [
  { allow = "t/echo", who = "anyone", when = { "/text" = { matches = "^ok" } } },
  { allow = "t/pid", who = "anyone" },
]"#;
    let behind = Behind::new("access", "", rules);
    let mut agent = Agent::new(&behind.url());
    assert_eq!(agent.tools(), ["t_echo", "t_pid"]);
    assert_eq!(text(&agent.call("t_echo", &json!({"text": "ok then"}))), "ok then");
    let refused = agent.ask("tools/call", &json!({"name": "t_echo", "arguments": {"text": "not ok"}}));
    assert_eq!(refused["error"]["message"], "not authorized", "{refused}");
    let refused = agent.ask("tools/call", &json!({"name": "t_echo", "arguments": {}}));
    assert_eq!(refused["error"]["message"], "not authorized", "{refused}");
    let hidden = agent.ask("tools/call", &json!({"name": "t_count", "arguments": {}}));
    assert_eq!(hidden["error"]["code"], -32602, "{hidden}");
    assert_eq!(rpc(&behind.url(), "t/echo", &json!({"text": "not ok"}))["error"]["code"], -32002);
}

#[test]
fn resources_and_prompts_follow_the_rules_of_their_methods() {
    let rules = "[access]\nrules = [{ allow = \"t/resources/*\", who = \"anyone\" }]";
    let behind = Behind::new("access-others", "", rules);
    let mut agent = Agent::new(&behind.url());
    let read = agent.ask("resources/read", &json!({"uri": "note://1"}));
    assert_eq!(read["result"]["contents"][0]["text"], "of note://1", "{read}");
    assert_eq!(agent.ask("prompts/list", &json!({}))["result"]["prompts"], json!([]));
    let params = json!({"name": "t_greet", "arguments": {"name": "Ada"}});
    assert!(agent.ask("prompts/get", &params).get("error").is_some());
}

#[test]
fn rates_of_tools_are_limited() {
    let behind =
        Behind::new("rate", "", "[[rate]]\nmethods = \"t/count\"\nlimit = \"2/h\"\nper = \"address\"");
    let mut agent = Agent::new(&behind.url());
    for expected in ["1", "2"] {
        assert_eq!(text(&agent.call("t_count", &json!({}))), expected);
    }
    let limited = agent.call("t_count", &json!({}));
    assert_eq!(limited["isError"], true, "{limited}");
    assert_eq!(text(&agent.call("t_echo", &json!({"text": "free"}))), "free");
}

#[test]
fn answers_of_tools_have_a_size_limit() {
    let behind = Behind::new("size", "max_reply = \"1KB\"", "");
    let mut agent = Agent::new(&behind.url());
    assert_eq!(text(&agent.call("t_echo", &json!({"text": "short"}))), "short");
    let long = "long ".repeat(1000);
    let refused = agent.call("t_echo", &json!({"text": long}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!refused.to_string().contains("long long"), "{refused}");
    assert_eq!(rpc(&behind.url(), "t/echo", &json!({"text": long}))["error"]["code"], -32007);
}

#[test]
fn results_of_one_server_never_reach_callers_of_another() {
    let other = "cache = \"1h\"\nshared = true\nsafe = \"*\"\n\n[upstream.u]\n\
                 url = \"exec:python3 server.py tools.json u\"\nprofile = \"mcp\"\nrequired = true\n\
                 cache = \"1h\"\nshared = true\nsafe = \"*\"";
    let behind = Behind::new("two", other, "");
    let ask = |secret: usize| {
        let mut agent = Agent::new(&behind.url());
        for upstream in ["t", "u"] {
            // The second time, the answer comes from a cache.
            for _ in 0..2 {
                let told = text(&agent.call(&format!("{upstream}_who"), &json!({"secret": secret})));
                assert_eq!(told, format!("{upstream} {secret}"));
            }
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|secret| drop(scope.spawn(move || ask(secret)))));
    // Both have this resource: the first one answers. No server is asked about a URI that it did not list.
    let mut agent = Agent::new(&behind.url());
    let read = |agent: &mut Agent, uri: &str| agent.ask("resources/read", &json!({"uri": uri}));
    assert_eq!(read(&mut agent, "note://1")["result"]["contents"][0]["text"], "of note://1");
    assert_eq!(read(&mut agent, "note://2")["error"]["code"], -32002);
    let prompts: Value = agent.ask("prompts/list", &json!({}))["result"]["prompts"].clone();
    let names: Vec<_> = prompts.as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["t_greet", "u_greet"]);
}
