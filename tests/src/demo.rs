//! The services that vectors and transcripts call, whatever the carrier.

use futures_util::{FutureExt, stream};
use serde::Deserialize;
use serde_json::json;
use switchboard_core::{Call, Version, service_fn};
use switchboard_core::{Code, Context, ErrorObject, Json, Method, Reply, ReplyFuture, Router, RouterBuilder};
use switchboard_core::{Feed, FeedItems, Overflow, Subscription};

/// Everything that can be called.
#[must_use]
pub fn router() -> Router {
    calm().method("crash", crash).build().expect("the names differ")
}

/// Everything that does not panic.
pub fn calm() -> RouterBuilder {
    arithmetic().merge(fixed()).merge(echoes()).merge(errors()).merge(streams())
}

/// Methods with typed parameters.
fn arithmetic() -> RouterBuilder {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Subtract {
        minuend: i64,
        subtrahend: i64,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Greet {
        name: String,
        #[serde(default)]
        greeting: Option<String>,
    }
    Router::builder()
        .method("add", |(a, b): (i64, i64), _| within_i64(a.checked_add(b)))
        .method("subtract", |of: Subtract, _| within_i64(of.minuend.checked_sub(of.subtrahend)))
        .method("sum", |numbers: Vec<i64>, _| {
            within_i64(numbers.into_iter().try_fold(0_i64, i64::checked_add))
        })
        .method("greet", |of: Greet, _| {
            ok(format!("{}, {}!", of.greeting.as_deref().unwrap_or("Hello"), of.name))
        })
}

/// Methods that always say the same.
fn fixed() -> RouterBuilder {
    Router::builder()
        .method("get_data", |(): (), _| ok(("hello", 5)))
        .method("null_result", |_: Json, _| ok(()))
        .method("false_result", |_: Json, _| ok(false))
        .method("update", |_: Json, _| ok(()))
        .method("notify_hello", |_: Json, _| ok(()))
        .method("notify_sum", |_: Json, _| ok(()))
        .method("marker", |(): (), _| ok("marker"))
}

/// Methods that give back what they get.
fn echoes() -> RouterBuilder {
    Router::builder()
        .method("echo", |params: Json, cx| ok(echo(params, cx.version)))
        .async_method("later", |params: Json, _| async {
            tokio::task::yield_now().await;
            ok(params)
        })
        .method("text", |(length,): (u32,), _| ok("x".repeat(length.min(1 << 20) as usize)))
}

/// Under 2.0 the parameters as they are; under 1.0 the first argument.
fn echo(params: Json, version: Version) -> Json {
    match version {
        Version::V2 => params,
        Version::V1 => {
            let arguments: Vec<Json> = params.decode().unwrap_or_default();
            arguments.into_iter().next().unwrap_or(Json::NULL)
        }
    }
}

/// Methods that fail.
fn errors() -> RouterBuilder {
    Router::builder()
        .method("fail", |_: Json, _| {
            Err::<(), _>(ErrorObject::new(Code(1234), "boom").with_data(&json!({"x": 1})))
        })
        .method("fail_with", |(code,): (i64,), _| Err::<(), _>(ErrorObject::new(Code(code), "as you wish")))
        .method("lose", |_: Json, _| {
            Err::<(), _>(Box::<dyn std::error::Error + Send + Sync>::from("secret: the disk is full"))
        })
}

fn crash(_: Json, _: Context) -> Result<(), ErrorObject> {
    panic!("secret panic at src/demo.rs");
}

/// Methods that answer with streams.
fn streams() -> RouterBuilder {
    let broken = |_: &Call| {
        let items = [Ok(json!(1)), Err(ErrorObject::new(Code(7), "the stream broke")), Ok(json!(3))];
        ReplyFuture::ready(Reply::try_stream(stream::iter(items)))
    };
    let say = |call: &Call| {
        ReplyFuture::ready(match call.cx.wants_stream() {
            true => Reply::stream(stream::iter(["one ", "two"])),
            false => Reply::of(&"one two"),
        })
    };
    Router::builder()
        .add(Method::new("say", service_fn(say)))
        .add(Method::stream("count", |(to,): (u16,), _| stream::iter(1..=to)))
        .add(Method::new("count_and_break", service_fn(broken)))
        .add(Method::stream("numbers", |_: Json, _| stream::iter(1..=3)))
        .add(Method::feed("lossy", |(to,): (u16,), _| lossy(to)))
        .add(
            Method::stream("chain_subscribe", |(_, to): (String, u16), _| stream::iter(1..=to))
                .subscription(Subscription::ethereum("chain")),
        )
        .add(
            Method::new("subscribe_ticks", service_fn(broken))
                .subscription(Subscription::named("ticks", "unsubscribe_ticks")),
        )
        .async_method("work", |_: Json, cx: Context| async move {
            cx.progress("half").await;
            ok("done")
        })
}

/// The numbers up to `to` through a feed with room for two, read when all are sent.
fn lossy(to: u16) -> FeedItems<u16> {
    let (feed, items) = Feed::new(2, Overflow::DropOldest);
    for number in 1..=to {
        feed.send(number).now_or_never();
    }
    items
}

fn ok<T>(value: T) -> Result<T, ErrorObject> {
    Ok(value)
}

fn within_i64(number: Option<i64>) -> Result<i64, ErrorObject> {
    number.ok_or_else(|| ErrorObject::validation_failed("the result is out of range"))
}
