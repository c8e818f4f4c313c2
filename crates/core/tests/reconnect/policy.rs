//! Who decides whether a call is sent again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use switchboard_core::reconnect::{ConnectionState, ReconnectOptions, RepeatPolicy};
use switchboard_core::{Call, CallError, Context, ErrorObject, Json, Method, Remote, Router};
use tokio::sync::Semaphore;

use crate::rig::{Server, at_once, nobody_listens};

/// A server whose method `work` never answers, and whose method `may` says whether that may be sent again.
struct Working {
    server: Server,
    started: Arc<Semaphore>,
    asked: Arc<AtomicUsize>,
}

fn working(may: bool) -> Working {
    let (started, asked) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (tell, count) = (Arc::clone(&started), Arc::clone(&asked));
    let work = Method::future("work", move |_: Json, _: Context| {
        tell.add_permits(1);
        std::future::pending::<Result<Json, ErrorObject>>()
    });
    let may = Method::sync("may", move |_: Json, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok::<_, ErrorObject>(may)
    });
    let (server, _) = Server::new(Router::builder().add(work).add(may));
    Working { server, started, asked }
}

/// Asks the server, over the next connection.
fn asking() -> ReconnectOptions {
    let repeat = RepeatPolicy::new(|lost| async move {
        assert!(matches!(lost.error, CallError::Closed(_)), "{lost:?}");
        lost.connection().await?.call("may", ()).await
    });
    at_once().with_repeat(repeat)
}

#[tokio::test]
async fn a_policy_can_ask_the_server_over_the_next_connection() {
    for may in [true, false] {
        for on_demand in [true, false] {
            let Working { server, started, asked } = working(may);
            let client = server.client(asking().with_on_demand(on_demand));
            let call = tokio::spawn(client.peer().call::<Json>("work", ()).into_future());
            started.acquire().await.unwrap().forget();
            server.cut();
            if may {
                started.acquire().await.unwrap().forget();
                call.abort();
            } else {
                let error = call.await.unwrap().unwrap_err();
                assert!(error.to_string().contains("may or may not have run"), "{error}");
            }
            assert_eq!((asked.load(Ordering::SeqCst), server.dialled()), (1, 2));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_is_no_question() {
    let Working { server, started, asked } = working(false);
    server.refuse(nobody_listens());
    let client = server.client(asking().with_on_demand(true));
    let call = tokio::spawn(client.peer().call::<Json>("work", ()).into_future());
    let mut watch = client.watch();
    while !matches!(watch.next().await, Some(ConnectionState::Waiting { .. })) {}
    server.refuse(None);
    started.acquire().await.unwrap().forget();
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    call.abort();
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_lost_is_asked_again_until_the_attempts_are_used_up() {
    let Working { server, started, .. } = working(true);
    let mut options = asking();
    options.backoff.attempts = Some(3);
    for on_demand in [true, false] {
        let client = server.client(options.clone().with_on_demand(on_demand));
        let before = server.dialled();
        let call = tokio::spawn(client.peer().call::<Json>("work", ()).into_future());
        started.acquire().await.unwrap().forget();
        server.break_at_once();
        server.cut();
        // The second connection broke before it could be asked over.
        started.acquire().await.unwrap().forget();
        assert_eq!(server.dialled() - before, 3);
        server.refuse(nobody_listens());
        server.cut();
        let error = call.await.unwrap().unwrap_err();
        assert!(
            matches!(&error, CallError::Closed(why) if why.contains("may or may not have run")),
            "{error}"
        );
        server.refuse(None);
    }
}

#[tokio::test]
async fn a_policy_decides_for_each_call_of_a_batch() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (tell, started) = (Arc::clone(&seen), Arc::new(Semaphore::new(0)));
    let running = Arc::clone(&started);
    let work = Method::future("work", move |(n,): (u32,), _: Context| {
        tell.lock().unwrap().push(n);
        running.add_permits(1);
        std::future::pending::<Result<Json, ErrorObject>>()
    });
    let (server, _) = Server::new(Router::builder().add(work));
    let repeat = RepeatPolicy::new(|lost| async move {
        Ok(lost.call.params.is_some_and(|params| params.as_str() == "[2]"))
    });
    let client = server.client_without_connections(at_once().with_repeat(repeat).with_on_demand(true));
    let call = |n: u32| Call::new("work", Some(Json::encode(&[n]).unwrap()));
    let batch = tokio::spawn(Remote::batch(&client, vec![call(1), call(2)]));
    started.acquire_many(2).await.unwrap().forget();
    server.cut();
    started.acquire().await.unwrap().forget();
    assert_eq!(*seen.lock().unwrap(), [1, 2, 2]);
    batch.abort();
}
