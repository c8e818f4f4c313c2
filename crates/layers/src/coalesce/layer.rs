//! The layer that lets calls wait for others.

use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, Layer, ReplyFuture, Service};

use super::Coalesce;
use crate::explain::{Conclusion, Explain, Step};
use crate::flights::{Boarded, Departed, Flight, Flights, call_for_all};
use crate::key::{NO_IDENTITY, key_of};

impl Layer for Coalesce {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Coalesced { coalesce: self.clone(), flights: Flights::default(), inner })
    }
}

/// A service behind [`Coalesce`].
struct Coalesced {
    coalesce: Coalesce,
    flights: Flights,
    inner: Arc<dyn Service>,
}

impl Service for Coalesced {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some(key) = self.coalesce.key(call) else { return self.inner.call(call) };
        match self.flights.board(key) {
            Boarded::Follower(flight) => self.wait(flight, call),
            Boarded::First(departure) => {
                match departure.depart(call_for_all(&*self.inner, call), |_, _| ()) {
                    Departed::Landed(reply) => ReplyFuture::ready(reply),
                    Departed::InFlight(flight) => self.wait(flight, call),
                }
            }
        }
    }
}

impl Coalesced {
    fn wait(&self, flight: Arc<Flight>, call: &Call) -> ReplyFuture {
        let (inner, call) = (Arc::clone(&self.inner), call.clone());
        ReplyFuture::pending(async move {
            match flight.answer().await {
                Some(reply) => reply,
                None => inner.call(&call).await,
            }
        })
    }
}

impl Coalesce {
    /// The key of a call. None if it passes.
    fn key(&self, call: &Call) -> Option<Vec<u8>> {
        self.is_meant(call).then(|| key_of(call, self.is_shared, self.forwarded.as_ref())).flatten()
    }

    fn is_meant(&self, call: &Call) -> bool {
        let is_one = !call.is_notification() && !call.cx.wants_stream();
        is_one && self.methods.iter().any(|pattern| pattern.matches(&call.method))
    }
}

impl Explain for Coalesce {
    fn name(&self) -> &'static str {
        "coalesce"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let (outcome, detail) = match (self.key(call), self.is_meant(call)) {
            (Some(_), _) if self.is_shared => ("on", "waits for an equal call in progress of any caller"),
            (Some(_), _) => ("on", "waits for an equal call in progress of the same caller"),
            (None, true) => ("not used", NO_IDENTITY),
            (None, false) => ("not used", "not for notifications, streams and other methods"),
        };
        steps.push(Step::new(self.name(), outcome, detail));
        ControlFlow::Continue(())
    }
}
