//! Health checks of a server: by a call, or by connecting.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use switchboard_core::{Call, CallError, Json, Outcome, Service};
use switchboard_transport::Dial;

use crate::pool::Probe;
use crate::verdict::Failure;

/// Checks a server by calling a method without params. Any answer shows that it is alive, except those that a failing server gives.
pub struct CallProbe {
    server: Arc<dyn Service>,
    method: String,
}

impl CallProbe {
    /// Calls this method.
    pub fn new(server: impl Service, method: impl Into<String>) -> CallProbe {
        CallProbe { server: Arc::new(server), method: method.into() }
    }
}

impl Probe for CallProbe {
    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<Option<Json>, String>> + Send>> {
        let reply = self.server.call(&Call::new(self.method.as_str(), None).repeatable());
        Box::pin(async move {
            let reply = reply.await;
            let has_failed = Failure::of(&reply).is_some();
            match reply.outcome {
                Outcome::Value(value) => Ok(Some(value)),
                Outcome::Error(error) if has_failed => Err(CallError::from(error).to_string()),
                _ => Ok(None),
            }
        })
    }
}

impl fmt::Debug for CallProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallProbe").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Checks a server by connecting to it, without saying anything.
#[derive(Debug)]
pub struct ConnectProbe(Dial);

impl ConnectProbe {
    /// Connects like this.
    #[must_use]
    pub fn new(dial: Dial) -> ConnectProbe {
        ConnectProbe(dial)
    }
}

impl Probe for ConnectProbe {
    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<Option<Json>, String>> + Send>> {
        let dial = self.0.clone();
        Box::pin(async move { dial.raw().await.map(|_| None).map_err(|error| error.to_string()) })
    }
}
