//! Connections that are made when something is to be sent, and not before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_core::reconnect::{
    Backoff, ConnectionState, ReconnectOptions, ReconnectingPeer, RepeatPolicy,
};
use switchboard_core::{CallError, Context, ErrorObject, Json, Method, Router, RouterBuilder};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::rig::{Server, nobody_listens};

fn echo() -> RouterBuilder {
    Router::builder().add(Method::sync("echo", |params: Json, _| Ok::<_, ErrorObject>(params)))
}

/// Four attempts, after 100, 200 and 400 ms.
fn four_attempts() -> ReconnectOptions {
    let backoff = Backoff::default().with_attempts(Some(4)).with_jitter(0.0);
    ReconnectOptions::default().with_backoff(backoff).with_on_demand(true)
}

/// What a call comes to, and how many milliseconds it takes.
async fn timed(client: &ReconnectingPeer) -> (Result<[u8; 1], CallError>, u128) {
    let start = Instant::now();
    (client.peer().call("echo", [1]).await, start.elapsed().as_millis())
}

async fn until_idle(client: &ReconnectingPeer) {
    let mut watch = client.watch();
    while watch.state() != ConnectionState::Idle {
        watch.next().await;
    }
}

/// Clients with and without connections of their own behave alike.
fn clients(server: &Server, options: ReconnectOptions) -> [ReconnectingPeer; 2] {
    [server.client(options.clone()), server.client_without_connections(options)]
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_made_when_something_is_sent_and_not_before() {
    let (server, mut dials) = Server::new(echo());
    let client = server.client(four_attempts());
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!((server.dialled(), client.watch().state()), (0, ConnectionState::Idle));
    assert_eq!(timed(&client).await, (Ok([1]), 0));
    dials.recv().await.unwrap();
    // One that breaks while nothing needs it is not missed, and replaced without delay.
    server.cut();
    until_idle(&client).await;
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(server.dialled(), 1);
    assert_eq!(timed(&client).await, (Ok([1]), 0));
    assert_eq!(server.dialled(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_has_its_attempts_and_fails_with_what_the_last_met() {
    let (server, mut dials) = Server::new(echo());
    server.refuse(nobody_listens());
    for client in clients(&server, four_attempts()) {
        assert_eq!(timed(&client).await, (Err(nobody_listens().unwrap()), 700));
        let mut moments = Vec::new();
        while let Ok(moment) = dials.try_recv() {
            moments.push(moment);
        }
        let delays: Vec<_> = moments.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400]);
    }
}

#[tokio::test(start_paused = true)]
async fn after_attempts_in_vain_other_calls_have_one_each_until_something_is_answered() {
    for index in 0..2 {
        let (server, _) = Server::new(echo());
        server.refuse(nobody_listens());
        let client = clients(&server, four_attempts())[index].clone();
        let nobody = || Err(nobody_listens().unwrap());
        assert_eq!(timed(&client).await, (nobody(), 700));
        assert_eq!(timed(&client).await, (nobody(), 0));
        assert_eq!(timed(&client).await, (nobody(), 0));
        assert_eq!(server.dialled(), 6);
        server.refuse(None);
        assert_eq!(timed(&client).await, (Ok([1]), 0));
        server.refuse(nobody_listens());
        if index == 0 {
            server.cut();
            until_idle(&client).await;
        }
        assert_eq!(timed(&client).await, (nobody(), 700));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_lost_together_wait_for_one_attempt() {
    let (server, _) = Server::new(echo());
    server.refuse(nobody_listens());
    let client = server.client(four_attempts());
    let calls = (0..30).map(|_| timed(&client));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome, (Err(nobody_listens().unwrap()), 700));
    }
    assert_eq!(server.dialled(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_is_not_retried_but_does_not_close_the_peer() {
    let (server, _) = Server::new(echo());
    let error = CallError::CannotConnect("the program was not found".into());
    server.refuse(Some(error.clone()));
    let client = server.client(four_attempts());
    assert_eq!(timed(&client).await, (Err(error.clone()), 0));
    assert_eq!(timed(&client).await, (Err(error), 0));
    assert_eq!(server.dialled(), 2);
    server.refuse(None);
    assert_eq!(timed(&client).await, (Ok([1]), 0));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_of_a_peer_without_a_connection_is_not_retried() {
    let (server, _) = Server::new(echo());
    let error = CallError::CannotConnect("the certificate is not trusted".into());
    server.refuse(Some(error.clone()));
    let client = server.client_without_connections(four_attempts());
    assert_eq!(timed(&client).await, (Err(error), 0));
    assert_eq!(server.dialled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_every_connection_is_sent_only_so_often_whatever_else_is_answered() {
    let (runs, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, tell) = (Arc::clone(&runs), Arc::clone(&started));
    let fatal = Method::future("fatal", move |_: Json, _: Context| {
        count.fetch_add(1, Ordering::SeqCst);
        tell.add_permits(1);
        std::future::pending::<Result<Json, ErrorObject>>()
    });
    let (server, _) = Server::new(echo().add(fatal));
    let repeat = RepeatPolicy::new(|_| std::future::ready(Ok(true)));
    let client = server.client(four_attempts().with_repeat(repeat));
    let call = tokio::spawn(client.peer().call::<Json>("fatal", ()).into_future());
    for _ in 0..4 {
        started.acquire().await.unwrap().forget();
        assert_eq!(timed(&client).await.0, Ok([1]));
        server.cut();
    }
    assert!(matches!(call.await.unwrap(), Err(CallError::Closed(_))));
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_repeatable_call_that_a_leaving_server_gives_up_is_sent_again() {
    let (runs, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (count, tell) = (Arc::clone(&runs), Arc::clone(&started));
    let once = Method::future("once", move |_: Json, _: Context| {
        let run = count.fetch_add(1, Ordering::SeqCst);
        tell.add_permits(1);
        async move {
            if run == 0 {
                std::future::pending::<()>().await;
            }
            Ok::<_, ErrorObject>(run)
        }
    });
    let (server, _) = Server::new(Router::builder().add(once));
    let client = server.client(four_attempts());
    let call = tokio::spawn(client.peer().call::<usize>("once", ()).repeatable().into_future());
    started.acquire().await.unwrap().forget();
    server.drain();
    assert_eq!(call.await.unwrap(), Ok(1));
}
