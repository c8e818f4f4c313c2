//! Three agents that pass work on over Agent2Agent (A2A), each over another transport, and one of them dies on the way.
//!
//! A user sends a planner a message over HTTP. The planner commands a researcher over WebSocket, who commands a calculator over NATS. The
//! researcher is a process that is killed while it works, and started again: it goes on with its task, and the planner's stream with it. One trace
//! covers all of it. The calculator's access rules keep the researcher from its admin methods.
//!
//! It uses the NATS server that `NATS_URL` names, and starts one otherwise.
//!
//! ```text
//! cargo run -p switchboard --features a2a,access,nats,store-file,ws --example 14_agents_call_agents
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard::a2a::adapt::{Methods, Skills};
use switchboard::a2a::model::{
    AgentCard, AgentInterface, AgentSkill, Artifact, Message, SendMessage, StreamEvent, TaskState, Version,
};
use switchboard::a2a::{
    A2aRoute, Agent, AgentOptions, CardRoute, Client, ClientOptions, Outcome, Server as AgentServer,
    TaskHandle,
};
use switchboard::access::{Access, Rule};
use switchboard::http::EndpointOptions;
use switchboard::server::Server;
use switchboard::store::FileStore;
use switchboard::{CallError, Context, ErrorObject, Peer, Router, Settings, TraceContext};

type Failure = Box<dyn Error>;

/// The span that the user's request begins.
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The trace that a call belongs to.
fn trace(cx: &Context) -> String {
    let trace = cx.trace().or_else(|| TraceContext::of(cx.metadata()));
    trace.map_or_else(|| "none".to_owned(), |trace| trace.trace_id())
}

/// Serves an agent at these URLs, of which the first one is for its card. Returns that. The card may name the URLs.
async fn serve(
    urls: &[&str],
    agent: impl FnOnce(&[String]) -> Result<AgentServer, Failure>,
) -> Result<String, Failure> {
    let settings = Settings::default().with_profile(AgentServer::connection_profile());
    let mut server = Server::new(Router::builder().build()?).with_settings(settings);
    for url in urls {
        server.listen(url).await?;
    }
    let urls: Vec<String> = server.urls().collect();
    let agent = agent(&urls)?;
    let http = EndpointOptions::default()
        .route("/a2a", A2aRoute::new(&agent))
        .route(CardRoute::PATH, CardRoute::new(&agent, "/a2a"));
    tokio::spawn(server.with_service(agent.service()).with_http(http).serve());
    Ok(urls.first().ok_or("it listens")?.clone())
}

/// A place over another transport than HTTP.
fn interface(url: impl Into<String>) -> AgentInterface {
    AgentInterface::json_rpc(url, Version::V1_0)
}

/// The calculator: methods as skills, behind access rules.
async fn calculator(broker: &str) -> Result<String, Failure> {
    let methods = Router::builder()
        .method("double", |(n,): (u32,), cx: Context| {
            Ok::<_, CallError>(json!({"result": n * 2, "trace": trace(&cx)}))
        })
        .method("admin/reset", |(): (), _| Ok::<_, CallError>("forgot everything"))
        .build()?;
    let rules = [
        Rule::allow(["double".parse()?], ["anyone".parse()?]),
        Rule::allow(["admin/**".parse()?], ["role:operator".parse()?]),
    ];
    let url = format!("{broker}/calculator");
    let card = AgentCard::new("Calculator", "Calculates.", "1.0.0").interface(interface(&url));
    let agent = Skills::of(methods.layered(Access::new(rules))).agent(card).build();
    serve(&["http://127.0.0.1:0", &url], |_| Ok(agent)).await
}

/// The researcher: in its first life it takes too long. In its second one it asks the calculator.
async fn research(task: TaskHandle, calculator: Client) -> Result<Outcome, ErrorObject> {
    if !task.is_resumed() {
        task.working("reading a very thick book").await?;
        std::future::pending::<()>().await;
    }
    let calculator = Peer::local(Methods::of(&calculator)).within(task.context());
    let refused = calculator.call::<Value>("admin/reset", json!({"params": []})).await;
    let refused = refused.err().ok_or_else(|| ErrorObject::new(1, "the calculator trusts everybody"))?;
    let doubled: Value = calculator.call("double", json!({"params": [21]})).await?;
    let found = json!({
        "answer": doubled["data"][0]["result"], "refused": refused.to_string(),
        "traces": [trace(task.context()), doubled["data"][0]["trace"]],
    });
    task.artifact(Artifact::text("facts", found.to_string())).await?;
    Ok(Outcome::completed())
}

