//! Load shedding: how many calls run at once, how many wait, and for how long.
//!
//! A call that finds [`running`](ShedOptions::running) calls in progress waits. A call is shed if too many wait already, or if it has waited
//! for too long: it gets -32005 with `data.retryAfterMs`, and over HTTP 503 with `Retry-After`, without having run.
//!
//! How long a call may wait depends on the queue (the idea of CoDel). A queue that becomes empty now and then only evens out a burst, so calls
//! may wait for [`queue_time`](ShedOptions::queue_time). A queue that has not been empty for that long is standing: waiting
//! longer only makes answers late, so calls wait for [`standing_time`](ShedOptions::standing_time) only. Then those that are answered are answered fast.
//!
//! Messages that cancel calls, and responses to calls of the server, are not calls. They never wait here. A call that is cancelled while
//! it waits leaves the queue.
//!
//! A stream counts as running until it begins, because many open streams are idle. Set [`holds_streams`](ShedOptions::holds_streams) if each
//! open stream is work.

mod gate;
mod layer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::gate::Gate;
use crate::Pattern;
use crate::audit::Audit;

/// How many calls run and wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShedOptions {
    /// Calls that run at once: 256.
    pub running: usize,
    /// Calls of some methods that run at once, in addition: no limits.
    pub methods: Vec<MethodLimit>,
    /// Calls that wait at each of these limits: 1024.
    pub queue: usize,
    /// How long a call waits at a limit: 500 ms.
    pub queue_time: Duration,
    /// How long it waits when the queue was not empty for `queue_time`: 20 ms.
    pub standing_time: Duration,
    /// How long callers should wait before they try again: 1 s.
    pub retry_after: Duration,
    /// Whether a stream counts as running until it ends, rather than until it begins: false.
    pub holds_streams: bool,
}

/// How many calls of some methods run at once, all together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MethodLimit {
    /// The methods.
    pub methods: Vec<Pattern>,
    /// How many calls of them run at once.
    pub running: usize,
}

impl Default for ShedOptions {
    fn default() -> ShedOptions {
        ShedOptions {
            running: 256,
            methods: Vec::new(),
            queue: 1024,
            queue_time: Duration::from_millis(500),
            standing_time: Duration::from_millis(20),
            retry_after: Duration::from_secs(1),
            holds_streams: false,
        }
    }
}

impl ShedOptions {
    /// Sets [`running`](ShedOptions::running).
    #[must_use]
    pub fn with_running(mut self, running: usize) -> ShedOptions {
        self.running = running;
        self
    }

    /// Lets so many calls of these methods run at once, all together. A call of a method that several limits match needs room in each.
    #[must_use]
    pub fn with_methods(mut self, methods: impl IntoIterator<Item = Pattern>, running: usize) -> ShedOptions {
        self.methods.push(MethodLimit { methods: methods.into_iter().collect(), running });
        self
    }

    /// Sets [`queue`](ShedOptions::queue).
    #[must_use]
    pub fn with_queue(mut self, queue: usize) -> ShedOptions {
        self.queue = queue;
        self
    }

    /// Sets [`queue_time`](ShedOptions::queue_time).
    #[must_use]
    pub fn with_queue_time(mut self, queue_time: Duration) -> ShedOptions {
        self.queue_time = queue_time;
        self
    }

    /// Sets [`standing_time`](ShedOptions::standing_time).
    #[must_use]
    pub fn with_standing_time(mut self, standing_time: Duration) -> ShedOptions {
        self.standing_time = standing_time;
        self
    }

    /// Sets [`retry_after`](ShedOptions::retry_after).
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Duration) -> ShedOptions {
        self.retry_after = retry_after;
        self
    }

    /// Sets [`holds_streams`](ShedOptions::holds_streams).
    #[must_use]
    pub fn with_holds_streams(mut self, holds_streams: bool) -> ShedOptions {
        self.holds_streams = holds_streams;
        self
    }
}

/// Limits how many calls run and wait. A [`Layer`](switchboard_core::Layer) to put directly around the router, so that calls that other
/// layers refuse do not wait. Cheap to clone; clones share their limits.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Router};
/// use switchboard_layers::shed::{ShedOptions, Shedding};
///
/// let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build()?;
/// let options = ShedOptions::default().with_running(64).with_methods(["report/*".parse()?], 2);
/// let service = router.layered(Shedding::new(options));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Shedding(Arc<State>);

#[derive(Clone)]
struct State {
    options: Arc<ShedOptions>,
    all: Arc<Gate>,
    /// In the order of [`ShedOptions::methods`]. Every call takes its places in this order, and the one at `all` last, so no two
    /// calls wait for each other.
    methods: Vec<Arc<Gate>>,
    audit: Audit,
}

impl Shedding {
    /// Limits calls by these options.
    #[must_use]
    pub fn new(options: ShedOptions) -> Shedding {
        let options = Arc::new(options);
        let gate = |running| Arc::new(Gate::new(running, &options));
        let all = gate(options.running);
        let methods = options.methods.iter().map(|limit| gate(limit.running)).collect();
        Shedding(Arc::new(State { options, all, methods, audit: Audit::default() }))
    }

    /// Records the calls that are shed.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Shedding {
        let mut state = Arc::unwrap_or_clone(self.0);
        state.audit = audit;
        Shedding(Arc::new(state))
    }

    /// How many calls wait, at all limits together.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.methods.iter().chain([&self.0.all]).map(|gate| gate.waiting()).sum()
    }
}

impl fmt::Debug for Shedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shedding").field("options", &self.0.options).finish_non_exhaustive()
    }
}
