//! Traces: which calls have spans, what a span says, and how spans of several programs belong together.
#![cfg(feature = "trace")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SpanData, SpanExporter};
use switchboard_core::{
    Context, Engine, ErrorObject, Forward, Json, Layer as _, Metadata, Method, Origin, Peer, Router, Service,
    Settings,
};
use switchboard_layers::trace::{TraceSampler, TraceTrust, Tracing, TracingBuilder};
use switchboard_transport::Dial;
use switchboard_transport::server::Server;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

/// Something that is traced, and its spans.
struct Traced {
    tracing: Tracing,
    exporter: InMemorySpanExporter,
}

impl Traced {
    fn new(builder: TracingBuilder) -> Traced {
        let exporter = InMemorySpanExporter::default();
        let methods = ["echo", "fail", "count", "ask", "asks", "name"];
        Traced { tracing: builder.with_methods(methods).start(exporter.clone()), exporter }
    }

    fn settings(&self) -> Settings {
        Settings::default().with_observer(Some(self.tracing.clone().into()))
    }

    async fn exchange(&self, message: &str, metadata: &[(&'static str, String)]) {
        let engine = Engine::new(Arc::new(router()), self.settings());
        let origin = Origin::new("http").with_address("192.0.2.7:50123".parse().unwrap());
        let cx = Context::new(origin).with_metadata(Metadata::from_iter(metadata.iter().cloned()));
        engine.exchange(message.to_owned(), &cx).await;
    }

    fn spans(&self) -> Vec<SpanData> {
        self.tracing.flush();
        self.exporter.get_finished_spans().unwrap()
    }

    /// The only span with this name.
    fn span(&self, name: &str) -> SpanData {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        assert_eq!(spans.len(), 1, "{name}: {spans:#?}");
        spans.remove(0)
    }
}

fn router() -> Router {
    Router::builder()
        .method("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
        .method("fail", |(): (), _| Err::<(), _>(ErrorObject::new(-7, "secret-in-a-message")))
        .add(Method::stream("count", |(): (), _| stream::iter([1, 2, 3])))
        .async_method("ask", async |(): (), cx: Context| cx.peer().call::<String>("name", ()).await)
        .add(Method::stream("asks", |(): (), cx: Context| {
            stream::once(async move { cx.peer().call::<String>("name", ()).await.unwrap_or_default() })
        }))
        .build()
        .unwrap()
}

fn message(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"a1","method":"{method}","params":["secret-in-params"]}}"#)
}

fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.to_string())
}

fn is_below(child: &SpanData, parent: &SpanData) -> bool {
    child.span_context.trace_id() == parent.span_context.trace_id()
        && child.parent_span_id == parent.span_context.span_id()
}

// OBS-R-01, OBS-R-02, OBS-R-04, OBS-R-06, OBS-R-09, OBS-T-05, OBS-X-05
#[tokio::test]
async fn a_span_says_what_was_called_and_continues_the_trace_of_its_caller() {
    let traced = Traced::new(Tracing::builder());
    traced.exchange(&message("echo"), &[("traceparent", traceparent("01"))]).await;
    let span = traced.span("echo");
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id.to_string(), PARENT);
    assert_ne!(span.span_context.span_id().to_string(), PARENT);
    assert!(span.parent_span_is_remote);
    let expected = [
        ("rpc.system.name", "jsonrpc"),
        ("rpc.method", "echo"),
        ("jsonrpc.protocol.version", "2.0"),
        ("jsonrpc.request.id", "a1"),
        ("network.transport", "tcp"),
        ("network.protocol.name", "http"),
        ("network.peer.address", "192.0.2.7"),
        ("network.peer.port", "50123"),
    ];
    for (name, value) in expected {
        assert_eq!(attribute(&span, name).as_deref(), Some(value), "{name}");
    }
    assert!(!format!("{span:?}").contains("secret"), "{span:?}");
}

// OBS-R-05, OBS-X-05
#[tokio::test]
async fn a_failure_has_its_code_and_not_its_text() {
    let traced = Traced::new(Tracing::builder());
    traced.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"fail"}"#, &[]).await;
    let span = traced.span("fail");
    for name in ["rpc.status_code", "rpc.response.status_code", "error.type"] {
        assert_eq!(attribute(&span, name).as_deref(), Some("-7"), "{name}");
    }
    assert!(matches!(span.status, opentelemetry::trace::Status::Error { .. }));
    assert!(!format!("{span:?}").contains("secret"), "{span:?}");
}

