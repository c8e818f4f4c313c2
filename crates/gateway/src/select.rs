//! A layer for some of the calls.

use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, Layer, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};

/// A layer for calls that a function selects; all others go around it.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Call, Router};
/// use switchboard_gateway::{Breaker, Selected};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let is_report = |call: &Call| call.method.as_str().starts_with("report/");
/// let service = Router::builder().build()?.layered(Selected::new(is_report, Breaker::default()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Selected<F, L> {
    is_selected: F,
    layer: L,
    reason: &'static str,
}

impl<F, L> Selected<F, L>
where
    F: Fn(&Call) -> bool + Clone + Send + Sync + 'static,
    L: Layer,
{
    /// Puts the layer around the calls for which this holds.
    pub fn new(is_selected: F, layer: L) -> Selected<F, L> {
        Selected { is_selected, layer, reason: "not for this call" }
    }

    /// Sets why it is not around other calls, for explanations.
    #[must_use]
    pub fn or_because(mut self, reason: &'static str) -> Selected<F, L> {
        self.reason = reason;
        self
    }
}

impl<F, L> Layer for Selected<F, L>
where
    F: Fn(&Call) -> bool + Clone + Send + Sync + 'static,
    L: Layer,
{
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        let layered = self.layer.layer(Arc::clone(&service));
        Arc::new(Fork { is_selected: self.is_selected.clone(), layered, service })
    }
}

impl<F, L> Explain for Selected<F, L>
where
    F: Fn(&Call) -> bool + Send + Sync + 'static,
    L: Explain,
{
    fn name(&self) -> &'static str {
        self.layer.name()
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        if (self.is_selected)(call) {
            return self.layer.explain(call, steps);
        }
        steps.push(Step::new(self.name(), "not used", self.reason));
        ControlFlow::Continue(())
    }
}

struct Fork<F> {
    is_selected: F,
    layered: Arc<dyn Service>,
    service: Arc<dyn Service>,
}

impl<F: Fn(&Call) -> bool + Send + Sync + 'static> Service for Fork<F> {
    fn call(&self, call: &Call) -> ReplyFuture {
        match (self.is_selected)(call) {
            true => self.layered.call(call),
            false => self.service.call(call),
        }
    }
}
