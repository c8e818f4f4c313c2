//! Agents behind a gateway, over Agent2Agent (A2A): their skills are methods.

use serde_json::json;

use super::{Agent, rpc, text};
use crate::carriers::Folder;
use crate::gateway::{call, gateway};
use crate::program::{Serving, parts, run};

/// The configuration of a gateway in front of the demo agent, in a file.
fn configured(folder: &Folder, server: &Serving, more: &str) -> String {
    let path = folder.file("switchboard.toml");
    let upstream = format!("[upstream.demo]\nurl = \"{}\"\nprofile = \"a2a\"\n{more}", server.url());
    std::fs::write(&path, upstream).unwrap();
    path
}

#[test]
fn skills_of_an_agent_are_methods_and_tools_under_the_access_rules() {
    let (folder, server) = (Folder::new("gateway-a2a"), Serving::start(&[]));
    let rules = "[access]\nrules = [\n  { allow = \"demo/calculate\", who = \"anyone\" },\n  \
        { allow = \"demo/forecast\", who = \"agent:planner\" },\n]\n";
    let config = configured(&folder, &server, rules);
    let gateway = gateway(&["--config", &config]);
    assert!(gateway.banner.contains("3 methods"), "{}", gateway.banner);
    let url = gateway.url();
    let answer = rpc(&url, "demo/calculate", &json!(["What is 2 + 3?"]));
    assert_eq!(answer["result"]["text"], "5", "{answer}");
    let refused = rpc(&url, "demo/forecast", &json!(["weather"]));
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
    let unknown = rpc(&url, "demo/none", &json!([]));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let mut agent = Agent::new(&url);
    assert_eq!(agent.tools(), ["demo_calculate"]);
    assert!(text(&agent.call("demo_calculate", &json!({"text": "6 * 7"}))).contains("42"));
    let explained = run(&["explain", "--config", &config, "demo/forecast", "weather"]);
    let (code, stdout, stderr) = parts(explained);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("demo/forecast to agent:planner"), "{stdout}{stderr}");
}

#[test]
fn a_question_of_an_agent_is_answered_through_the_gateway() {
    let (folder, server) = (Folder::new("gateway-a2a-asks"), Serving::start(&[]));
    let gateway = gateway(&["--config", &configured(&folder, &server, "")]);
    let url = gateway.url();
    let asked = rpc(&url, "demo/forecast", &json!({"text": "weather"}))["result"].clone();
    assert_eq!(asked["state"], "TASK_STATE_INPUT_REQUIRED", "{asked}");
    let answer = json!({"text": "Paris", "taskId": asked["taskId"]});
    assert_eq!(rpc(&url, "demo/forecast", &answer)["result"]["text"], "It is sunny in Paris.");
    let (code, _, stderr) = call(&url, &["demo/count", "count to 0"]);
    assert!(code == Some(1) && stderr.contains("from 1 to 1000"), "{stderr}");
}

#[test]
fn what_agents_do_not_have_is_reported() {
    let (folder, path) = (Folder::new("gateway-a2a-wrong"), "switchboard.toml");
    let file = folder.file(path);
    let text = "[upstream.demo]\nurl = \"tcp://127.0.0.1:1\"\nprofile = \"a2a\"\nsessions = \"shared\"\n";
    std::fs::write(&file, text).unwrap();
    let (code, _, stderr) = parts(run(&["config", "check", &file]));
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("an agent's card is read over HTTP"), "{stderr}");
    assert!(stderr.contains("no effect on agents"), "{stderr}");
}
