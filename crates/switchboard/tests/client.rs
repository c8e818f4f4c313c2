//! What `#[service]` makes of a trait: a service of any implementation, and a typed client of any service.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::{
    CallError, Code, Context, Json, Layer, Peer, Reply, ReplyFuture, Router, RpcError, Service, Stream,
    service, service_fn,
};

/// A user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    name: String,
    #[serde(default)]
    limit: u32,
}

/// There is no such user.
#[derive(Debug, RpcError)]
#[error_code(1001, "no such user")]
pub struct Failure;

/// Users and numbers.
#[service(namespace = "users")]
pub trait Users {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: i64, b: i64) -> i64;

    /// Finds a user.
    async fn find(
        &self,
        cx: &Context,
        name: String,
        #[arg(default = 10)] limit: u32,
        #[arg(name = "remark")] note: Option<String>,
    ) -> Result<User, Failure>;

    /// Adds many numbers.
    fn sum(&self, start: f64, #[arg(default = 1.0)] factor: f64, #[arg(rest)] numbers: Vec<f64>) -> f64;

    /// Counts.
    fn ticks(&self, n: u32) -> impl Stream<Item = u32> + Send + 'static;

    /// Tells what happens to a user.
    async fn watch(
        &self,
        name: String,
    ) -> Result<impl Stream<Item = Result<User, Failure>> + Send + 'static, Failure>;

    /// Does nothing.
    async fn ping(&self) {}

    /// Doubles with a default body.
    async fn twice(&self, mut n: u32) -> u32 {
        n += self.add(i64::from(n), 0) as u32;
        n
    }

    /// Does nothing either.
    #[deprecated(note = "use `ping`")]
    fn old(&self) {}

    /// Is not called from outside.
    #[method(skip)]
    fn helper<T: Into<String>>(&self, text: T) -> String {
        text.into()
    }
}

#[derive(Default)]
struct InMemory {
    count: AtomicU64,
}

impl Users for InMemory {
    fn add(&self, a: i64, b: i64) -> i64 {
        self.count.fetch_add(1, Ordering::Relaxed);
        a + b
    }

    async fn find(
        &self,
        cx: &Context,
        name: String,
        limit: u32,
        note: Option<String>,
    ) -> Result<User, Failure> {
        tokio::task::yield_now().await;
        match name.as_str() {
            "nobody" => Err(Failure),
            "caller" => Ok(User { name: cx.origin().transport.to_owned(), limit }),
            _ => Ok(User { name: name + &note.unwrap_or_default(), limit }),
        }
    }

    fn sum(&self, start: f64, factor: f64, numbers: Vec<f64>) -> f64 {
        start + factor * numbers.iter().sum::<f64>()
    }

    fn ticks(&self, n: u32) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(0..n)
    }

    async fn watch(
        &self,
        name: String,
    ) -> Result<impl Stream<Item = Result<User, Failure>> + Send + 'static, Failure> {
        if name == "nobody" {
            return Err(Failure);
        }
        Ok(stream::iter([Ok(User { name: self.helper(name), limit: 0 }), Err(Failure)]))
    }
}

fn router() -> Router {
    Router::builder().add(UsersService(InMemory::default())).build().unwrap()
}

fn user(name: &str, limit: u32) -> User {
    User { name: name.to_owned(), limit }
}

/// A client whose calls pass a layer that writes them down.
fn recorded() -> (UsersClient, Arc<std::sync::Mutex<Vec<String>>>) {
    let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let layer = move |inner: Arc<dyn Service>| -> Arc<dyn Service> {
        let seen = Arc::clone(&seen);
        Arc::new(service_fn(move |call| {
            let params = call.params.as_ref().map_or("none", Json::as_str);
            seen.lock().unwrap().push(format!("{} {params}", call.method));
            inner.call(call)
        }))
    };
    (UsersClient::new(layer.layer(Arc::new(router()))), calls)
}

#[tokio::test]
async fn a_client_calls_the_router_itself() -> Result<(), CallError> {
    let client = UsersClient::new(router());
    assert_eq!(client.add(2, 3).await?, 5);
    assert_eq!(client.find("ann".into(), None, None).await?, user("ann", 10));
    assert_eq!(client.find("ann".into(), Some(3), Some("!".into())).await?, user("ann!", 3));
    assert_eq!(client.find("caller".into(), None, None).await?, user("inside", 10));
    assert_eq!(client.twice(4).await?, 8);
    client.ping().await
}

#[tokio::test]
async fn a_client_calls_a_peer() -> Result<(), CallError> {
    let client = UsersClient::new(Peer::local(router()));
    assert_eq!(client.clone().add(2, 3).await?, 5);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_request_takes_options_before_it_is_awaited() -> Result<(), CallError> {
    let service = service_fn(|call| {
        drop(call.cx.progress(&50));
        let left = call.cx.deadline.unwrap().duration_since(tokio::time::Instant::now());
        ReplyFuture::ready(Reply::of(&left.as_secs()))
    });
    let client = UsersClient::new(service);
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let progress = Arc::clone(&seen);
    let seconds = client
        .add(1, 2)
        .timeout(Duration::from_secs(20))
        .on_progress(move |percent: u8| progress.lock().unwrap().push(percent))
        .await?;
    assert_eq!((seconds, &*seen.lock().unwrap()), (20, &vec![50]));
    assert!(client.ticks(1).timeout(Duration::from_secs(20)).await.is_ok());
    Ok(())
}

#[tokio::test]
async fn requests_of_a_client_go_out_as_one_batch() -> Result<(), CallError> {
    let (client, calls) = recorded();
    let mut batch = client.batch();
    let sum = batch.add(client.add(2, 3));
    let failed = batch.add(client.find("nobody".into(), None, None));
    let outcomes = batch.send().await?;
    assert_eq!(sum.read(&outcomes)?, 5);
    assert!(failed.read(&outcomes).is_err());
    assert_eq!(calls.lock().unwrap().len(), 2);
    Ok(())
}

/// A value that cannot be written as JSON.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("has no JSON form"))
    }
}

