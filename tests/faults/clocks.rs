//! Clocks that jump: by the time a machine slept, or was held.
//!
//! What was under way when the clock jumped is over if its time is. What begins after the jump has all of its time, and
//! no connection is given up before its far side had the chance to show that it is alive.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::reconnect::{Backoff, ReconnectOptions, ReconnectingPeer};
use switchboard_core::{CallError, Code, Context, ErrorObject, Json, Method, Router, Settings};
use tokio::sync::{Notify, mpsc};

use crate::rig::{PLAIN, Running, SECURE, connect, within};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Has this much time pass at once. Sockets need time that goes by itself otherwise.
async fn jump(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

/// A server with a method that never answers, and one whose items the test sends.
async fn start(url: &str) -> (Running, Arc<Notify>, mpsc::UnboundedSender<u32>) {
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let (sender, receiver) = mpsc::unbounded_channel();
    let receiver = std::sync::Mutex::new(Some(receiver));
    let router = Router::builder()
        .method("echo", |params: Json, _| Ok::<_, ErrorObject>(params))
        .async_method("hold", move |(): (), _: Context| {
            begins.notify_one();
            std::future::pending::<Result<(), ErrorObject>>()
        })
        .add(Method::stream("items", move |(): (), _| {
            let receiver = receiver.lock().unwrap().take().expect("it is asked for once");
            futures_util::stream::unfold(receiver, async |mut items: mpsc::UnboundedReceiver<u32>| {
                Some((items.recv().await?, items))
            })
        }));
    let running = Running::serve(url, router.build().unwrap(), Settings::default(), Arc::default()).await;
    (running, begun, sender)
}

#[tokio::test]
async fn only_what_was_under_way_runs_out_of_time() {
    for url in PLAIN.into_iter().chain(SECURE) {
        let (server, begun, _) = start(url).await;
        let peer = connect(&server.url).await.unwrap();
        for days in [1, 400] {
            let held = peer.call::<()>("hold", ()).timeout(Duration::from_secs(20));
            let held = tokio::spawn(held.into_future());
            within(begun.notified()).await;
            jump(days * DAY).await;
            match within(held).await.unwrap() {
                Err(CallError::TimedOut) => {}
                Err(CallError::Rejected(error)) => assert_eq!(error.code, Code::TIMED_OUT, "{url}"),
                other => panic!("{url}: {other:?}"),
            }
            let after = peer.call::<[u8; 1]>("echo", [1]).timeout(Duration::from_secs(20));
            assert_eq!(within(after.into_future()).await, Ok([1]), "{url} after {days} days");
            // Certificates were to be looked at again thousands of times meanwhile.
            let newcomer = connect(&server.url).await.unwrap();
            assert_eq!(within(newcomer.call("echo", [2]).into_future()).await, Ok([2]), "{url}");
        }
    }
}

#[tokio::test]
async fn a_silent_stream_goes_on_after_the_jump() {
    for url in PLAIN.into_iter().chain(SECURE) {
        let (server, _, items) = start(url).await;
        let peer = connect(&server.url).await.unwrap();
        let mut stream = within(peer.stream::<u32>("items", ()).into_future()).await.unwrap();
        for number in 0..3 {
            jump(DAY).await;
            items.send(number).unwrap();
            assert_eq!(within(stream.next()).await, Some(Ok(number)), "{url}");
        }
    }
}

#[tokio::test]
async fn a_reconnecting_peer_that_waits_is_back_after_the_jump() {
    let attempts = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (server, ..) = start("tcp://127.0.0.1:0").await;
    let (url, count) = (server.url.clone(), Arc::clone(&attempts));
    let connect = move || {
        let (url, attempt) = (url.clone(), count.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        async move {
            match attempt {
                0 => Err(CallError::Unreachable("not yet".into())),
                _ => connect(&url).await.map_err(CallError::from),
            }
        }
    };
    let hour = Duration::from_secs(60 * 60);
    let backoff = Backoff::default().with_first(hour).with_longest(hour).with_jitter(0.0);
    let options = ReconnectOptions::default().with_backoff(backoff).with_connect_wait(100 * DAY);
    let client = ReconnectingPeer::with_options(connect, options);
    let peer = client.peer();
    let call = tokio::spawn(peer.call::<[u8; 1]>("echo", [1]).timeout(100 * DAY).into_future());
    let mut watch = client.watch();
    while attempts.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        within(watch.next()).await;
    }
    jump(DAY).await;
    assert_eq!(within(call).await.unwrap(), Ok([1]));
    // One attempt, not one for each hour of the day.
    assert_eq!(attempts.load(std::sync::atomic::Ordering::SeqCst), 2);
}
