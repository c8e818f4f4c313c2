//! A span as it is exported.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, StringValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use switchboard_core::observer::End;
use switchboard_core::{Code, Context, Id, Name, TraceContext, Version};

use super::baggage;

/// Bytes of a text that a caller chose.
const TEXT: usize = 128;

/// A span in the making, with the names of OpenTelemetry's conventions for JSON-RPC (OBS-R).
pub(super) struct Span(SpanData);

impl Span {
    /// A span that ends now.
    pub(super) fn new(
        name: impl Into<Cow<'static, str>>,
        kind: SpanKind,
        span: TraceContext,
        duration: Duration,
    ) -> Span {
        let end_time = SystemTime::now();
        Span(SpanData {
            span_context: span_context(span, false),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: kind,
            name: name.into(),
            start_time: end_time.checked_sub(duration).unwrap_or(end_time),
            end_time,
            attributes: vec![KeyValue::new("rpc.system.name", "jsonrpc")],
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: scope(),
        })
    }

    /// The span that it was made for. If that is one of another trace, it is linked.
    pub(super) fn below(mut self, parent: Option<TraceContext>, is_remote: bool) -> Span {
        match parent {
            None => self,
            Some(parent) if TraceId::from_bytes(parent.trace) == self.0.span_context.trace_id() => {
                self.0.parent_span_id = SpanId::from_bytes(parent.span);
                self.0.parent_span_is_remote = is_remote;
                self
            }
            Some(other) => self.linked(other),
        }
    }

    /// Another span that has to do with it.
    pub(super) fn linked(mut self, other: TraceContext) -> Span {
        self.0.links.links.push(Link::with_context(span_context(other, true)));
        self
    }

    fn with(mut self, name: &'static str, value: impl Into<opentelemetry::Value>) -> Span {
        self.0.attributes.push(KeyValue::new(name, value));
        self
    }

    /// The method: a known one by its name, any other as such (OBS-R-03).
    pub(super) fn method(self, known: Option<&str>, method: &Name) -> Span {
        match known {
            Some(known) => self.with("rpc.method", known.to_owned()),
            None => self.with("rpc.method", "_OTHER").with("rpc.method_original", shortened(method.as_str())),
        }
    }

    /// The identifier, if there is one that says something, and the version (OBS-R-04).
    pub(super) fn request(self, id: Option<&Id>, version: Version) -> Span {
        let span = match version {
            Version::V1 => self,
            Version::V2 => self.with("jsonrpc.protocol.version", "2.0"),
        };
        match id.filter(|id| **id != Id::NULL) {
            Some(id) => {
                let text = id.to_string();
                span.with("jsonrpc.request.id", shortened(text.trim_matches('"')))
            }
            None => span,
        }
    }

    /// How many entries a batch has.
    pub(super) fn batch(self, entries: usize) -> Span {
        self.with("jsonrpc.batch.size", i64::try_from(entries).unwrap_or(i64::MAX))
    }

    /// Where the caller is, and who it is (OBS-R-06).
    pub(super) fn of_caller(self, cx: &Context) -> Span {
        let origin = cx.origin();
        let mut span = self.network(origin.transport);
        if let Some(address) = origin.address {
            span = span.with("network.peer.address", address.ip().to_string());
            span = span.with("network.peer.port", i64::from(address.port()));
        }
        #[cfg(feature = "identity")]
        {
            use switchboard_core::FromContext as _;
            if let Some(identity) = crate::identity::Identity::from_context(cx) {
                span = span.with("enduser.id", shortened(&identity.subject));
            }
        }
        span
    }

    fn network(self, transport: &str) -> Span {
        let (below, protocol) = match transport {
            "http" | "https" => ("tcp", Some("http")),
            "ws" | "wss" => ("tcp", Some("websocket")),
            "nats" => ("tcp", Some("nats")),
            "tcp" | "tls" => ("tcp", None),
            "unix" => ("unix", None),
            "stdio" | "child" => ("pipe", None),
            _ => return self,
        };
        let span = self.with("network.transport", below);
        match protocol {
            Some(protocol) => span.with("network.protocol.name", protocol),
            None => span,
        }
    }

    /// What the caller says about the conversation that the call belongs to.
    pub(super) fn baggage(mut self, cx: &Context, keys: &[String]) -> Span {
        let Some(text) = cx.metadata().text("baggage").filter(|_| !keys.is_empty()) else { return self };
        for (key, value) in baggage::members(text) {
            if keys.iter().any(|wanted| wanted == key) {
                self.0.attributes.push(KeyValue::new(key.to_owned(), shortened(&value)));
            }
        }
        self
    }

    /// How the call ended (OBS-R-05).
    pub(super) fn end(self, end: End) -> Span {
        let word = match end {
            End::TimedOut => Some("timeout"),
            End::Cancelled => Some("cancelled"),
            End::Panicked => Some("panic"),
            End::Abandoned => Some("connection_closed"),
            _ => None,
        };
        self.failed(end.failure(), word)
    }

    /// A failure with this code, or of this kind. Neither is none at all.
    pub(super) fn failed(self, code: Option<Code>, word: Option<&'static str>) -> Span {
        let text = code.map(|code| code.0.to_string());
        let span = match &text {
            // The second name is that of the versions that are released.
            Some(code) => {
                self.with("rpc.status_code", code.clone()).with("rpc.response.status_code", code.clone())
            }
            None => self,
        };
        match (word, text) {
            (Some(word), _) => span.error(word.into()),
            (None, Some(code)) => span.error(code.into()),
            (None, None) => span,
        }
    }

    fn error(mut self, kind: StringValue) -> Span {
        self.0.status = Status::error("");
        self.with("error.type", kind)
    }

    pub(super) fn finish(self) -> SpanData {
        self.0
    }
}

fn span_context(span: TraceContext, is_remote: bool) -> SpanContext {
    let flags = TraceFlags::new(span.flags);
    SpanContext::new(
        TraceId::from_bytes(span.trace),
        SpanId::from_bytes(span.span),
        flags,
        is_remote,
        TraceState::NONE,
    )
}

fn scope() -> InstrumentationScope {
    static SCOPE: std::sync::LazyLock<InstrumentationScope> = std::sync::LazyLock::new(|| {
        InstrumentationScope::builder("switchboard").with_version(env!("CARGO_PKG_VERSION")).build()
    });
    SCOPE.clone()
}

/// A text of a caller, of bounded length.
fn shortened(text: &str) -> String {
    let end = (0..=TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text[..end.unwrap_or(0)].to_owned()
}
