//! Faults on purpose, to see how callers bear them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, CallError, Code, ErrorObject, Layer, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};

use crate::explain::percent;

/// Makes calls slow, or makes them fail.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// Delays calls by this time.
    pub delay: Option<Duration>,
    /// Answers with this error, without calling the upstream.
    pub error: Option<Code>,
    /// Fails as if the connection broke after the call was sent: the upstream gets it, the caller no result.
    pub cut: bool,
    /// The share of the calls: all.
    pub traffic: f64,
}

impl Default for Fault {
    fn default() -> Fault {
        Fault { delay: None, error: None, cut: false, traffic: 1.0 }
    }
}

impl Fault {
    /// Sets the [delay](Fault::delay).
    #[must_use]
    pub fn with_delay(mut self, delay: Option<Duration>) -> Fault {
        self.delay = delay;
        self
    }

    /// Sets the [error](Fault::error).
    #[must_use]
    pub fn with_error(mut self, error: Option<Code>) -> Fault {
        self.error = error;
        self
    }

    /// Sets whether calls are [cut](Fault::cut) off.
    #[must_use]
    pub fn with_cut(mut self, cut: bool) -> Fault {
        self.cut = cut;
        self
    }

    /// Sets the share of the calls that have the fault.
    #[must_use]
    pub fn with_traffic(mut self, traffic: f64) -> Fault {
        self.traffic = traffic;
        self
    }

    async fn call(self, service: Arc<dyn Service>, call: Call) -> Reply {
        if let Some(delay) = self.delay {
            tokio::time::sleep(delay).await;
        }
        if let Some(code) = self.error {
            return Reply::error(ErrorObject::from_code(code));
        }
        let reply = service.call(&call).await;
        match self.cut {
            false => reply,
            true => Reply::error(CallError::Closed("cut off by a fault rule".into()).into()),
        }
    }
}

impl Layer for Fault {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Faulty { fault: *self, service })
    }
}

impl Explain for Fault {
    fn name(&self) -> &'static str {
        "fault"
    }

    fn explain(&self, _: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let delay = self.delay.map(|delay| format!("delayed by {delay:?}"));
        let error = self.error.map(|code| format!("refused with {code}"));
        let cut = self.cut.then(|| "cut off after they were sent".to_owned());
        let all: Vec<String> = [delay, error, cut].into_iter().flatten().collect();
        let detail = format!("{} of the calls are {}", percent(self.traffic), all.join(" and "));
        steps.push(Step::new(self.name(), "on", detail));
        match self.error {
            Some(code) if self.traffic >= 1.0 => {
                ControlFlow::Break(Conclusion::Refused(ErrorObject::from_code(code)))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Faulty {
    fault: Fault,
    service: Arc<dyn Service>,
}

impl Service for Faulty {
    fn call(&self, call: &Call) -> ReplyFuture {
        if fastrand::f64() >= self.fault.traffic {
            return self.service.call(call);
        }
        ReplyFuture::pending(self.fault.call(Arc::clone(&self.service), call.clone()))
    }
}
