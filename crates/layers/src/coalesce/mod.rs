//! Coalescing: identical calls in flight become one call.
//!
//! While a call runs, others with the same method and equal params wait for its answer, be it a value or an error. Each caller keeps its own
//! deadline and can cancel: the call is cancelled when the last one is gone. Nothing is remembered: a call that begins after the answer
//! is made again; to avoid that, use the [cache](crate::cache).
//!
//! Params are equal if they differ only in white space, in the order of object members, or in how strings are escaped; `1` and `1.0` are
//! different. By default only calls of the same caller are coalesced: those with the same identity, with the same roles, scopes and claims.
//! Calls of callers without an identity pass, because nothing tells one such caller from another. Declare methods that answer all callers alike
//! as [shared](Coalesce::shared).
//!
//! The call that runs is that of the first caller: its metadata is sent, its trace continues, and it alone sees progress. Put the layer in front of
//! an upstream that all callers share: an upstream connection of the first caller alone ends with that caller's session.
//!
//! Notifications and callers that ask for a stream pass. If the answer is a stream all the same, one caller gets it and the others make
//! their calls themselves.

mod layer;

use std::sync::Arc;

use switchboard_core::AllowedNames;

use crate::Pattern;

/// Makes identical calls in flight one call. A [`Layer`](switchboard_core::Layer) for methods that only read. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Peer, Router};
/// use switchboard_layers::coalesce::Coalesce;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = Router::builder()
///     .async_method("report", |(): (), _| async {
///         tokio::task::yield_now().await;
///         println!("this runs once");
///         Ok::<_, ErrorObject>("all is well")
///     })
///     .build()?;
/// let peer = Peer::from(router.layered(Coalesce::new(["report".parse()?]).shared()));
/// let (one, two) = tokio::join!(
///     async { peer.call::<String>("report", ()).await },
///     async { peer.call::<String>("report", ()).await },
/// );
/// assert_eq!(one?, two?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Coalesce {
    methods: Arc<[Pattern]>,
    is_shared: bool,
    forwarded: Option<AllowedNames>,
}

impl Coalesce {
    /// Coalesces calls of these methods, for each caller with an identity. The methods must be safe to call once for several callers.
    #[must_use]
    pub fn new(methods: impl IntoIterator<Item = Pattern>) -> Coalesce {
        Coalesce { methods: methods.into_iter().collect(), is_shared: false, forwarded: None }
    }

    /// Coalesces calls of different callers, too: for methods that answer all callers alike.
    #[must_use]
    pub fn shared(self) -> Coalesce {
        Coalesce { is_shared: true, ..self }
    }

    /// Keeps calls apart that differ in metadata with these names, because the service inside learns it.
    #[must_use]
    pub fn with_forwarded(self, names: AllowedNames) -> Coalesce {
        Coalesce { forwarded: Some(names), ..self }
    }
}
