//! Clients and servers of Agent2Agent: the SDK for Python against our agent, and our client against its agent, in both versions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use futures_util::StreamExt;
use switchboard::a2a::Client;
use switchboard::a2a::model::{Message, SendMessage, StreamEvent, TaskState};
use switchboard_interop::{Fixtures, Other, Program, run};

#[tokio::test]
async fn the_python_sdk_calls_our_agent_in_both_versions() {
    let agent = Fixtures::agent().await;
    run(Program::Python("client_a2a.py"), &[&agent.url]).await;
}

#[tokio::test]
async fn we_call_an_agent_of_the_python_sdk_in_both_versions() {
    for version in ["1.0", "0.3"] {
        let other = Other::start(Program::Python("server_a2a.py"), &[version]).await;
        let client = Client::connect(&other.url).await.unwrap();
        assert_eq!(client.version().as_str(), version);
        let message = |text: &str| SendMessage::new(Message::user(text));
        let StreamEvent::Message(reply) = client.send(message("hello")).await.unwrap() else {
            panic!("a message")
        };
        assert_eq!(reply.text(), "hi");
        let StreamEvent::Task(task) = client.send(message("count")).await.unwrap() else { panic!("a task") };
        assert_eq!((task.status.state, task.artifacts[0].parts.len()), (TaskState::Completed, 3));
        let events: Vec<_> =
            client.stream(message("count")).await.unwrap().map(Result::unwrap).collect().await;
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
        assert_eq!(client.cancel(&long.id).await.unwrap().status.state, TaskState::Canceled);
        assert_eq!(client.get(&long.id).await.unwrap().status.state, TaskState::Canceled);
    }
}
