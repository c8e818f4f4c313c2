//! A stack of middleware that is replaced while the server runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use switchboard::identity::Authentication;
use switchboard::{Admission, AdmitFuture, Arrival, Call, ReplyFuture, Service};

/// The methods with the middleware in front of them, and who is admitted.
pub(crate) struct Stack {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) authentication: Option<Authentication>,
}

/// The stack in use. Calls in progress finish with the one they started with.
#[derive(Clone)]
pub(crate) struct Live(Arc<ArcSwap<Stack>>);

impl Live {
    pub(crate) fn new(stack: Stack) -> Live {
        Live(Arc::new(ArcSwap::from_pointee(stack)))
    }

    /// Uses another stack from now on.
    pub(crate) fn replace(&self, stack: Stack) {
        self.0.store(Arc::new(stack));
    }
}

impl Service for Live {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.0.load().service.call(call)
    }
}

impl Admission for Live {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        match &self.0.load().authentication {
            Some(authentication) => authentication.admit(arrival),
            None => AdmitFuture::admitted(arrival.cx().clone()),
        }
    }
}
