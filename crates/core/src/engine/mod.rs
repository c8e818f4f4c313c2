//! The engine: the one place that decodes messages, starts calls, runs batches, limits their time, cancels them, decides
//! how they ended and reports it: hops ② to ⑥ of every call, on any transport.
//!
//! It consists of plain values without a task, a channel or a socket. Two owners drive it:
//!
//! - [`Exchange`]: one input and its answer, as a whole or in parts ([`Outputs`]). An HTTP POST, a request over a message
//!   queue.
//! - [`Connection`](crate::Connection): many inputs and one sink. Every duplex transport.
//!
//! A call that is ready at once is decoded in place and answered into the owner's buffer. Everything else leaves that
//! path through a function that is not inlined.

mod admit;
mod assembly;
mod batch;
mod begin;
mod cancel;
mod exchange;
mod job;
mod observed;
mod outcome;
mod outlet;
mod outputs;
mod running;
mod running_entries;
mod session_inputs;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::assembly::EntryOutcome;
pub(crate) use self::batch::{Batch, Stop};
pub(crate) use self::begin::{Start, complete};
pub(crate) use self::cancel::CancelFlag;
pub use self::exchange::{Answer, Exchange};
pub(crate) use self::observed::{ObservedCall, ObservedStart};
pub(crate) use self::outcome::{ReplyLimit, end_of_notification, respond, respond_with, too_large, within};
pub(crate) use self::outlet::Outlet;
pub use self::outputs::{Cause, Delivery, First, Output, Outputs};
pub(crate) use self::running::{Running, Streaming, moment_after};
use crate::name::Name;
use crate::profile::{Profile, Settings};
use crate::service::Service;

/// A service and its settings, shared by all sessions of one endpoint. Cheap to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::{Context, Engine, ErrorObject, Router, Settings};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let add = |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b);
/// let router = Router::builder().method("add", add).build()?;
/// let engine = Engine::new(Arc::new(router), Settings::default());
///
/// let body = r#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#;
/// let answer = engine.exchange(body, &Context::default()).await;
/// assert!(answer.body().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) settings: Arc<Settings>,
    control: ControlNames,
}

/// The names of methods that are for the session itself, by their first bytes: each is the bit of its last six bits.
#[derive(Clone, Copy)]
pub(crate) struct ControlNames(u64);

impl ControlNames {
    /// Whether the method may be one of them. Their first bytes rule out nearly all others.
    #[inline(always)]
    pub(crate) fn may_have(self, method: &Name) -> bool {
        self.0 & first_bit(method) != 0
    }
}

impl Engine {
    /// An engine for this service.
    #[must_use]
    pub fn new(service: Arc<dyn Service>, settings: impl Into<Arc<Settings>>) -> Engine {
        let settings = settings.into();
        let Profile { cancel, streams, progress, .. } = &settings.profile;
        let names = [&cancel.method, &streams.unsubscribe, &streams.item, &streams.end, &progress.method];
        // An empty name has no first byte to be found by.
        let bit = |name: &Name| if name.as_bytes().is_empty() { u64::MAX } else { first_bit(name) };
        let control = names.into_iter().fold(0, |bits, name| bits | bit(name));
        Engine { service, settings, control: ControlNames(control) }
    }

    #[inline(always)]
    pub(crate) fn control_names(&self) -> ControlNames {
        self.control
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &Arc<dyn Service> {
        &self.service
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }
}

#[inline(always)]
fn first_bit(name: &Name) -> u64 {
    1 << (name.first_byte() & 63)
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("settings", &self.settings).finish_non_exhaustive()
    }
}
