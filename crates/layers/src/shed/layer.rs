//! The layer that lets calls wait, or sheds them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use futures_core::Stream;
use switchboard_core::{Call, ErrorObject, Items, Json, Layer, Reply, ReplyFuture, Service};
use tokio::sync::OwnedSemaphorePermit;

use super::gate::{Gate, Shed};
use super::{Shedding, State};
use crate::audit::{AuditEvent, AuditKind};
use crate::over_limit;

impl Layer for Shedding {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Gated { state: Arc::clone(&self.0), inner })
    }
}

/// A service behind [`Shedding`].
struct Gated {
    state: Arc<State>,
    inner: Arc<dyn Service>,
}

/// The places that a running call takes.
#[derive(Default)]
struct Places {
    methods: Vec<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

impl Service for Gated {
    fn call(&self, call: &Call) -> ReplyFuture {
        let method = call.method.as_str();
        match self.state.try_enter(method) {
            Some(places) => run(&*self.inner, call, places, self.state.options.holds_streams),
            None => self.wait(call),
        }
    }
}

impl Gated {
    #[inline(never)]
    fn wait(&self, call: &Call) -> ReplyFuture {
        let (state, inner, call) = (Arc::clone(&self.state), Arc::clone(&self.inner), call.clone());
        ReplyFuture::pending(async move {
            match state.enter(&call).await {
                Ok(places) => run(&*inner, &call, places, state.options.holds_streams).await,
                Err(shed) => state.shed(&call, shed),
            }
        })
    }
}

impl State {
    /// The limits that are about a method, in the order in which their places are taken.
    fn gates<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Arc<Gate>> {
        let limits = self.options.methods.iter().zip(&self.methods);
        limits
            .filter(move |(limit, _)| limit.methods.iter().any(|pattern| pattern.matches(method)))
            .map(|(_, gate)| gate)
    }

    /// All places that a call needs, if they are free.
    fn try_enter(&self, method: &str) -> Option<Places> {
        let methods = self.gates(method).map(|gate| gate.try_enter()).collect::<Option<Vec<_>>>()?;
        Some(Places { methods, _all: Some(self.all.try_enter()?) })
    }

    async fn enter(&self, call: &Call) -> Result<Places, Shed> {
        let (mut places, deadline) = (Places::default(), call.cx.deadline);
        for gate in self.gates(call.method.as_str()) {
            places.methods.push(gate.enter(deadline).await?);
        }
        places._all = Some(self.all.enter(deadline).await?);
        Ok(places)
    }

    fn shed(&self, call: &Call, shed: Shed) -> Reply {
        let event = AuditEvent::new(AuditKind::SHED).by(&call.cx).method(call.method.as_str());
        self.audit.record(&event.reason(shed.reason()));
        over_limit::reply("load", "the server is busy; try again later", 503, self.options.retry_after)
    }
}

/// Runs a call, and gives its places back when it is answered, or when its stream ends.
fn run(inner: &dyn Service, call: &Call, places: Places, holds_streams: bool) -> ReplyFuture {
    inner.call(call).map(move |reply| match holds_streams {
        true => reply.map_items(|items| items.through(|items| Held { items, _places: places })),
        false => reply,
    })
}

/// The items of a stream that counts as running.
struct Held {
    items: Items,
    _places: Places,
}

impl Stream for Held {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.items).poll_next(cx)
    }
}
