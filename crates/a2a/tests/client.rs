//! Clients of agents.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;
use switchboard_a2a::model::{
    AgentCard, AgentInterface, AgentSkill, Artifact, ListTasks, Message, SendMessage, StreamEvent, TaskState,
    Version,
};
use switchboard_a2a::{A2aRoute, Agent, CardRoute, Client, ClientError, Ended, Outcome, Server, TaskHandle};
use switchboard_core::{Call, Json, Name, Outcome as Replied, Router, Service};
use switchboard_transport::http::{Endpoint, EndpointOptions, Hosts, HttpServer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// An agent that works in steps.
fn agent(gate: &Arc<Notify>, card: AgentCard) -> Server {
    let gate = Arc::clone(gate);
    Agent::new(card, move |message: Message, task: TaskHandle| {
        let gate = Arc::clone(&gate);
        async move {
            match message.text().as_str() {
                "hello" => Ok::<_, Ended>("hi".into()),
                "ask" => Ok(Outcome::input_required("Which city?")),
                "wait" => {
                    task.working("waiting").await?;
                    gate.notified().await;
                    task.artifact(Artifact::text("a", "done")).await?;
                    Ok(Outcome::completed())
                }
                _ => Ok(Outcome::completed_with("did it")),
            }
        }
    })
    .build()
}

fn card() -> AgentCard {
    AgentCard::new("Test", "Works.", "1.0.0").skill(AgentSkill::new("work", "Work", "Works."))
}

async fn serve(server: &Server) -> SocketAddr {
    // One of the tests calls through another port.
    let options = EndpointOptions::default()
        .with_hosts(Hosts::any())
        .route("/a2a", A2aRoute::new(server))
        .route(CardRoute::PATH, CardRoute::new(server, "/a2a"));
    let endpoint = Endpoint::new(Router::builder().build().unwrap()).with_options(options);
    let listener = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr();
    tokio::spawn(listener.serve_endpoint(endpoint));
    address
}

fn message(text: &str) -> SendMessage {
    SendMessage::new(Message::user(text))
}

fn states(events: &[StreamEvent]) -> Vec<TaskState> {
    events.iter().filter_map(StreamEvent::state).collect()
}

// A2A-C-03
#[tokio::test]
async fn a_client_of_either_version_sends_streams_lists_and_cancels() {
    for version in [Version::V1_0, Version::V0_3] {
        let gate = Arc::new(Notify::new());
        let address = serve(&agent(&gate, card())).await;
        let mut old = card();
        old.supported_interfaces = vec![AgentInterface::json_rpc(format!("http://{address}/a2a"), version)];
        let old = serve(&agent(&gate, old)).await;
        let client = Client::connect(&format!("http://{old}")).await.unwrap();
        assert_eq!((client.version(), client.card().skills[0].id.as_str()), (version, "work"));
        let StreamEvent::Message(reply) = client.send(message("hello")).await.unwrap() else { panic!() };
        assert_eq!(reply.text(), "hi");
        let StreamEvent::Task(asked) = client.send(message("ask")).await.unwrap() else { panic!() };
        assert_eq!(asked.status.state, TaskState::InputRequired);
        let answer = SendMessage::new(Message::user("Paris").in_task(&asked.id));
        assert_eq!(client.send(answer).await.unwrap().state(), Some(TaskState::Completed));
        assert_eq!(client.get(&asked.id).await.unwrap().history.len(), 3);
        gate.notify_one();
        let events: Vec<_> =
            client.stream(message("wait")).await.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(states(&events), [TaskState::Submitted, TaskState::Working, TaskState::Completed]);
        let StreamEvent::Task(task) = client.send(message("wait").immediately()).await.unwrap() else {
            panic!()
        };
        assert_eq!(client.cancel(&task.id).await.unwrap().status.state, TaskState::Canceled);
        assert_eq!(client.cancel("none").await.unwrap_err().rejection().unwrap().code.0, -32001);
        match version {
            Version::V1_0 => assert_eq!(client.list(&ListTasks::default()).await.unwrap().total_size, 3),
            Version::V0_3 => assert!(client.list(&ListTasks::default()).await.is_err()),
        }
    }
}

/// Passes connections on until it is cut.
async fn relay(to: SocketAddr, cut: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let cut = Arc::clone(&cut);
            tokio::spawn(async move {
                let mut server = TcpStream::connect(to).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                    () = cut.notified() => {}
                }
            });
        }
    });
    address
}

// A2A-S-07
#[tokio::test]
async fn a_stream_goes_on_after_a_cut() {
    let gate = Arc::new(Notify::new());
    let address = serve(&agent(&gate, card())).await;
    let cut = Arc::new(Notify::new());
    let relay = relay(address, Arc::clone(&cut)).await;
    let client = Client::connect(&format!("http://{relay}")).await.unwrap();
    let mut events = client.stream(message("wait")).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().state(), Some(TaskState::Submitted));
    assert_eq!(events.next().await.unwrap().unwrap().state(), Some(TaskState::Working));
    cut.notify_waiters();
    let StreamEvent::Task(task) = events.next().await.unwrap().unwrap() else { panic!() };
    assert_eq!(task.status.state, TaskState::Working);
    gate.notify_one();
    let rest: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(rest[0], StreamEvent::ArtifactUpdate(_)));
    assert_eq!(states(&rest), [TaskState::Completed]);
}

#[tokio::test]
async fn a_remote_agent_is_a_service() {
    let address = serve(&agent(&Arc::new(Notify::new()), card())).await;
    let client = Client::connect(&format!("http://{address}/.well-known/agent-card.json")).await.unwrap();
    let params = Json::encode(
        &json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}),
    );
    let call = Call::new(Name::from_static("SendMessage"), Some(params.unwrap()));
    let Replied::Value(reply) = client.remote().call(&call).await.outcome else { panic!() };
    assert_eq!(reply.get("message").unwrap().get("role").unwrap().as_str(), "\"ROLE_AGENT\"");
}

#[tokio::test]
async fn what_is_not_an_agent_is_said() {
    let endpoint = Endpoint::new(Router::builder().build().unwrap());
    let listener = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr();
    tokio::spawn(listener.serve_endpoint(endpoint));
    let error = Client::connect(&format!("http://{address}")).await.unwrap_err();
    assert!(matches!(error, ClientError::NoCard { .. }), "{error}");
    let error = Client::connect("tcp://127.0.0.1:1").await.unwrap_err();
    assert!(matches!(error, ClientError::Url(_)), "{error}");
}
