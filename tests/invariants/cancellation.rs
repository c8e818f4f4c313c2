//! Dropping the future of an exchange cancels what it runs.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as Polling, Poll, Waker};
use std::time::Duration;

use futures_util::{FutureExt, stream};
use switchboard_core::{Context, Engine, ErrorObject, Json, Limits, Method, Profile, Router, Settings};

use crate::{ask, code};

/// Counts how many handlers are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

struct Guard(Alive);

impl Alive {
    fn enter(&self) -> Guard {
        self.0.fetch_add(1, Ordering::Relaxed);
        Guard(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A method that never answers, and one whose stream never goes on after its first item.
fn stuck(alive: &Alive) -> Router {
    let (call, items) = (alive.clone(), alive.clone());
    Router::builder()
        .async_method("hang", move |_: Json, _| {
            let guard = call.enter();
            async move {
                pending::<()>().await;
                drop(guard);
                Ok::<_, ErrorObject>(())
            }
        })
        .add(Method::stream("stall", move |_: Json, _| {
            let guard = items.enter();
            stream::unfold((0, guard), |(n, guard)| async move {
                if n > 0 {
                    pending::<()>().await;
                }
                Some((n, (n + 1, guard)))
            })
        }))
        .build()
        .unwrap()
}

/// Polls the exchange of `body` once, then drops it; `running` handlers must be alive between.
fn check(body: &'static str, running: usize, settings: &Settings) {
    let alive = Alive::default();
    let router = stuck(&alive);
    let cx = Context::default();
    {
        let mut exchange = pin!(Engine::new(Arc::new(router), settings.clone()).exchange(body, &cx));
        let mut polling = Polling::from_waker(Waker::noop());
        assert!(matches!(exchange.as_mut().poll(&mut polling), Poll::Pending), "{body}");
        assert_eq!(alive.count(), running, "{body}");
    }
    assert_eq!(alive.count(), 0, "{body}");
}

#[tokio::test]
async fn dropping_an_exchange_cancels_its_handlers() {
    let settings = Settings::default();
    check(r#"{"jsonrpc":"2.0","method":"hang","id":1}"#, 1, &settings);
    check(r#"{"jsonrpc":"2.0","method":"hang"}"#, 1, &settings);
    check(r#"{"jsonrpc":"2.0","method":"stall","id":1}"#, 1, &settings);
    check(
        r#"[{"jsonrpc":"2.0","method":"hang","id":1},{"jsonrpc":"2.0","method":"stall","id":2},
            {"method":"hang","params":[],"id":3}]"#,
        3,
        &settings,
    );
}

#[tokio::test]
async fn a_notification_holds_back_what_comes_after_it() {
    let batch = r#"[{"jsonrpc":"2.0","method":"hang"},{"jsonrpc":"2.0","method":"hang","id":1}]"#;
    check(batch, 1, &Settings::default());
    let mut profile = Profile::default();
    profile.ordered_notifications = false;
    check(batch, 2, &Settings::default().with_profile(profile));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_dropped() {
    for method in ["hang", "stall"] {
        let alive = Alive::default();
        let limits = Limits::default().with_call_time(Duration::from_secs(1));
        let settings = Settings::default().with_limits(limits);
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
        let answer = ask(stuck(&alive), body, &settings).await;
        assert_eq!(code(answer.as_deref()), -32003, "{method}");
        assert_eq!(alive.count(), 0, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_the_caller_counts_for_the_call_and_its_stream() {
    for method in ["hang", "stall"] {
        let mut cx = Context::default();
        let start = tokio::time::Instant::now();
        cx.deadline = Some(start + Duration::from_secs(2));
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
        let answer =
            Engine::new(Arc::new(stuck(&Alive::default())), Settings::default()).exchange(body, &cx).await;
        let answer = String::from_utf8(answer.body().unwrap().to_vec()).unwrap();
        assert_eq!(code(Some(&answer)), -32003, "{method}");
        assert_eq!(start.elapsed().as_secs(), 2, "{method}");
    }
}

#[tokio::test]
async fn the_stream_of_a_notification_is_dropped_unread() {
    let alive = Alive::default();
    let body = r#"{"jsonrpc":"2.0","method":"stall"}"#;
    let answer = ask(stuck(&alive), body, &Settings::default()).now_or_never();
    assert_eq!(answer, Some(None));
    assert_eq!(alive.count(), 0);
}