/// Runs the researcher as a process: prints the URL of its card, and serves until it is killed.
async fn researcher(listen: &str, store: &str, calculator: &str, broker: &str) -> Result<(), Failure> {
    // A card may name only brokers that its client knows.
    let options = ClientOptions::default().with_brokers([broker]);
    let calculator = Client::with_options(calculator, options).await?;
    let store = FileStore::open(store)?;
    let agent = |urls: &[String]| -> Result<AgentServer, Failure> {
        let url = urls.first().ok_or("it listens")?;
        let card = AgentCard::new("Researcher", "Finds facts.", "1.0.0")
            .skill(AgentSkill::new("research", "Research", "Finds a fact."))
            .interface(interface(url.replace("http:", "ws:")));
        // So soon after a crash another process goes on.
        let options = AgentOptions::default().with_lease(Duration::from_secs(2));
        let agent = Agent::new(card, move |_, task| research(task, calculator.clone()));
        Ok(agent.with_store(store).with_options(options).build())
    };
    println!("{}", serve(&[listen], agent).await?);
    std::future::pending().await
}

/// The planner: passes the question on, and tells what it hears.
async fn plan(message: Message, task: TaskHandle, researcher: Client) -> Result<Outcome, ErrorObject> {
    task.working("asking the researcher").await?;
    let request = SendMessage::new(Message::user(message.text()));
    let mut events = researcher.within(task.context()).stream(request).await?;
    let mut facts = String::new();
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::StatusUpdate(update) if update.status.state == TaskState::Working => {
                let text = update.status.message.map(|message| message.text()).unwrap_or_default();
                task.working(format!("the researcher is {text}")).await?;
            }
            StreamEvent::ArtifactUpdate(update) => facts = update.artifact.as_text(),
            StreamEvent::Task(now) => {
                facts = now.artifacts.first().map(Artifact::as_text).unwrap_or(facts);
            }
            _ => {}
        }
    }
    let mut facts: Value = serde_json::from_str(&facts).map_err(|error| ErrorObject::internal(&error))?;
    if let Some(traces) = facts["traces"].as_array_mut() {
        traces.insert(0, trace(task.context()).into());
    }
    Ok(Outcome::completed_with(facts.to_string()))
}

/// The process of the researcher. It ends with this one.
struct Process(Child);

impl Process {
    /// Starts it, and waits until it serves. Returns the URL of its card.
    fn start(
        listen: &str,
        store: &Path,
        calculator: &str,
        broker: &str,
    ) -> Result<(Process, String), Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["researcher", listen]).arg(store).args([calculator, broker]).stdout(Stdio::piped());
        let mut process = Process(command.spawn()?);
        let mut url = String::new();
        BufReader::new(process.0.stdout.take().ok_or("it is piped")?).read_line(&mut url)?;
        Ok((process, url.trim().to_owned()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, listen, store, calculator, broker] = &arguments[..]
        && role == "researcher"
    {
        return researcher(listen, store, calculator, broker).await;
    }
    let (broker, server) = match std::env::var("NATS_URL") {
        Ok(url) => (url, None),
        Err(_) => start_broker().map(|(url, server)| (url, Some(server)))?,
    };
    let folder = std::env::temp_dir().join(format!("switchboard-a2a-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = work(&broker, &folder.join("tasks")).await;
    std::fs::remove_dir_all(&folder)?;
    drop(server);
    result
}

async fn work(broker: &str, store: &Path) -> Result<(), Failure> {
    let calculator = calculator(broker).await?;
    let (process, researcher) = Process::start("http://127.0.0.1:0", store, &calculator, broker)?;
    let mut process = Some(process);
    let to_researcher = Client::connect(&researcher).await?;
    let card = AgentCard::new("Planner", "Plans.", "1.0.0");
    let planner = Agent::new(card, move |message, task| plan(message, task, to_researcher.clone())).build();
    let planner = Client::connect(&serve(&["http://127.0.0.1:0"], |_| Ok(planner)).await?).await?;

    let cx = Context::default();
    cx.begin_trace(TraceContext::parse(TRACE).ok_or("it is a traceparent")?);
    let question = SendMessage::new(Message::user("How much is twice 21?"));
    let mut events = planner.within(&cx).stream(question).await?;
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        let StreamEvent::StatusUpdate(update) = event? else { continue };
        let text = update.status.message.map(|message| message.text()).unwrap_or_default();
        println!("the planner, {:?}: {text}", update.status.state);
        if text.starts_with("the researcher is reading") && process.take().is_some() {
            println!("the researcher is killed, and started again");
            process = Some(Process::start(&researcher, store, &calculator, broker)?.0);
        }
        answer = text;
    }
    let answer: Value = serde_json::from_str(&answer)?;
    let ours = TraceContext::parse(TRACE).map(|trace| trace.trace_id());
    assert_eq!(answer["answer"], 42);
    println!("the calculator refuses to be reset: {}", answer["refused"]);
    assert_eq!(answer["traces"], json!([ours, ours, ours]), "all three agents are part of one trace");
    Ok(())
}

/// A NATS server that ends with this program.
struct Broker(Child, PathBuf);

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

/// Starts a NATS server on a free port.
fn start_broker() -> Result<(String, Broker), Failure> {
    let folder = std::env::temp_dir().join(format!("switchboard-broker-{}", std::process::id()));
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", "-1", "--store_dir"]).arg(&folder);
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
    Ok((url, Broker(process, folder)))
}