// OBS-R-03, OBS-X-01, OBS-X-02
#[tokio::test]
async fn names_that_callers_make_up_are_attributes_of_bounded_length() {
    let traced = Traced::new(Tracing::builder());
    let long = "é".repeat(100);
    traced.exchange(&format!(r#"{{"jsonrpc":"2.0","method":"{long}"}}"#), &[]).await;
    let span = traced.span("jsonrpc");
    assert_eq!(attribute(&span, "rpc.method").as_deref(), Some("_OTHER"));
    assert_eq!(attribute(&span, "rpc.method_original").unwrap(), "é".repeat(64));
    assert_eq!(attribute(&span, "jsonrpc.request.id"), None);
}

// OBS-X-03, OBS-C-05
#[tokio::test]
async fn a_batch_has_a_span_and_each_entry_one_below_it() {
    let traced = Traced::new(Tracing::builder());
    let own = "00-11111111111111111111111111111111-2222222222222222-01";
    let other = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"fail","metadata":{{"traceparent":"{own}"}}}}"#);
    let batch = format!("[{},{other}]", message("echo"));
    traced.exchange(&batch, &[("traceparent", traceparent("01"))]).await;
    let (batch, echo, fail) = (traced.span("jsonrpc batch"), traced.span("echo"), traced.span("fail"));
    assert_eq!(batch.parent_span_id.to_string(), PARENT);
    assert_eq!(attribute(&batch, "jsonrpc.batch.size").as_deref(), Some("2"));
    assert!(is_below(&echo, &batch));
    // An entry with a trace of its own belongs there, and is linked to its batch.
    assert_eq!(fail.parent_span_id.to_string(), "2222222222222222");
    assert_eq!(fail.links.links[0].span_context.span_id(), batch.span_context.span_id());
}

// OBS-C-04
#[tokio::test]
async fn a_message_with_another_trace_than_its_request_is_linked_to_that() {
    let traced = Traced::new(Tracing::builder());
    let own = "00-11111111111111111111111111111111-2222222222222222-01";
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","metadata":{{"traceparent":"{own}"}}}}"#);
    traced.exchange(&text, &[("traceparent", traceparent("01"))]).await;
    let span = traced.span("echo");
    assert_eq!(span.parent_span_id.to_string(), "2222222222222222");
    let links: Vec<_> = span.links.links.iter().map(|link| link.span_context.span_id().to_string()).collect();
    assert_eq!(links, [PARENT]);
}

// OBS-T-01, OBS-C-06
#[tokio::test]
async fn a_wrong_context_begins_a_trace_and_fails_nothing() {
    let traced = Traced::new(Tracing::builder());
    for wrong in ["", "nonsense", "00-00000000000000000000000000000000-0000000000000000-01"] {
        traced.exchange(&message("echo"), &[("traceparent", wrong.to_owned())]).await;
    }
    let spans = traced.spans();
    assert_eq!(spans.len(), 3);
    assert!(spans.iter().all(|span| span.parent_span_id == opentelemetry::trace::SpanId::INVALID));
}

// OBS-C-03
#[tokio::test]
async fn a_member_of_the_message_names_the_trace_too() {
    let traced = Traced::new(Tracing::builder());
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","traceparent":"{}"}}"#, traceparent("01"));
    traced.exchange(&text, &[]).await;
    assert_eq!(traced.span("echo").parent_span_id.to_string(), PARENT);
}

// OBS-T-05
#[tokio::test]
async fn callers_that_are_not_trusted_begin_a_trace_that_is_linked_to_theirs() {
    for trust in [TraceTrust::Never, TraceTrust::Local] {
        let never = TraceSampler::ratio(0.0);
        let unrecorded = Traced::new(Tracing::builder().with_trust(trust).with_sampler(never));
        unrecorded.exchange(&message("echo"), &[("traceparent", traceparent("01"))]).await;
        assert_eq!(unrecorded.spans(), []);

        let traced = Traced::new(Tracing::builder().with_trust(trust));
        traced.exchange(&message("echo"), &[("traceparent", traceparent("01"))]).await;
        let span = traced.span("echo");
        assert_ne!(span.span_context.trace_id().to_string(), TRACE);
        assert_eq!(span.links.links[0].span_context.trace_id().to_string(), TRACE);
    }
}

