//! `switchboard agent` against the demo agent of `switchboard serve`.

use serde_json::Value;

use crate::program::{Serving, parts, run};

/// The lines of JSON that a command prints.
fn lines(serving: &Serving, arguments: &[&str]) -> Vec<Value> {
    let url = serving.url();
    let (code, stdout, stderr) = parts(run(&[&["agent", &url], arguments].concat()));
    assert_eq!(code, Some(0), "{stderr}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_banner_and_the_card_say_where_the_agent_is() {
    let serving = Serving::start(&[]);
    let place = format!("{}/a2a", serving.url().trim_end_matches('/'));
    assert!(serving.banner.contains(&format!("A2A on {place}")), "{}", serving.banner);
    let card = &lines(&serving, &[])[0];
    assert_eq!(card["supportedInterfaces"][0]["url"], place);
    assert_eq!(card["skills"][0]["id"], "calculate");
}

#[test]
fn messages_are_answered_and_tasks_go_on() {
    let serving = Serving::start(&[]);
    let reply = &lines(&serving, &["send", "What is 2 + 3?"])[0];
    assert_eq!(reply["message"]["parts"][0]["text"], "5");
    let asked = &lines(&serving, &["send", "weather"])[0]["task"];
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let id = asked["id"].as_str().unwrap();
    let done = &lines(&serving, &["send", "Paris", "--task", id])[0]["task"];
    assert_eq!(done["status"]["message"]["parts"][0]["text"], "It is sunny in Paris.");
    let events = lines(&serving, &["stream", "count to 2"]);
    let last = events.last().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let listed: Vec<Value> = lines(&serving, &["tasks"]);
    assert_eq!(listed.len(), 2);
    assert_eq!(&lines(&serving, &["get", id])[0]["id"], id);
}

#[test]
fn what_goes_wrong_is_said() {
    let serving = Serving::start(&[]);
    let (code, _, stderr) = parts(run(&["agent", &serving.url(), "get", "none"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("-32001") && stderr.contains("Task not found"), "{stderr}");
    let (code, _, stderr) = parts(run(&["agent", "tcp://127.0.0.1:1"]));
    assert_eq!(code, Some(2), "{stderr}");
    let (listener, url) = crate::program::listener();
    drop(listener);
    let (code, _, stderr) = parts(run(&["agent", &url]));
    assert_eq!(code, Some(3), "{stderr}");
}
