//! Calls over a NATS server: real ones, started by the tests.
#![cfg(feature = "nats")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../../../../tests/support/broker.rs"]
mod broker;
mod calls;
mod foreign;
mod parts;
mod stopping;
mod topics;
mod trouble;

use std::time::Duration;

use futures_util::stream;
use switchboard_core::{Context, ErrorObject, Json, Method, Peer, Router, RouterBuilder, Service, Settings};
use switchboard_transport::Dial;
use switchboard_transport::server::{Handle, Server, ServerOptions};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::broker::Broker;

/// A running worker.
struct Worker {
    handle: Handle,
    serving: JoinHandle<()>,
}

impl Worker {
    async fn start(broker: &Broker, service: impl Service) -> Worker {
        Worker::start_with(broker, service, Settings::default(), ServerOptions::default()).await
    }

    async fn start_with(
        broker: &Broker,
        service: impl Service,
        settings: Settings,
        options: ServerOptions,
    ) -> Worker {
        let mut server = Server::new(service).with_settings(settings).with_options(options);
        server.listen(&url(broker)).await.unwrap();
        let handle = server.handle();
        Worker { handle, serving: tokio::spawn(server.serve()) }
    }

    /// Stops it, and waits until all its calls are answered.
    async fn stop(self) {
        self.handle.shutdown();
        within(self.serving).await.unwrap();
    }
}

/// The URL of the service that the tests serve.
fn url(broker: &Broker) -> String {
    format!("{}/math", broker.url())
}

async fn connect(broker: &Broker) -> Peer {
    Dial::new(&url(broker)).unwrap().connect().await.unwrap()
}

/// A client of the broker that is not ours.
async fn client(broker: &Broker) -> async_nats::Client {
    async_nats::connect(broker.url()).await.unwrap()
}

async fn within<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it is done in time")
}

/// Methods of each kind.
fn router() -> RouterBuilder {
    Router::builder()
        .method("math/add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
        .method("größe * >", |(): (), _| Ok::<_, ErrorObject>("odd"))
        .method("who", |(): (), cx: Context| {
            let text = |name: &str| cx.metadata().text(name).map(str::to_owned);
            Ok::<_, ErrorObject>((text("x-one"), text("switchboard-timeout-ms"), cx.deadline.is_some()))
        })
        .method("long", |(length,): (usize,), _| Ok::<_, ErrorObject>("x".repeat(length)))
        .async_method("slow", |(millis,): (u64,), _| async move {
            tokio::time::sleep_until(Instant::now() + Duration::from_millis(millis)).await;
            Ok::<_, ErrorObject>(millis)
        })
        .async_method("build", |(): (), cx: Context| async move {
            for percent in [10, 50, 100] {
                cx.progress(&percent).await;
            }
            Ok::<_, ErrorObject>("built")
        })
        .async_method("ask", |(question,): (String,), cx: Context| async move {
            let answer: Result<String, _> = cx.peer().call("answer", [question]).await;
            answer.map_err(|error| ErrorObject::internal(&error).with_detail(error.to_string()))
        })
        .add(Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)))
}