#[tokio::test]
async fn a_caller_that_does_not_record_its_trace_is_not_recorded() {
    let traced = Traced::new(Tracing::builder());
    traced.exchange(&message("echo"), &[("traceparent", traceparent("00"))]).await;
    assert_eq!(traced.spans(), []);
}

// OBS-T-06
#[tokio::test]
async fn baggage_becomes_attributes_only_under_names_that_were_chosen() {
    let traced = Traced::new(Tracing::builder().with_baggage(["session.id"]));
    let metadata = [("baggage", "session.id=chat%207,secret=x".to_owned())];
    traced.exchange(&message("echo"), &metadata).await;
    let span = traced.span("echo");
    assert_eq!(attribute(&span, "session.id").as_deref(), Some("chat 7"));
    assert_eq!(attribute(&span, "secret"), None);
    let wary = Traced::new(Tracing::builder().with_baggage(["session.id"]).with_trust(TraceTrust::Local));
    wary.exchange(&message("echo"), &metadata).await;
    assert_eq!(attribute(&wary.span("echo"), "session.id"), None);
}

/// A server over these URLs whose calls are traced.
async fn serve(traced: &Traced, service: impl Service, url: &str) -> String {
    let service = traced.tracing.layer(Arc::new(service));
    let mut server = Server::new(service).with_settings(traced.settings());
    server.listen(url).await.unwrap();
    let url = server.urls().next().unwrap();
    tokio::spawn(server.serve());
    url
}

/// A client that answers calls of its server.
async fn client(traced: &Traced, url: &str) -> Peer {
    let own = Router::builder().method("name", |(): (), _| Ok::<_, ErrorObject>("Ann")).build().unwrap();
    let dial = Dial::new(url).unwrap().with_service(own).with_settings(traced.settings());
    let peer = dial.connect().await.unwrap();
    traced.tracing.peer(peer)
}

// OBS-C-01, OBS-C-02, OBS-R-01, OBS-R-10
#[tokio::test]
async fn the_span_of_a_server_is_below_that_of_its_client_over_every_transport() {
    for url in ["http://127.0.0.1:0", "ws://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        let (near, far) = (Traced::new(Tracing::builder()), Traced::new(Tracing::builder()));
        let url = serve(&far, router(), url).await;
        let peer = client(&near, &url).await;
        assert_eq!(peer.call::<[i32; 1]>("echo", [1]).await.unwrap(), [1]);
        assert!(is_below(&far.span("echo"), &near.span("echo")), "{url}");
        let items: Vec<_> = peer.stream::<u8>("count", ()).await.unwrap().collect().await;
        assert_eq!(items.len(), 3);
        assert!(is_below(&far.span("count"), &near.span("count")), "{url}");
        assert!(peer.call::<()>("fail", ()).await.is_err());
        assert_eq!(attribute(&near.span("fail"), "error.type").as_deref(), Some("-7"));
    }
}

// OBS-C-02
#[tokio::test]
async fn what_a_method_calls_at_its_caller_belongs_to_its_trace() {
    let (near, far) = (Traced::new(Tracing::builder()), Traced::new(Tracing::builder()));
    let url = serve(&far, router(), "ws://127.0.0.1:0").await;
    let peer = client(&near, &url).await;
    assert_eq!(peer.call::<String>("ask", ()).await.unwrap(), "Ann");
    let (asked, answered) = (near.span("ask"), near.span("name"));
    let (ask, name) = (far.span("ask"), far.span("name"));
    assert!(is_below(&ask, &asked) && is_below(&name, &ask) && is_below(&answered, &name));
}

