//! MCP servers that change, fail, join and leave while the gateway runs.

use serde_json::{Value, json};

use super::{Agent, Behind, all_tools, rpc, text, tool, until, write_tools};
use crate::admin::first_item;

#[test]
fn a_tool_that_changes_at_the_server_is_announced_to_clients() {
    let behind = Behind::new("announced", "", "");
    let mut agent = Agent::new(&behind.url());
    let heard = agent.listen();
    assert!(!agent.tools().contains(&"t_fresh".to_owned()));
    let mut tools = all_tools();
    tools.as_array_mut().unwrap().push(tool("fresh", "A new tool."));
    write_tools(&behind.folder, &tools);
    agent.call("t_changed", &json!({}));
    let changed = until("the client hears of it", || {
        let message = heard.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
        (message["method"] == "notifications/tools/list_changed").then_some(message)
    });
    assert!(changed.get("id").is_none(), "{changed}");
    until("the tool is listed", || agent.tools().contains(&"t_fresh".to_owned()).then_some(()));
}

#[test]
fn of_two_tools_with_one_name_the_second_is_left_out_and_the_log_says_why() {
    let other = "[upstream.u]\nurl = \"exec:python3 server.py tools.json u\"\nprofile = \"mcp\"\nprefix = \"t/x/\"\nrequired = true\n";
    let mut behind = Behind::new("collision", "", other);
    let mut agent = Agent::new(&behind.url());
    let who = |agent: &mut Agent| text(&agent.call("t_x_who", &json!({"secret": 1})));
    assert_eq!(who(&mut agent), "u 1");
    let mut tools = all_tools();
    tools.as_array_mut().unwrap().push(tool("x_who", "It looks like the tool who of the other server."));
    write_tools(&behind.folder, &tools);
    agent.call("t_changed", &json!({}));
    let said = behind.gateway.read_until("method=\"t/x_who\"");
    let line = said.lines().last().unwrap();
    assert!(line.contains("t_x_who") && line.contains("t/x/who") && line.contains("has its name"), "{line}");
    // The one that was first still answers, and the other one is a method.
    assert_eq!(who(&mut agent), "u 1");
    assert_eq!(agent.tools().iter().filter(|name| *name == "t_x_who").count(), 1);
    let answer = rpc(&behind.url(), "t/x_who", &json!({}));
    assert!(answer.to_string().contains("no tool x_who"), "{answer}");
}

#[test]
fn an_mcp_server_that_does_not_answer_its_ping_gets_no_calls() {
    let folder = crate::carriers::Folder::new("agents-ping-admin");
    let admin = format!("unix:{}", folder.file("admin.sock"));
    let keys = "sessions = \"shared\"\nhealth = { method = \"ping\", every = \"100ms\", timeout = \"200ms\", fail = 2, pass = 1 }";
    let behind = Behind::with("ping", &format!("admin.url = \"{admin}\"\n"), keys, "");
    let state = || first_item(&admin, &["admin/upstreams", "name=t"])[0]["nodes"][0]["state"].clone();
    let pid = rpc(&behind.url(), "t/pid", &json!({}))["result"].as_str().unwrap().to_owned();
    assert_eq!(state(), "up");
    let signal = |name: &str| {
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    };
    signal("STOP");
    until("it is down", || (state() == "down").then_some(()));
    assert_eq!(rpc(&behind.url(), "t/echo", &json!({"text": "hi"}))["error"]["code"], -32004);
    signal("CONT");
    until("it is up again", || (state() == "up").then_some(()));
}

#[test]
fn mcp_servers_that_stay_are_kept_when_others_join_and_leave() {
    let keys = "sessions = \"shared\"\nbalance = \"round-robin\"";
    let mut behind = Behind::new("nodes", keys, "");
    let url = behind.url();
    let pids = |calls: usize| {
        let pid = |_| rpc(&url, "t/pid", &json!({}))["result"].as_str().unwrap().to_owned();
        let mut pids: Vec<String> = (0..calls).map(pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    };
    let first = pids(4);
    assert_eq!(first.len(), 1);
    let file = behind.folder.file("gateway.toml");
    let one = std::fs::read_to_string(&file).unwrap();
    let alone = "url = \"exec:python3 server.py tools.json\"";
    let both = "url = [\"exec:python3 server.py tools.json\", \"exec:python3 server.py tools.json b\"]";
    let mut change = |text: &str| {
        std::fs::write(&file, text).unwrap();
        behind.gateway.signal("HUP");
        behind.gateway.read_until("Configuration reloaded")
    };
    let said = change(&one.replace(alone, both));
    assert!(said.contains("upstream t +1 node"), "{said}");
    let two = until("both answer", || Some(pids(8)).filter(|pids| pids.len() == 2));
    assert!(two.contains(&first[0]), "{first:?} {two:?}");
    let said = change(&one);
    assert!(said.contains("upstream t -1 node"), "{said}");
    assert_eq!(pids(8), first);
    let tools: Value = rpc(&url, "rpc.discover", &json!([]));
    assert!(tools.to_string().contains("\"t/echo\""), "{tools}");
}
