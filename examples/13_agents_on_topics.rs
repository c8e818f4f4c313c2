//! Agents on several machines that command each other: each reads its own topic, and publishes in those of the others.
//!
//! A planner asks a researcher for facts. The researcher does not answer; it commands the writer, who reports to the planner. None of them knows where the others run. The topics are
//! kept, so an observer who comes when all is over still reads every word.
//!
//! It uses the NATS server that `NATS_URL` names, and starts one otherwise.
//!
//! ```text
//! cargo run -p switchboard --features nats --example 13_agents_on_topics
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use switchboard::CallError;
use switchboard::nats::{Bus, Events, Keep, Start, TopicEvent, TopicGroup};

/// What one agent tells another.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    from: String,
    text: String,
}

/// An agent, which could be on any machine.
struct Agent {
    name: &'static str,
    agents: TopicGroup,
    tasks: Events<Task>,
}

impl Agent {
    /// Connects, and reads its tasks from now on.
    async fn start(broker: &str, name: &'static str) -> Result<Agent, Box<dyn Error>> {
        let agents = Bus::connect(&format!("{broker}/office")).await?.keep("agents", Keep::default()).await?;
        let tasks = agents.topic(format!("agents/{name}"))?.subscribe().await?;
        Ok(Agent { name, agents, tasks })
    }

    /// Waits for a task. What was lost is told, and not hidden.
    async fn next(&mut self) -> Result<Task, CallError> {
        loop {
            match self.tasks.next().await {
                Some(Ok(TopicEvent { value, .. })) => return Ok(value),
                Some(Err(CallError::Gap(gap))) => println!("{}: {gap}", self.name),
                Some(Err(error)) => return Err(error),
                None => return Err(CallError::Closed("there are no more tasks".into())),
            }
        }
    }

    /// Commands another agent. When this returns, the broker has stored it.
    async fn command(&self, agent: &str, text: impl Into<String>) -> Result<(), CallError> {
        let task = Task { from: self.name.to_owned(), text: text.into() };
        self.agents.topic(format!("agents/{agent}"))?.publish(&task).await?;
        Ok(())
    }
}

async fn research(mut agent: Agent) -> Result<(), CallError> {
    let task = agent.next().await?;
    agent.command("writer", format!("write about {}: it was invented in 1897", task.text)).await
}

async fn write(mut agent: Agent) -> Result<(), CallError> {
    let task = agent.next().await?;
    agent
        .command("planner", format!("done, thanks to the {}: “{}”", task.from, task.text.to_uppercase()))
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (broker, _server) = match std::env::var("NATS_URL") {
        Ok(url) => (url, None),
        Err(_) => start_broker().map(|(url, server)| (url, Some(server)))?,
    };
    let mut planner = Agent::start(&broker, "planner").await?;
    let (researcher, writer) =
        (Agent::start(&broker, "researcher").await?, Agent::start(&broker, "writer").await?);
    tokio::spawn(research(researcher));
    tokio::spawn(write(writer));

    planner.command("researcher", "the fountain pen").await?;
    println!("the planner hears: {}", planner.next().await?.text);

    // Somebody who was not there reads it all, from the first word.
    let observer = Bus::connect(&format!("{broker}/office")).await?.kept("agents").await?;
    let mut all = observer.subscribe_from::<Task>(Start::All).await?.take(3);
    while let Some(event) = all.next().await {
        let TopicEvent { topic, position, value, .. } = event?;
        println!("{}. {} -> {topic}: {}", position.unwrap_or_default(), value.from, value.text);
    }
    Ok(())
}

/// A NATS server that ends with this program.
struct Server(Child, std::path::PathBuf);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

/// Starts a NATS server on a free port.
fn start_broker() -> Result<(String, Server), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("switchboard-agents-{}", std::process::id()));
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir"]).arg(&folder);
    let started = command.stderr(Stdio::piped()).spawn();
    let mut process = started.map_err(|error| format!("install nats-server, or set NATS_URL: {error}"))?;
    let mut log = BufReader::new(process.stderr.take().ok_or("it is piped")?).lines();
    let mut url = String::new();
    for line in log.by_ref().map_while(Result::ok) {
        if let Some((_, address)) = line.split_once("Listening for client connections on ") {
            url = format!("nats://{address}");
        }
        if line.ends_with("Server is ready") {
            break;
        }
    }
    // It must not have to wait for a reader of its log.
    std::thread::spawn(move || log.for_each(drop));
    Ok((url, Server(process, folder)))
}
