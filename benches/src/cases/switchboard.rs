//! Switchboard in process: a `#[service]` behind the engine.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::stream;
use switchboard::{
    Context, Engine, ErrorObject, Json, Limits, Method, Origin, Router, RouterBuilder, Settings,
    Subscription, service,
};

use super::{Case, ready};
use crate::workload;

/// Switchboard's router behind its engine, batch limit raised.
pub struct Switchboard {
    engine: Engine,
    context: Context,
}

/// The methods that every peer has.
struct Methods {
    document: Json,
}

#[service]
impl Methods {
    fn add(&self, a: u64, b: u64) -> u64 {
        a + b
    }

    fn text(&self) -> String {
        (*workload::TEXT).to_owned()
    }

    fn document(&self) -> Json {
        self.document.clone()
    }
}

impl Switchboard {
    /// With the methods `add`, `ignore`, `text` and `document` registered.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let context = Context::new(Origin::new("bench"));
        Self { engine: Engine::new(router(), settings()), context }
    }

    /// The answer to one body, awaited.
    pub(super) async fn exchange(&self, body: Bytes) -> Bytes {
        let answer = self.engine.exchange(body, &self.context).await;
        answer.into_body().expect("the call is answered")
    }
}

/// The router that is measured in process.
pub(super) fn router() -> Arc<Router> {
    Arc::new(methods().build().expect("the names differ"))
}

/// The router that is measured behind sockets and pipes: it has a subscription too.
pub(crate) fn serving_router() -> Arc<Router> {
    let sums = Method::stream("subscribe_sums", |(), _| stream::repeat(107_u64));
    let sums = sums.subscription(Subscription::named(workload::ITEM, "unsubscribe_sums"));
    Arc::new(methods().add(sums).build().expect("the names differ"))
}

fn methods() -> RouterBuilder {
    let document = Json::parse(workload::DOCUMENT.as_bytes().to_vec()).expect("the workload is JSON");
    Router::builder()
        .add(Methods { document })
        .method("ignore", |_: Json, _| Ok::<_, ErrorObject>(true))
        .async_method("add_later", |(a, b): (u64, u64), _| async move {
            pending_once().await;
            Ok::<_, ErrorObject>(a + b)
        })
}

/// Ready when it is polled a second time, which it asks for at once.
async fn pending_once() {
    let mut is_second = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Limits that let the workload pass.
pub(crate) fn settings() -> Settings {
    Settings::default().with_limits(Limits::default().with_batch(10_000))
}

impl Case for Switchboard {
    fn name(&self) -> &'static str {
        "switchboard"
    }

    fn call(&self, body: Bytes) -> Bytes {
        // Not by `Self::exchange`: the future around the engine's would cost a hundred instructions.
        let answer = ready(self.engine.exchange(body, &self.context));
        answer.into_body().expect("the call is answered")
    }
}
