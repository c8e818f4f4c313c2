//! Clients and servers of Agent2Agent: the SDKs for Python and JavaScript against our agent, and our client against their agents, in both
//! versions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use futures_util::StreamExt;
use switchboard::a2a::Client;
use switchboard::a2a::model::error::TASK_NOT_FOUND;
use switchboard::a2a::model::{ListPush, Message, PushConfig, SendMessage, StreamEvent, TaskState};
use switchboard_interop::{Fixtures, Other, Program, run};

#[tokio::test]
async fn the_python_sdk_calls_our_agent_in_both_versions() {
    let agent = Fixtures::agent().await;
    run(Program::Python("client_a2a.py"), &[&agent.url]).await;
}

#[tokio::test]
async fn the_python_sdk_of_0_3_calls_our_agent() {
    let agent = Fixtures::agent().await;
    run(Program::PythonOld("client_a2a_old.py"), &[&agent.url]).await;
}

#[tokio::test]
async fn the_javascript_sdk_calls_our_agent_in_both_versions() {
    let agent = Fixtures::agent().await;
    run(Program::Node("client-a2a.mjs"), &[&agent.url]).await;
}

#[tokio::test]
async fn we_call_an_agent_of_the_python_sdk_in_both_versions() {
    for version in ["1.0", "0.3"] {
        calls(Program::Python("server_a2a.py"), version).await;
    }
}

#[tokio::test]
async fn we_call_an_agent_of_the_python_sdk_of_0_3() {
    calls(Program::PythonOld("server_a2a_old.py"), "0.3").await;
}

#[tokio::test]
async fn we_call_an_agent_of_the_javascript_sdk_in_both_versions() {
    for version in ["1.0", "0.3"] {
        calls(Program::Node("server-a2a.mjs"), version).await;
    }
}

/// Calls an agent that counts, asks and waits.
async fn calls(program: Program, version: &str) {
    let other = Other::start(program, &[version]).await;
    let client = Client::connect(&other.url).await.unwrap();
    assert_eq!(client.version().as_str(), version);
    let message = |text: &str| SendMessage::new(Message::user(text));
    let StreamEvent::Message(reply) = client.send(message("hello")).await.unwrap() else {
        panic!("a message")
    };
    assert_eq!(reply.text(), "hi");
    let StreamEvent::Task(task) = client.send(message("count")).await.unwrap() else { panic!("a task") };
    assert_eq!((task.status.state, task.artifacts[0].parts.len()), (TaskState::Completed, 3));
    let events: Vec<_> = client.stream(message("count")).await.unwrap().map(Result::unwrap).collect().await;
    let chunks = events.iter().filter(|event| matches!(event, StreamEvent::ArtifactUpdate(_)));
    assert_eq!(chunks.count(), 3);
    assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed));
    let StreamEvent::Task(asked) = client.send(message("ask")).await.unwrap() else { panic!("a task") };
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let answer = SendMessage::new(Message::user("Paris").in_task(&asked.id));
    assert_eq!(client.send(answer).await.unwrap().state(), Some(TaskState::Completed));
    let StreamEvent::Task(long) = client.send(message("wait").immediately()).await.unwrap() else {
        panic!("a task")
    };
    if client.card().capabilities.push_notifications == Some(true) {
        places(&client, &long.id, matches!(program, Program::PythonOld(_))).await;
    }
    assert_eq!(client.cancel(&long.id).await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(client.get(&long.id).await.unwrap().status.state, TaskState::Canceled);
    let error = client.get("none").await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, TASK_NOT_FOUND);
}

/// Adds a place for notifications, finds it and removes it.
async fn places(client: &Client, task: &str, is_old: bool) {
    let place = PushConfig::new("https://hooks.example.com/").for_task(task).with_id("one").with_token("t");
    let made = client.create_push(&place).await.unwrap();
    assert_eq!((made.task_id, made.url), (place.task_id, place.url));
    assert_eq!(client.push(task, "one").await.unwrap().token, "t");
    let list = ListPush::new(task);
    assert_eq!(client.list_push(&list).await.unwrap().configs.len(), 1);
    let deleted = client.delete_push(task, "one").await;
    // The library of 0.3 leaves out a result that is null, so its answer is not a response.
    assert_eq!(deleted.is_err(), is_old, "{deleted:?}");
    assert!(client.list_push(&list).await.unwrap().configs.is_empty());
}
