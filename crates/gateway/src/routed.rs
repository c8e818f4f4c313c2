//! Where a call went.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_core::{Call, Context};

/// Notes where a call goes: attach it to the context of a call that is watched, and a [`Gateway`](crate::Gateway) and its pools fill it
/// in. Clones share what is noted. Calls that share an answer with an earlier one are noted only as far as they get.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Call, Json, Reply, ReplyFuture, Service as _, service_fn};
/// use switchboard_gateway::{Backend, Gateway, Node, Pool, Routed};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = service_fn(|_: &Call| ReplyFuture::ready(Reply::value(Json::TRUE)));
/// let pool = Pool::builder("math").node(Node::new("one", server)).build();
/// let gateway = Gateway::builder().backend(Backend::new("math", "math/", pool)).build()?;
/// let (mut call, routed) = (Call::new("math/add", None), Routed::default());
/// call.cx.insert(routed.clone());
/// gateway.call(&call).await;
/// assert_eq!((routed.upstream().as_deref(), routed.node().as_deref(), routed.attempts()), (Some("math"), Some("one"), 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Routed(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    upstream: Option<Arc<str>>,
    node: Option<Arc<str>>,
    attempts: u32,
}

impl Routed {
    /// The note of a call that is watched.
    pub(crate) fn of(cx: &Context) -> Option<&Routed> {
        cx.get()
    }

    /// The name of the upstream that got the call.
    #[must_use]
    pub fn upstream(&self) -> Option<Arc<str>> {
        self.lock().upstream.clone()
    }

    /// The name of the node that answered it, or that it was sent to last.
    #[must_use]
    pub fn node(&self) -> Option<Arc<str>> {
        self.lock().node.clone()
    }

    /// How often it was sent to a node.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.lock().attempts
    }

    pub(crate) fn chosen(call: &Call, upstream: &Arc<str>) {
        if let Some(routed) = Routed::of(&call.cx) {
            routed.lock().upstream = Some(Arc::clone(upstream));
        }
    }

    pub(crate) fn sent(&self, node: &Arc<str>) {
        let mut places = self.lock();
        places.attempts += 1;
        places.node = Some(Arc::clone(node));
    }

    pub(crate) fn answered(&self, node: &Arc<str>) {
        self.lock().node = Some(Arc::clone(node));
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
