//! Topics: what is published on one machine reaches the subscribers of all machines.
//!
//! The topic `prices/eur` of the service `board` is the subject `_SBT.board.prices.eur`, written as a method would be. The body of a message is one JSON value. Two headers
//! let subscribers notice what they missed: `switchboard-publisher` names a [`Topic`] of a publisher, and `switchboard-seq` counts its messages. Other programs can leave
//! them out.

mod api;
mod event;
mod group;
mod hub;
mod keep;
mod methods;
mod publisher;
mod replay;
mod seen;
mod topic;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_nats::Subject;
use switchboard_core::{CallError, ErrorObject};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::event::{Events, Start, TopicEvent};
pub use self::group::TopicGroup;
use self::hub::Hub;
pub use self::keep::Keep;
use self::keep::Kept;
pub use self::topic::{Topic, TopicError};
use super::address::Address;
use super::link::{Link, NotConnected};
use super::subject::{self, TOPICS};
use crate::carrier::Url;
use crate::dial::DialError;

/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// The topics of a service, over a NATS server. Cheap to clone; clones share a connection, which reconnects until the last one is dropped.
///
/// # Examples
///
/// ```no_run
/// use futures_util::StreamExt;
/// use switchboard_transport::nats::Bus;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::connect("nats://127.0.0.1:4222/board").await?;
/// let price = bus.topic("prices/eur")?;
/// let mut events = price.subscribe::<u32>().await?;
/// price.publish(&120).await?;
/// assert_eq!(events.next().await.ok_or("it goes on")??.value, 120);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Bus(Arc<BusState>);

struct BusState {
    link: Arc<Link>,
    options: BusOptions,
    /// One subscription for all readers of the same subjects.
    hubs: Mutex<HashMap<String, Weak<Hub>>>,
    readers: Arc<Semaphore>,
}

/// The limits of a [`Bus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BusOptions {
    /// How many subscribers it has at most; more get -32005. Default: 10,000.
    pub subscribers: usize,
    /// How many events wait for a subscriber at most. A slower one misses the oldest, and gets a [gap](switchboard_core::Gap). Default: 256.
    pub waiting: usize,
}

impl Default for BusOptions {
    fn default() -> BusOptions {
        BusOptions { subscribers: 10_000, waiting: 256 }
    }
}

impl BusOptions {
    /// Sets how many subscribers there are at most.
    #[must_use]
    pub fn with_subscribers(self, subscribers: usize) -> BusOptions {
        BusOptions { subscribers, ..self }
    }

    /// Sets how many events wait for a subscriber at most.
    #[must_use]
    pub fn with_waiting(self, waiting: usize) -> BusOptions {
        BusOptions { waiting, ..self }
    }
}

impl Bus {
    /// Connects to the broker of a URL such as `nats://127.0.0.1:4222/board`, whose last part is the service that the topics belong to.
    /// The environment names the credentials, as for calls.
    ///
    /// # Errors
    ///
    /// If the URL is not valid, or the broker cannot be reached within 10 seconds or refuses the credentials.
    pub async fn connect(url: &str) -> Result<Bus, DialError> {
        Bus::connect_with(url, BusOptions::default()).await
    }

    /// Connects with these limits.
    ///
    /// # Errors
    ///
    /// As [`connect`](Bus::connect).
    pub async fn connect_with(url: &str, options: BusOptions) -> Result<Bus, DialError> {
        let url: Url = url.parse()?;
        if !matches!(url.scheme(), "nats" | "nats+tls") {
            return Err(DialError::Unsupported(url.scheme().to_owned()));
        }
        let failed = |NotConnected { text, is_permanent }| match is_permanent {
            true => DialError::Refused(text),
            false => DialError::Unreachable(text),
        };
        let link = Link::open(Address::of(&url)?, CONNECTING).await.map_err(failed)?;
        let readers = Arc::new(Semaphore::new(options.subscribers.min(Semaphore::MAX_PERMITS)));
        Ok(Bus(Arc::new(BusState { link, options, hubs: Mutex::default(), readers })))
    }

    /// A topic, to publish and to subscribe to. Any text can be its name.
    ///
    /// # Errors
    ///
    /// If the name is too long for a subject.
    pub fn topic(&self, name: impl Into<String>) -> Result<Topic, TopicError> {
        Topic::new(self.clone(), name.into(), None)
    }

    /// All topics whose names begin with `name` and a slash. With an empty name, all topics of the service.
    ///
    /// # Errors
    ///
    /// If the name is too long for a subject.
    pub fn below(&self, name: impl Into<String>) -> Result<TopicGroup, TopicError> {
        TopicGroup::new(self.clone(), name.into(), None)
    }

    /// The same topics, and has the broker keep what is published in them from now on, so that subscribers can start in the past. Other programs
    /// use the same, or [`kept`](Bus::kept). If they are kept already, the limits are changed to these.
    ///
    /// # Errors
    ///
    /// If the broker has no JetStream, does not allow it, or keeps other topics that include some of these.
    pub async fn keep(&self, name: impl Into<String>, limits: Keep) -> Result<TopicGroup, CallError> {
        let name = name.into();
        let kept = Kept::create(Arc::clone(&self.0.link), self.pattern(&name)?, &name, &limits).await?;
        Ok(TopicGroup::new(self.clone(), name, Some(Arc::new(kept)))?)
    }

    /// The same topics, which the broker keeps since [`keep`](Bus::keep) was called somewhere.
    ///
    /// # Errors
    ///
    /// If the broker does not keep them, or this client may not ask.
    pub async fn kept(&self, name: impl Into<String>) -> Result<TopicGroup, CallError> {
        let name = name.into();
        let kept = Kept::find(Arc::clone(&self.0.link), self.pattern(&name)?, &name).await?;
        Ok(TopicGroup::new(self.clone(), name, Some(Arc::new(kept)))?)
    }

    /// What the subjects of its topics begin with, including the dot.
    fn root(&self) -> String {
        format!("{TOPICS}{}.", self.0.link.address.service)
    }

    fn subject(&self, name: &str) -> Result<Subject, TopicError> {
        let root = self.root();
        let subject = subject::encode(&root[..root.len() - 1], name);
        subject.map(Subject::from).ok_or(TopicError::TooLong { length: name.len() })
    }

    /// The subjects of the topics below a name.
    fn pattern(&self, name: &str) -> Result<Subject, TopicError> {
        match name {
            "" => Ok(Subject::from(format!("{}>", self.root()))),
            name => Ok(Subject::from(format!("{}.>", self.subject(name)?))),
        }
    }

    /// A place for one more subscriber.
    fn place(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let most = self.0.options.subscribers;
        let text = format!("this server has {most} subscribers already; try again later");
        let full = |_| CallError::Rejected(ErrorObject::over_limit("subscribers", text));
        Arc::clone(&self.0.readers).try_acquire_owned().map_err(full)
    }

    /// What receives the events of these subjects.
    fn hub(&self, subjects: &Subject) -> Arc<Hub> {
        let mut hubs = self.0.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hub) = hubs.get(subjects.as_str()).and_then(Weak::upgrade) {
            return hub;
        }
        // Those that ended go when others come, from time to time.
        if hubs.len().is_power_of_two() {
            hubs.retain(|_, hub| hub.strong_count() > 0);
        }
        let hub = Hub::new(Arc::clone(&self.0.link), subjects.clone(), self.root());
        hubs.insert(subjects.to_string(), Arc::downgrade(&hub));
        hub
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("service", &self.0.link.address.to_string()).finish_non_exhaustive()
    }
}