// OBS-C-02, OBS-R-10
#[tokio::test]
async fn what_a_stream_calls_while_it_goes_on_is_below_its_span() {
    let (near, far) = (Traced::new(Tracing::builder()), Traced::new(Tracing::builder()));
    let url = serve(&far, router(), "ws://127.0.0.1:0").await;
    let peer = client(&near, &url).await;
    let items: Vec<_> = peer.stream::<String>("asks", ()).await.unwrap().collect().await;
    assert_eq!(items[0].as_deref(), Ok("Ann"));
    let (asked, answered) = (near.span("asks"), near.span("name"));
    let (asks, name) = (far.span("asks"), far.span("name"));
    assert!(is_below(&asks, &asked) && is_below(&name, &asks) && is_below(&answered, &name));
}

// OBS-C-01, OBS-C-02, OBS-R-10
#[tokio::test]
async fn a_proxy_is_part_of_the_trace_of_calls_and_streams() {
    for (front, back) in [("http", "tcp"), ("ws", "http"), ("tcp", "ws")] {
        let [near, middle, far] = [(); 3].map(|()| Traced::new(Tracing::builder()));
        let upstream = serve(&far, router(), &format!("{back}://127.0.0.1:0")).await;
        let upstream = middle.tracing.peer(switchboard_transport::connect(&upstream).await.unwrap());
        let url = serve(&middle, Forward::new(upstream), &format!("{front}://127.0.0.1:0")).await;
        let peer = client(&near, &url).await;
        assert_eq!(peer.call::<[i32; 1]>("echo", [1]).await.unwrap(), [1]);
        assert_eq!(peer.stream::<u8>("count", ()).await.unwrap().count().await, 3);
        for method in ["echo", "count"] {
            let spans = middle.spans();
            let of_kind =
                |kind| spans.iter().find(|span| span.span_kind == kind && span.name == method).unwrap();
            let (server, client) = (of_kind(SpanKind::Server), of_kind(SpanKind::Client));
            assert!(
                is_below(server, &near.span(method)) && is_below(client, server),
                "{method} {front} {back}"
            );
            assert!(is_below(&far.span(method), client), "{method} {front} {back}");
        }
    }
}

/// An exporter that waits until it is released.
#[derive(Debug)]
struct Stuck {
    released: Mutex<Receiver<()>>,
    exporter: InMemorySpanExporter,
}

impl SpanExporter for Stuck {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let _ = self.released.lock().unwrap().recv();
        self.exporter.export(batch).await
    }
}

#[tokio::test]
async fn calls_do_not_wait_for_a_collector_and_spans_that_it_does_not_take_are_dropped() {
    let (release, released) = mpsc::channel();
    let exporter = InMemorySpanExporter::default();
    let stuck = Stuck { released: Mutex::new(released), exporter: exporter.clone() };
    let traced = Traced { tracing: Tracing::builder().start(stuck), exporter };
    let engine = Engine::new(Arc::new(router()), traced.settings());
    for _ in 0..20_000 {
        engine.exchange(message("echo"), &Context::default()).await;
    }
    drop(release);
    // As many as fit into the queue, and those that were being sent.
    let kept = traced.spans().len();
    assert!((2_048..4_096).contains(&kept), "{kept}");
}

// OBS-T-05
#[tokio::test]
async fn what_is_not_recorded_here_is_not_recorded_further_on() {
    let never = Tracing::builder().with_sampler(TraceSampler::ratio(0.0));
    let (near, far) = (Traced::new(never), Traced::new(Tracing::builder()));
    let url = serve(&far, router(), "http://127.0.0.1:0").await;
    client(&near, &url).await.call::<[i32; 1]>("echo", [1]).await.unwrap();
    assert_eq!((near.spans().len(), far.spans().len()), (0, 0));
}

// OBS-R-05
#[tokio::test]
async fn a_call_that_its_caller_gives_up_is_cancelled() {
    let near = Traced::new(Tracing::builder());
    let forever = Router::builder().async_method("echo", async |(): (), _: Context| {
        std::future::pending::<()>().await;
        Ok::<_, ErrorObject>(())
    });
    let peer = near.tracing.peer(Peer::local(forever.build().unwrap()));
    let call = peer.call::<()>("echo", ());
    drop(
        tokio::spawn(async move { futures_util::poll!(std::pin::pin!(call.into_future())).is_pending() })
            .await,
    );
    assert_eq!(attribute(&near.span("echo"), "error.type").as_deref(), Some("cancelled"));
}
