//! Each client has its own session of an MCP server.

use serde_json::{Value, json};

use super::super::children::is_alive;
use super::{Agent, Behind, all_tools, call, text, tool, until, write_tools};

#[test]
fn each_agent_has_its_own_process_which_ends_with_its_session() {
    let behind = Behind::new("own", "", "");
    let (mut one, mut two) = (Agent::new(&behind.url()), Agent::new(&behind.url()));
    let pid = |agent: &mut Agent| text(&agent.call("t_pid", &json!({})));
    let (first, second) = (pid(&mut one), pid(&mut two));
    assert_ne!(first, second);
    assert_eq!(pid(&mut one), first);
    // Clients without a session share another one.
    let shared = || call(&behind.url(), &["t/pid"]).1.trim().trim_matches('"').to_owned();
    assert!(shared() != first && shared() != second);
    assert_eq!(shared(), shared());
    // So do clients that keep a connection have their own.
    let ws = &behind.gateway.urls()[1];
    let third = call(ws, &["t/pid"]).1.trim().trim_matches('"').to_owned();
    assert!(![&first, &second, &shared()].contains(&&third), "{third}");
    until("the process of the WebSocket client has ended", || (!is_alive(&third)).then_some(()));
    assert!(is_alive(&first));
    one.end();
    until("the process of the first agent has ended", || (!is_alive(&first)).then_some(()));
    assert_eq!(pid(&mut two), second);
}

#[test]
fn a_process_that_crashes_is_not_noticed_by_other_agents() {
    let behind = Behind::new("crash", "", "");
    let (mut one, mut two) = (Agent::new(&behind.url()), Agent::new(&behind.url()));
    let count = |agent: &mut Agent| text(&agent.call("t_count", &json!({})));
    assert_eq!((count(&mut one), count(&mut two)), ("1".to_owned(), "1".to_owned()));
    let crashed = one.call("t_crash", &json!({}));
    assert_eq!(crashed["isError"], true, "{crashed}");
    assert_eq!(count(&mut two), "2");
    // It is started again for the agent that needs it.
    assert_eq!(count(&mut one), "1");
}

#[test]
fn lists_that_change_in_the_session_of_one_agent_change_for_all() {
    let behind = Behind::new("lists", "", "");
    let (mut one, mut two) = (Agent::new(&behind.url()), Agent::new(&behind.url()));
    let mut tools = all_tools();
    tools.as_array_mut().unwrap().push(tool("fresh", "A tool that was not there."));
    write_tools(&behind.folder, &tools);
    // The shared session, which describes the tools, is not told.
    one.call("t_changed", &json!({}));
    until("the new tool is listed", || two.tools().iter().any(|tool| tool == "t_fresh").then_some(()));
}

#[test]
fn questions_and_log_messages_reach_only_the_agent_that_they_are_for() {
    let behind = Behind::new("questions", "", "");
    let answering = |who: &'static str| {
        Agent::answering(&behind.url(), move |method, params| {
            assert_eq!((method, params["message"].as_str()), ("elicitation/create", Some(who)));
            json!({"action": "accept", "content": {"value": who}})
        })
    };
    let mut agents = [answering("one"), answering("two")];
    for (agent, who) in agents.iter_mut().zip(["one", "two"]) {
        let told = text(&agent.call("t_elicit", &json!({"about": who})));
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["content"]["value"], who);
        agent.call("t_log", &json!({"level": "warning", "text": who}));
        agent.call("t_log", &json!({"level": "debug", "text": "too much"}));
    }
    for (agent, who) in agents.iter().zip(["one", "two"]) {
        let logged: Vec<_> = agent.heard.iter().map(|heard| heard["params"]["data"].clone()).collect();
        assert_eq!(logged, [json!(who)]);
    }
}

#[test]
fn one_process_for_all_is_possible() {
    let behind = Behind::new("shared", "sessions = \"shared\"", "");
    let (mut one, mut two) = (Agent::new(&behind.url()), Agent::new(&behind.url()));
    let pid = |agent: &mut Agent| text(&agent.call("t_pid", &json!({})));
    assert_eq!(pid(&mut one), pid(&mut two));
}

#[test]
fn a_session_of_a_removed_server_ends_although_its_agent_stays() {
    let demo = "[upstream.demo]\nurl = \"demo:\"\n";
    let behind = Behind::new("removed", "", demo);
    let mut agent = Agent::new(&behind.url());
    let process = text(&agent.call("t_pid", &json!({})));
    assert!(is_alive(&process));
    let listen = "listen = [\"http://127.0.0.1:0\", \"ws://127.0.0.1:0\"]";
    std::fs::write(behind.folder.file("gateway.toml"), format!("{listen}\n{demo}")).unwrap();
    behind.gateway.signal("HUP");
    until("the process of the agent has ended", || (!is_alive(&process)).then_some(()));
    assert_eq!(text(&agent.call("demo_math_add", &json!({"a": 2, "b": 3}))), "5");
}
