//! Distributed traces: a span for each call, for OpenTelemetry.
//!
//! [`Tracing`] begins and ends spans in three roles:
//!
//! - as an [observer](switchboard_core::observer::Observer), for the calls of a server: a span covers what its caller saw, a stream to its last item.
//!   A batch has a span, and each entry one below it.
//! - as a wrapper of a [peer](Tracing::peer), for the calls that are made to it.
//! - as a [layer](switchboard_core::Layer), for calls back to the caller: what a method calls with `cx.peer()` is part of its trace.
//!
//! The context of a trace travels in the metadata of a call: over HTTP in the headers `traceparent` and `tracestate`, elsewhere in the member
//! `metadata` of a message. A member `traceparent` of the message is read too. Calls that a method makes with
//! [`Peer::within`](switchboard_core::Peer::within), and those that a proxy forwards, continue the trace. If a message and its request or handshake
//! belong to different traces, the span belongs to that of the message, with a link to the other.
//!
//! Spans are named as OpenTelemetry's conventions for JSON-RPC say. They never have params, results, texts of errors, metadata or credentials. They are
//! queued for a thread that exports them, so calls never wait; spans that find the queue full are dropped.

mod baggage;
mod client;
mod export;
mod sampler;
mod span;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanExporter, SpanProcessor};
use switchboard_core::observer::{BatchBegun, BatchEnded, Begun, Ended, Observer, Position};
use switchboard_core::{
    Call, CarrierTrace, Context, Layer, Members, Name, Origin, ReplyFuture, Service, TraceContext,
};

pub use self::sampler::{SamplerError, TraceSampler};
use self::span::Span;
use crate::hashing::{SecretHashing, secret_hashing};

/// Traces calls. Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use opentelemetry_sdk::trace::InMemorySpanExporter;
/// use switchboard_core::{Context, Engine, ErrorObject, Router, Settings};
/// use switchboard_layers::trace::Tracing;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
/// let spans = InMemorySpanExporter::default();
/// let tracing = Tracing::builder().with_methods(["add"]).start(spans.clone());
/// let engine = Engine::new(Arc::new(router), Settings::default().with_observer(Some(tracing.clone().into())));
/// engine.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#, &Context::default()).await;
/// tracing.flush();
/// assert_eq!(spans.get_finished_spans()?[0].name, "add");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Tracing(Arc<Inner>);

struct Inner {
    options: TracingBuilder,
    processor: BatchSpanProcessor,
}

/// Whose traces are continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceTrust {
    /// Those of every caller, recorded if the caller says so.
    #[default]
    Always,
    /// Those of callers on this machine. Other calls begin a trace, with a link to that of their caller.
    Local,
    /// None. Every call begins a trace, with a link to that of its caller.
    Never,
}

/// How [`Tracing`] is started.
#[derive(Clone, Debug)]
pub struct TracingBuilder {
    sampler: TraceSampler,
    trust: TraceTrust,
    methods: HashSet<Box<[u8]>, SecretHashing>,
    baggage: Vec<String>,
    resource: Option<Resource>,
}

/// The span of a batch; in the context of its entries.
#[derive(Clone, Copy)]
struct BatchSpan {
    span: TraceContext,
    parent: Option<TraceContext>,
}

impl Tracing {
    /// Traces every call.
    #[must_use]
    pub fn builder() -> TracingBuilder {
        TracingBuilder {
            sampler: TraceSampler::default(),
            trust: TraceTrust::default(),
            methods: HashSet::with_hasher(secret_hashing()),
            baggage: Vec::new(),
            resource: None,
        }
    }

    /// Exports the spans that are queued. It blocks until that is done, for up to five seconds.
    pub fn flush(&self) {
        let _ = self.0.processor.force_flush();
    }

    /// Exports the spans that are queued, and no more after that. It blocks for up to this long.
    pub fn shut_down(&self, patience: Duration) {
        let _ = self.0.processor.shutdown_with_timeout(patience);
    }

    /// A span below this one; without a parent, the first of a trace.
    fn child(&self, parent: Option<TraceContext>) -> TraceContext {
        self.0.options.sampler.child(parent)
    }

    /// The span of a call that arrives with this context of a trace, from there.
    fn arriving(&self, parent: Option<TraceContext>, origin: &Origin) -> TraceContext {
        self.child(parent.filter(|_| self.0.options.trust.trusts(origin)))
    }

    /// The method as it is named in spans, unless it is one that callers made up.
    fn known<'a>(&self, method: &'a Name) -> Option<&'a str> {
        self.0.options.methods.contains(method.as_bytes()).then(|| method.as_str())
    }

    fn export(&self, span: Span) {
        self.0.processor.on_end(span.finish());
    }
}

impl TracingBuilder {
    /// Decides which traces are recorded. By default, all that callers do not want unrecorded.
    #[must_use]
    pub fn with_sampler(mut self, sampler: TraceSampler) -> TracingBuilder {
        self.sampler = sampler;
        self
    }

    /// Decides whose traces are continued. By default, those of every caller.
    #[must_use]
    pub fn with_trust(mut self, trust: TraceTrust) -> TracingBuilder {
        self.trust = trust;
        self
    }

