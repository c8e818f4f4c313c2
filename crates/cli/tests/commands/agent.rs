//! `switchboard agent` against the demo agent of `switchboard serve`.

use serde_json::Value;

use crate::carriers::Folder;
use crate::program::{Serving, parts, run};
use crate::tokens::CredentialFile;

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
fn a_task_can_be_followed_and_cancelled_and_belongs_to_a_conversation() {
    let serving = Serving::start(&[]);
    let begun = &lines(&serving, &["send", "count to 60", "--no-wait", "--context", "chat-1"])[0]["task"];
    assert_eq!(begun["contextId"], "chat-1");
    let state = begun["status"]["state"].as_str().unwrap();
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state), "{begun}");
    let id = begun["id"].as_str().unwrap();
    let cancelled = &lines(&serving, &["cancel", id])[0];
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED");
    let (code, _, stderr) = parts(run(&["agent", &serving.url(), "follow", id]));
    assert!(code == Some(1) && stderr.contains("the task has ended"), "{stderr}");
    let short = &lines(&serving, &["send", "count to 2", "--no-wait"])[0]["task"];
    let events = lines(&serving, &["follow", short["id"].as_str().unwrap()]);
    assert_eq!(events[0]["task"]["id"], short["id"]);
    let last = events.last().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{last}");
    let listed = lines(&serving, &["tasks", "--context", "chat-1"]);
    assert_eq!(listed.iter().map(|task| &task["id"]).collect::<Vec<_>>(), [id]);
    assert_eq!(lines(&serving, &["tasks"]).len(), 2);
}

#[test]
fn a_token_says_whose_tasks_they_are() {
    let file = CredentialFile::new("agent-tokens", "ann:2f9c1b7e55a04d13\nbob:9c1b7e55a04d132f\n", 0o600);
    let serving = Serving::start(&["--tokens", file.path()]);
    let as_user = |token: &str, words: &[&str]| {
        parts(run(&[&["agent", &serving.url(), "--token", token], words].concat()))
    };
    let (code, _, stderr) = parts(run(&["agent", &serving.url(), "send", "What is 2 + 3?"]));
    assert!(code != Some(0) && stderr.contains("401"), "{code:?} {stderr}");
    let (code, stdout, stderr) = as_user("2f9c1b7e55a04d13", &["send", "weather"]);
    assert_eq!(code, Some(0), "{stderr}");
    let asked: Value = serde_json::from_str(&stdout).unwrap();
    let id = asked["task"]["id"].as_str().unwrap();
    assert_eq!(as_user("2f9c1b7e55a04d13", &["get", id]).0, Some(0));
    let (code, _, stderr) = as_user("9c1b7e55a04d132f", &["get", id]);
    assert!(code == Some(1) && stderr.contains("Task not found"), "{stderr}");
}

#[test]
fn tasks_of_the_demo_agent_survive_in_the_store() {
    let folder = Folder::new("agent-store");
    let store = format!("file:{}", folder.file("state"));
    let mut first = Serving::start(&["--store", &store]);
    let asked = &lines(&first, &["send", "weather"])[0]["task"];
    first.signal("KILL");
    first.ended();
    let second = Serving::start(&["--store", &store]);
    let id = asked["id"].as_str().unwrap();
    let done = &lines(&second, &["send", "Paris", "--task", id])[0]["task"];
    assert_eq!(done["status"]["message"]["parts"][0]["text"], "It is sunny in Paris.");
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