#[service]
trait Odd {
    fn named(&self, value: Unwritable);
    fn placed(&self, #[arg(rest)] values: Vec<Unwritable>);
}

#[tokio::test]
async fn an_argument_that_cannot_be_written_fails_the_request() {
    let client = OddClient::new(Peer::absent());
    let expected = Err(CallError::Params("has no JSON form".into()));
    assert_eq!(client.named(Unwritable).await, expected);
    assert_eq!(client.placed(vec![Unwritable]).await, expected);
}

#[tokio::test]
async fn a_client_calls_a_layered_service_and_sends_only_what_is_given() -> Result<(), CallError> {
    let (client, calls) = recorded();
    client.find("ann".into(), None, None).await?;
    client.find("ann".into(), Some(1), Some("x".into())).await?;
    client.ping().await?;
    assert_eq!(client.sum(1.0, None, vec![2.0, 3.0]).await?, 6.0);
    assert_eq!(client.sum(1.0, Some(2.0), vec![]).await?, 1.0);
    assert_eq!(
        *calls.lock().unwrap(),
        [
            r#"users/find {"name":"ann"}"#,
            r#"users/find {"name":"ann","limit":1,"remark":"x"}"#,
            "users/ping none",
            "users/sum [1.0,null,2.0,3.0]",
            "users/sum [1.0,2.0]",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn only_methods_that_are_marked_safe_or_idempotent_may_be_sent_again() -> Result<(), CallError> {
    let marks = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (router, seen) = (router(), Arc::clone(&marks));
    let client = UsersClient::new(service_fn(move |call| {
        seen.lock().unwrap().push((call.method.to_string(), call.is_repeatable()));
        router.call(call)
    }));
    client.add(2, 3).await?;
    client.ping().await?;
    client.ticks(1).await?;
    let expected = [("users/add", true), ("users/ping", false), ("users/ticks", false)];
    assert_eq!(*marks.lock().unwrap(), expected.map(|(name, mark)| (name.to_owned(), mark)));
    Ok(())
}

#[tokio::test]
async fn a_client_gets_the_far_sides_error() {
    let error = UsersClient::new(router()).find("nobody".into(), None, None).await.unwrap_err();
    assert_eq!(error.rejection().map(|error| error.code), Some(Code(1001)));
}

#[tokio::test]
async fn a_client_reads_a_stream() -> Result<(), CallError> {
    let client = UsersClient::new(router());
    let ticks: Vec<_> = client.ticks(3).await?.collect().await;
    assert_eq!(ticks, [Ok(0), Ok(1), Ok(2)]);
    let mut users = client.watch("ann".into()).await?;
    assert_eq!(users.next().await, Some(Ok(user("ann", 0))));
    assert!(matches!(users.next().await, Some(Err(CallError::Rejected(error))) if error.code == Code(1001)));
    assert!(client.watch("nobody".into()).await.is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_waits_as_long_as_it_is_told() {
    let silent = service_fn(|_| ReplyFuture::pending(std::future::pending()));
    let five = Duration::from_secs(5);
    let peer = Peer::local(silent).with_timeout(five);
    for (client, expected) in [
        (UsersClient::new(peer.clone()), five),
        (UsersClient::new(peer.clone()).with_timeout(2 * five), 2 * five),
    ] {
        let start = tokio::time::Instant::now();
        assert_eq!(client.add(1, 2).await, Err(CallError::TimedOut));
        assert_eq!(start.elapsed(), expected);
    }
    let start = tokio::time::Instant::now();
    assert_eq!(UsersClient::new(peer).add(1, 2).timeout(3 * five).await, Err(CallError::TimedOut));
    assert_eq!(start.elapsed(), 3 * five);
}

#[tokio::test]
async fn the_implementation_can_be_shared() -> Result<(), CallError> {
    let users = Arc::new(UsersService(InMemory::default()));
    let client = UsersClient::new(Router::builder().add(Arc::clone(&users)).build().unwrap());
    client.add(1, 2).await?;
    assert_eq!(users.0.count.load(Ordering::Relaxed), 1);
    Ok(())
}

#[tokio::test]
async fn the_calls_of_a_client_can_be_spawned() {
    let client = UsersClient::new(router());
    let sum = tokio::spawn(client.sum(1.0, None, vec![1.0]).into_future());
    assert_eq!(sum.await.unwrap(), Ok(2.0));
}

#[test]
fn a_trait_is_described_like_an_impl_block() {
    let description = router().describe();
    let add = &description.methods[0];
    assert_eq!(
        (add.name.as_str(), add.summary.as_str(), add.marks.safe),
        ("users/add", "Adds two numbers.", true)
    );
    let names: Vec<_> = description.methods.iter().map(|method| method.name.as_str()).collect();
    assert!(!names.contains(&"users/helper"), "{names:?}");
}