    /// Names spans after these methods, and all other spans `jsonrpc`, because callers may send any name.
    #[must_use]
    pub fn with_methods<N: AsRef<str>>(mut self, methods: impl IntoIterator<Item = N>) -> TracingBuilder {
        self.methods.extend(methods.into_iter().map(|name| name.as_ref().as_bytes().into()));
        self
    }

    /// Makes these members of the caller's `baggage` attributes of the span, such as `gen_ai.conversation.id` or `session.id`. Only
    /// of [trusted](TracingBuilder::with_trust) callers.
    #[must_use]
    pub fn with_baggage<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> TracingBuilder {
        self.baggage.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Describes this program. By default, as the environment variables `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` do.
    #[must_use]
    pub fn with_resource(mut self, resource: Resource) -> TracingBuilder {
        self.resource = Some(resource);
        self
    }

    /// Starts the thread that exports spans in batches. The environment variables `OTEL_BSP_*` set how many wait and for how long.
    #[must_use]
    pub fn start(mut self, exporter: impl SpanExporter + 'static) -> Tracing {
        let resource = self.resource.take().unwrap_or_else(|| Resource::builder().build());
        let mut processor = BatchSpanProcessor::builder(export::Reporting::new(exporter)).build();
        processor.set_resource(&resource);
        Tracing(Arc::new(Inner { options: self, processor }))
    }
}

impl TraceTrust {
    fn trusts(self, origin: &Origin) -> bool {
        match self {
            TraceTrust::Always => true,
            // Without an address, it is a process of this machine.
            TraceTrust::Local => origin.address.is_none_or(|address| address.ip().is_loopback()),
            TraceTrust::Never => false,
        }
    }
}

impl Observer for Tracing {
    fn batch_begun(&self, cx: &mut Context, _: &BatchBegun) {
        let parent = arrived(cx);
        let span = self.arriving(parent, cx.origin());
        cx.insert(BatchSpan { span, parent });
    }

    fn batch_ended(&self, cx: &Context, batch: &BatchEnded) {
        let Some(BatchSpan { span, parent }) =
            cx.get::<BatchSpan>().copied().filter(|batch| batch.span.is_sampled())
        else {
            return;
        };
        let record = Span::new("jsonrpc batch", SpanKind::Server, span, batch.duration);
        self.export(record.below(parent, true).of_caller(cx).batch(batch.entries));
    }

    fn begun(&self, call: &Begun<'_>) {
        let own = arrived(call.cx);
        let span = match call.cx.get::<BatchSpan>() {
            Some(batch) if own == batch.parent => self.child(Some(batch.span)),
            _ => self.arriving(own, call.cx.origin()),
        };
        call.cx.begin_trace(span);
    }

    fn ended(&self, call: &Ended<'_>) {
        let Some(span) = call.cx.trace().filter(TraceContext::is_sampled) else { return };
        let known = self.known(call.method);
        let record = Span::new(known.unwrap_or("jsonrpc").to_owned(), SpanKind::Server, span, call.duration);
        let own = arrived(call.cx);
        let record = match (call.cx.get::<BatchSpan>(), call.at) {
            (Some(batch), _) if own == batch.parent => record.below(Some(batch.span), false),
            (Some(batch), Position::Entry { .. }) => record.below(own, true).linked(batch.span),
            _ => {
                let carrier = call.cx.get::<CarrierTrace>();
                carrier.into_iter().fold(record.below(own, true), |record, carrier| record.linked(carrier.0))
            }
        };
        let is_trusted = self.0.options.trust.trusts(call.cx.origin());
        let keys = if is_trusted { &self.0.options.baggage[..] } else { &[] };
        let record = record.method(known, call.method).of_caller(call.cx).baggage(call.cx, keys);
        self.export(record.request(call.id, call.cx.version).end(call.end));
    }
}

/// The context of a trace that a call came with (OBS-C-01, OBS-C-02, OBS-C-03).
fn arrived(cx: &Context) -> Option<TraceContext> {
    TraceContext::of(cx.metadata()).or_else(|| {
        let [parent] = cx.get::<Members>()?.0.pick(["traceparent"]);
        let text = parent?;
        // Its characters need no escapes; a longer text is of a later version or wrong.
        TraceContext::parse(text.as_str().get(..256).unwrap_or(text.as_str()).trim_matches('"'))
    })
}

impl Layer for Tracing {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(CallsBack { tracing: self.clone(), inner })
    }
}

/// Makes what a method calls at its caller part of its trace.
struct CallsBack {
    tracing: Tracing,
    inner: Arc<dyn Service>,
}

impl Service for CallsBack {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(span) = call.cx.trace().filter(TraceContext::is_sampled) else {
            return self.inner.call(call);
        };
        let mut call = call.clone();
        let peer = self.tracing.peer_below(call.cx.peer().clone(), Some(span));
        call.cx = call.cx.with_peer(peer);
        self.inner.call(&call)
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").field("options", &self.0.options).finish_non_exhaustive()
    }
}
