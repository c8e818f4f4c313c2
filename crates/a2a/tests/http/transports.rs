//! Agents over WebSocket and NATS.

use futures_util::StreamExt as _;
use switchboard_a2a::model::{
    AgentInterface, ListTasks, Message, SendMessage, StreamEvent, TaskState, Version,
};
use switchboard_a2a::{Client, ClientOptions};
use switchboard_core::Settings;
use switchboard_transport::server::Server;

use crate::broker::Broker;
use crate::serving::{Gate, agent, serve};

fn message(text: &str) -> SendMessage {
    SendMessage::new(Message::user(text))
}

/// A client of an agent that is served at this URL.
async fn connect(url: &str, gate: &Gate) -> (Client, crate::serving::Serving) {
    let served = agent(gate).build();
    let settings = Settings::default().with_profile(switchboard_a2a::Server::connection_profile());
    let mut server = Server::new(served.service()).with_settings(settings);
    server.listen(url).await.unwrap();
    let url = server.urls().next().unwrap();
    tokio::spawn(server.serve());
    let card = served.card().clone().interface(AgentInterface::json_rpc(url.clone(), Version::V1_0));
    // Only its card is used.
    let never = |_: Message, _| async { Ok::<_, switchboard_core::ErrorObject>(()) };
    let card = serve(&switchboard_a2a::Agent::new(card, never).build()).await;
    // A URL over NATS begins with its broker; other URLs name none.
    let options = ClientOptions::default().with_brokers([&url]);
    let client = Client::with_options(&format!("http://{}", card.address), options).await.unwrap();
    assert_eq!(client.remote().url(), url);
    (client, card)
}

async fn check(url: &str) {
    let gate = Gate::default();
    let (client, _card) = connect(url, &gate).await;
    let StreamEvent::Message(reply) = client.send(message("hello")).await.unwrap() else { panic!() };
    assert_eq!(reply.text(), "hi");
    let StreamEvent::Task(asked) = client.send(message("ask")).await.unwrap() else { panic!() };
    let answer = SendMessage::new(Message::user("work").in_task(&asked.id));
    assert_eq!(client.send(answer).await.unwrap().state(), Some(TaskState::Completed));
    let mut events = client.stream(message("wait")).await.unwrap();
    let StreamEvent::Task(task) = events.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(events.next().await.unwrap().unwrap().state(), Some(TaskState::Working));
    let mut second = client.subscribe(&task.id).await.unwrap();
    assert_eq!(second.next().await.unwrap().unwrap().state(), Some(TaskState::Working));
    gate.0.notify_one();
    for events in [events, second] {
        let rest: Vec<_> = events.map(Result::unwrap).collect().await;
        assert!(matches!(rest[0], StreamEvent::ArtifactUpdate(_)), "{rest:?}");
        assert_eq!(rest[1].state(), Some(TaskState::Completed));
    }
    let StreamEvent::Task(task) = client.send(message("wait").immediately()).await.unwrap() else { panic!() };
    assert_eq!(client.cancel(&task.id).await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(client.list(&ListTasks::default()).await.unwrap().total_size, 3);
    assert_eq!(client.get("none").await.unwrap_err().rejection().unwrap().code.0, -32001);
}

#[tokio::test]
async fn an_agent_is_served_over_websocket() {
    check("ws://127.0.0.1:0").await;
}

#[tokio::test]
async fn an_agent_is_served_over_nats() {
    let broker = Broker::start(&[]);
    check(&format!("{}/agent", broker.url())).await;
}
