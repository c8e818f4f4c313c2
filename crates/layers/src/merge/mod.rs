//! Merged subscriptions: many readers, one upstream stream.
//!
//! Calls with the same method and equal params share one upstream stream. The first opens it; later ones join. Each reader gets every item from
//! when it called. With [`with_last`](Merge::with_last) those that join get the last item first.
//!
//! **Slow readers.** The last [items](Merge::with_buffer) are kept for readers that are behind. A reader that falls further behind gets a
//! [`Gap`](switchboard_core::Gap) with the number of items that it missed, and goes on with the oldest that is kept. It delays no other reader, and
//! all readers share the buffer, so a reader that never reads costs nothing. There is no backpressure, even
//! with a single reader, because the upstream stream may share a connection with others.
//!
//! **The end.** When the last reader leaves, the upstream stream is dropped, which unsubscribes. When the upstream stream ends, all readers' streams do. When it
//! ends with an error, for instance because the connection broke, the method is called again, with increasing [delays](Merge::with_backoff), as long as there
//! are readers; then all get a gap. Errors that would be the same again, such as -32601, end all streams.
//!
//! **Whose streams.** By default only streams of the same caller are merged: those with the same identity, with the same roles, scopes and claims.
//! Calls of callers without an identity pass, because nothing tells one such caller from another. Declare methods that send all callers the same items as
//! [shared](Merge::shared). The upstream stream is opened, and opened again, with the context of the first caller, so put the layer in front of
//! an upstream that all callers share.
//!
//! If a call is answered with an error, those that wait for the same stream get it, too. If it is answered with a value, the method is not
//! a subscription, and the others make their calls themselves. Notifications pass.

mod hub;
mod layer;
mod pump;
mod ring;

use std::sync::Arc;

use switchboard_core::AllowedNames;
use switchboard_core::reconnect::Backoff;

use self::ring::RingLimits;
use crate::Pattern;

/// How many items are kept for readers that are behind unless set.
const ITEMS: usize = 256;

/// How many bytes they take at most unless set.
const BYTES: usize = 1 << 20;

/// Makes identical subscriptions one upstream stream. A [`Layer`](switchboard_core::Layer) to put around the service that streams. Cheap to clone.
///
/// # Examples
///
/// ```
/// use futures_util::StreamExt;
/// use switchboard_core::{Context, Feed, Method, Overflow, Peer, Router};
/// use switchboard_layers::merge::Merge;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ticks = Method::feed("ticks", |(): (), _: Context| {
///     println!("this runs once");
///     let (feed, items) = Feed::new(16, Overflow::Block);
///     tokio::spawn(async move {
///         let mut tick = 0;
///         while feed.send(tick).await.is_ok() {
///             tick += 1;
///             tokio::task::yield_now().await;
///         }
///     });
///     items
/// });
/// let router = Router::builder().add(ticks).build()?;
/// let peer = Peer::from(router.layered(Merge::new(["ticks".parse()?]).shared()));
/// let mut one = peer.stream::<u64>("ticks", ()).await?;
/// let mut other = peer.stream::<u64>("ticks", ()).await?;
/// assert_eq!(one.next().await.unwrap()?, other.next().await.unwrap()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Merge {
    methods: Arc<[Pattern]>,
    is_shared: bool,
    forwarded: Option<AllowedNames>,
    gives_last: bool,
    limits: RingLimits,
    backoff: Arc<Backoff>,
}

impl Merge {
    /// Merges subscriptions by these methods, for each caller with an identity.
    #[must_use]
    pub fn new(methods: impl IntoIterator<Item = Pattern>) -> Merge {
        Merge {
            methods: methods.into_iter().collect(),
            is_shared: false,
            forwarded: None,
            gives_last: false,
            limits: RingLimits { items: ITEMS, bytes: BYTES },
            backoff: Arc::default(),
        }
    }

    /// Merges subscriptions of different callers, too: for methods that send all callers the same items.
    #[must_use]
    pub fn shared(mut self) -> Merge {
        self.is_shared = true;
        self
    }

    /// Keeps subscriptions apart that differ in metadata with these names, because the service inside learns it.
    #[must_use]
    pub fn with_forwarded(mut self, names: AllowedNames) -> Merge {
        self.forwarded = Some(names);
        self
    }

    /// Gives readers that join a stream its last item first. For streams whose items say how things are, not what has happened.
    #[must_use]
    pub fn with_last(mut self) -> Merge {
        self.gives_last = true;
        self
    }

    /// Keeps so many items for readers that are behind, in at most so many bytes: 256 items and 1 MiB unless set. The last item is kept in
    /// any case.
    #[must_use]
    pub fn with_buffer(mut self, items: usize, bytes: usize) -> Merge {
        self.limits = RingLimits { items, bytes };
        self
    }

    /// Sets the delays between attempts to subscribe again. If they are [limited](Backoff::attempts), all streams end with the error of the last
    /// attempt.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Merge {
        self.backoff = Arc::new(backoff);
        self
    }
}
