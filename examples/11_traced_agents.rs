//! Three agents that call each other over different transports, and one trace across them.
//!
//! A planner is asked over HTTP. It asks a researcher over WebSocket, who asks a calculator over TCP, and asks the planner something while it
//! works. Each agent has its own tracing, as if it were its own program; here their spans go to the screen instead of a collector.
//!
//! ```text
//! cargo run -p switchboard --features ws,tcp,trace --example 11_traced_agents
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use switchboard::server::Server;
use switchboard::trace::Tracing;
use switchboard::{CallError, Context, Dial, Layer as _, Peer, Router, RouterBuilder, Settings};

/// The spans of all agents, each with the name of its agent.
type Spans = Arc<Mutex<Vec<(&'static str, SpanData)>>>;

/// Keeps spans. A real program would use `opentelemetry_otlp::SpanExporter`.
#[derive(Debug)]
struct Keep(&'static str, Spans);

impl SpanExporter for Keep {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut spans = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        spans.extend(batch.into_iter().map(|span| (self.0, span)));
        Ok(())
    }
}

/// The tracing of one agent. Conversations that callers name in their baggage become attributes, which tools for language models read.
fn tracing(name: &'static str, spans: &Spans) -> Tracing {
    Tracing::builder()
        .with_methods(["plan", "research", "calculate", "budget"])
        .with_baggage(["gen_ai.conversation.id"])
        .with_resource(Resource::builder().with_service_name(name).build())
        .start(Keep(name, Arc::clone(spans)))
}

/// The settings of connections to other agents. Without the first line, the conversation would stay with the first agent.
fn settings(tracing: &Tracing) -> Settings {
    let names = ["traceparent", "tracestate", "baggage"];
    Settings::default().with_inherit(names.into_iter().collect()).with_observer(Some(tracing.clone().into()))
}

/// Serves an agent; returns its URL.
async fn serve(url: &str, methods: RouterBuilder, tracing: &Tracing) -> Result<String, Box<dyn Error>> {
    let service = tracing.layer(Arc::new(methods.build()?));
    let mut server = Server::new(service).with_settings(settings(tracing));
    server.listen(url).await?;
    let url = server.urls().next().ok_or("it listens")?;
    tokio::spawn(server.serve());
    Ok(url)
}

fn calculator() -> RouterBuilder {
    Router::builder().method("calculate", |(a, b): (u32, u32), _| Ok::<_, CallError>(a * b))
}

fn researcher(calculator: Peer) -> RouterBuilder {
    Router::builder().async_method("research", move |(topic,): (String,), cx: Context| {
        let calculator = calculator.clone();
        async move {
            // Calls back to the caller, and calls within this call, belong to its trace.
            let budget: u32 = cx.peer().call("budget", ()).await?;
            let cost: u32 = calculator.within(&cx).call("calculate", (budget, 2_u32)).await?;
            Ok::<_, CallError>(format!("{topic} for {cost}"))
        }
    })
}

fn planner(researcher: Peer) -> RouterBuilder {
    Router::builder().async_method("plan", move |(goal,): (String,), cx: Context| {
        let researcher = researcher.clone();
        async move { researcher.within(&cx).call::<String>("research", (goal,)).await }
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let spans = Spans::default();
    let [ours, first, second, third] =
        ["user", "planner", "researcher", "calculator"].map(|name| tracing(name, &spans));

    let url = serve("tcp://127.0.0.1:0", calculator(), &third).await?;
    let to_calculator = second.peer(Dial::new(&url)?.with_settings(settings(&second)).connect().await?);
    let url = serve("ws://127.0.0.1:0", researcher(to_calculator), &second).await?;
    let own = Router::builder().method("budget", |(): (), _| Ok::<_, CallError>(21_u32)).build()?;
    let to_researcher = Dial::new(&url)?.with_service(own).with_settings(settings(&first)).connect().await?;
    let url = serve("http://127.0.0.1:0", planner(first.peer(to_researcher)), &first).await?;
    let to_planner = ours.peer(Dial::new(&url)?.connect().await?);

    let plan: String =
        to_planner.call("plan", ("a trip",)).metadata("baggage", "gen_ai.conversation.id=chat-7").await?;
    println!("the plan: {plan}");
    tokio::task::spawn_blocking(move || [ours, first, second, third].iter().for_each(Tracing::flush)).await?;
    let spans = std::mem::take(&mut *spans.lock().unwrap_or_else(PoisonError::into_inner));
    let root = spans.iter().find(|(name, _)| *name == "user").ok_or("the user has a span")?;
    println!("one trace:");
    show(&spans, root, 1);
    Ok(())
}

/// Shows a span and those below it.
fn show(spans: &[(&'static str, SpanData)], (agent, span): &(&'static str, SpanData), depth: usize) {
    let conversation =
        span.attributes.iter().find(|attribute| attribute.key.as_str() == "gen_ai.conversation.id");
    let conversation = conversation.map(|attribute| format!(" ({})", attribute.value)).unwrap_or_default();
    println!("{:indent$}{agent}: {} {:?}{conversation}", "", span.name, span.span_kind, indent = depth * 2);
    for below in spans.iter().filter(|(_, below)| below.parent_span_id == span.span_context.span_id()) {
        show(spans, below, depth + 1);
    }
}
