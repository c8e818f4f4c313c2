//! Spans of the calls that are made to a peer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Poller, Poll, ready};

use futures_core::Stream;
use opentelemetry::trace::SpanKind;
use switchboard_core::{
    AllowedNames, Call, CallError, Code, ErrorObject, Items, Json, Name, Outcome, Peer, Remote, Reply,
    ReplyFuture, Service, TraceContext, Version,
};
use tokio::time::Instant;

use super::Tracing;
use super::span::Span;

impl Tracing {
    /// A peer whose calls have spans. They continue the trace of the call that they are made for: one that is
    /// [forwarded](switchboard_core::Forward), or that of [`Peer::within`].
    #[must_use]
    pub fn peer(&self, peer: Peer) -> Peer {
        self.peer_below(peer, None)
    }

    /// A peer whose calls have spans, below this one if they are not made for another call.
    pub(super) fn peer_below(&self, peer: Peer, parent: Option<TraceContext>) -> Peer {
        Peer::new(TracedPeer { tracing: self.clone(), peer, parent })
    }
}

struct TracedPeer {
    tracing: Tracing,
    peer: Peer,
    parent: Option<TraceContext>,
}

impl TracedPeer {
    /// The call with the context of its span, and that span if it is recorded.
    fn traced(&self, call: &Call) -> (Call, Option<CallSpan>) {
        let parent = TraceContext::of(&call.cx.outgoing_metadata(&AllowedNames::default())).or(self.parent);
        let span = self.tracing.child(parent);
        let mut call = call.clone();
        call.cx.send_trace(span);
        let method = span.is_sampled().then(|| call.method.detached());
        let record = method.map(|method| CallSpan {
            tracing: self.tracing.clone(),
            method,
            version: call.cx.version,
            span,
            parent,
            began: Instant::now(),
            is_over: false,
        });
        (call, record)
    }
}

impl Service for TracedPeer {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (call, span) = self.traced(call);
        let reply = Service::call(&self.peer, &call);
        match span {
            Some(span) => ReplyFuture::pending(async move { span.see(reply.await) }),
            None => reply,
        }
    }
}

impl Remote for TracedPeer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (calls, spans): (Vec<_>, Vec<_>) = calls.iter().map(|call| self.traced(call)).unzip();
        let replies = Remote::batch(&self.peer, calls);
        Box::pin(async move {
            let replies = replies.await.into_iter().zip(spans);
            let seen = replies.map(|(reply, span)| match span {
                Some(span) => span.see(reply),
                None => reply,
            });
            seen.collect()
        })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Remote::closed(&self.peer)
    }

    fn wrapped(&self) -> Option<&Peer> {
        Some(&self.peer)
    }
}

/// The span of a call. Dropping it before the reply, or before the end of its stream, ends it as cancelled.
struct CallSpan {
    tracing: Tracing,
    method: Name,
    version: Version,
    span: TraceContext,
    parent: Option<TraceContext>,
    began: Instant,
    is_over: bool,
}

impl CallSpan {
    /// Ends with this reply, or with its stream.
    fn see(mut self, reply: Reply) -> Reply {
        match &reply.outcome {
            Outcome::Value(_) => self.end(None, None),
            Outcome::Error(error) => self.fail(error),
            Outcome::Stream(_) => {
                return reply.map_items(|items| items.through(|items| TracedItems { items, span: self }));
            }
        }
        reply
    }

    fn fail(&mut self, error: &ErrorObject) {
        // What failed on this side has a word instead of a code that nobody sent.
        let word = match error.code {
            _ if !error.is_local() => None,
            Code::TIMED_OUT => Some("timeout"),
            Code::CANCELLED => Some("cancelled"),
            _ => Some("connection_closed"),
        };
        self.end(Some(error.code), word);
    }

    fn end(&mut self, code: Option<Code>, word: Option<&'static str>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        // A client calls methods of its own choice, so their names are bounded.
        let name = self.method.as_str().to_owned();
        let record = Span::new(name, SpanKind::Client, self.span, self.began.elapsed());
        let record = record.below(self.parent, false).method(Some(self.method.as_str()), &self.method);
        self.tracing.export(record.request(None, self.version).failed(code, word));
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        self.end(None, Some("cancelled"));
    }
}

/// A stream whose end is that of a span.
struct TracedItems {
    items: Items,
    span: CallSpan,
}

impl Stream for TracedItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(Pin::new(&mut self.items).poll_next(cx));
        match &item {
            Some(Err(error)) if error.gap().is_none() => self.span.fail(error),
            None => self.span.end(None, None),
            _ => {}
        }
        Poll::Ready(item)
    }
}
