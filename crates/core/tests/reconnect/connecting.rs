//! When it connects, when it gives up, and what can be seen of that.

use std::time::Duration;

use switchboard_core::reconnect::{Backoff, ConnectionState, ReconnectOptions, ReconnectingPeer};
use switchboard_core::{CallError, ErrorObject, Json, Method, Peer, Router, RouterBuilder};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::rig::{Server, at_once, nobody_listens};

fn echo() -> RouterBuilder {
    Router::builder().add(Method::sync("echo", |params: Json, _| Ok::<_, ErrorObject>(params)))
}

fn with(backoff: Backoff) -> ReconnectOptions {
    ReconnectOptions::default().with_backoff(backoff)
}

#[tokio::test(start_paused = true)]
async fn attempts_follow_the_schedule_to_the_millisecond() {
    let (server, mut dials) = Server::new(echo());
    server.refuse(nobody_listens());
    let backoff = Backoff::default().with_jitter(0.0).with_longest(Duration::from_secs(1));
    let _client = server.client(with(backoff));
    let mut last = dials.recv().await.unwrap();
    for expected in [100, 200, 400, 800, 1000, 1000] {
        let next = dials.recv().await.unwrap();
        assert_eq!((next - last).as_millis(), expected);
        last = next;
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_schedule_and_others_differ() {
    let mut schedules = Vec::new();
    for seed in [5, 5, 6] {
        let (server, mut dials) = Server::new(echo());
        server.refuse(nobody_listens());
        let _client = server.client(with(Backoff::default().with_seed(Some(seed))));
        let start = Instant::now();
        let mut schedule = Vec::new();
        for _ in 0..8 {
            schedule.push(dials.recv().await.unwrap() - start);
        }
        schedules.push(schedule);
    }
    assert_eq!(schedules[0], schedules[1]);
    assert_ne!(schedules[0], schedules[2]);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_stops_the_attempts() {
    let (server, _) = Server::new(echo());
    server.refuse(Some(CallError::CannotConnect("the certificate is for another host".into())));
    let client = server.client(at_once());
    let expected = CallError::CannotConnect("the certificate is for another host".into());
    assert_eq!(client.watch().connected().await, Err(expected.clone()));
    assert_eq!(client.peer().call::<Json>("echo", ()).await, Err(expected.clone()));
    assert_eq!(client.peer().closed().await, expected);
    assert_eq!(server.dialled(), 1);
    // Whoever comes late sees how it ended, and does not wait for another change.
    let mut late = client.watch();
    assert_eq!((late.next().await, late.next().await), (Some(ConnectionState::Closed(expected)), None));
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_after_so_many_attempts_and_says_what_the_last_met() {
    let (server, _) = Server::new(echo());
    server.refuse(nobody_listens());
    let client = server.client(with(Backoff::default().with_attempts(Some(3))));
    let error = client.peer().call::<Json>("echo", ()).await.unwrap_err();
    assert_eq!(error, CallError::Unreachable("gave up after 3 failed attempts: nobody listens".into()));
    assert_eq!(server.dialled(), 3);
}

#[tokio::test(start_paused = true)]
async fn connections_that_break_soon_count_as_failed_attempts_though_something_was_answered() {
    let (server, _) = Server::new(echo());
    let client = server.client(with(Backoff::default().with_attempts(Some(3))));
    let (peer, mut watch) = (client.peer(), client.watch());
    for _ in 0..3 {
        watch.connected().await.unwrap();
        assert_eq!(peer.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
        server.cut();
        watch.next().await.unwrap();
    }
    assert!(peer.closed().await.to_string().contains("gave up after 3"));
    assert_eq!(server.dialled(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_never_there_is_given_up_sooner_than_one_that_was() {
    let longest = Duration::from_secs(1);
    let backoff = Backoff::default().with_initial_attempts(Some(2)).with_longest(longest);
    let (server, _) = Server::new(echo());
    server.refuse(nobody_listens());
    let error = server.client(with(backoff.clone())).watch().connected().await.unwrap_err();
    assert!(error.to_string().contains("gave up after 2"), "{error}");
    // One that was there, however briefly, is waited for.
    let (server, mut dials) = Server::new(echo());
    server.break_at_once();
    let client = server.client(with(backoff));
    dials.recv().await.unwrap();
    server.refuse(nobody_listens());
    for _ in 0..20 {
        dials.recv().await.unwrap();
    }
    server.refuse(None);
    assert_eq!(client.peer().call::<[u8; 1]>("echo", [1]).await, Ok([1]));
}

#[tokio::test(start_paused = true)]
async fn a_server_behind_a_peer_without_a_connection_was_there_if_it_answered() {
    for answers_first in [false, true] {
        let (server, mut dials) = Server::new(echo());
        let backoff = Backoff::default().with_initial_attempts(Some(1));
        let client = server.client_without_connections(with(backoff));
        if answers_first {
            client.peer().call::<Json>("echo", [1]).await.unwrap();
            dials.recv().await.unwrap();
        }
        server.refuse(nobody_listens());
        let call = tokio::spawn(client.peer().call::<[u8; 1]>("echo", [2]).into_future());
        if answers_first {
            for _ in 0..3 {
                dials.recv().await.unwrap();
            }
            server.refuse(None);
        }
        let expected = if answers_first { Ok([2]) } else { Err(nobody_listens().unwrap()) };
        assert_eq!(call.await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_given_up() {
    let backoff = Backoff::default().with_attempts(Some(1));
    let connect = std::future::pending::<Result<Peer, CallError>>;
    let client = ReconnectingPeer::with_options(connect, with(backoff));
    let start = Instant::now();
    let error = client.watch().connected().await.unwrap_err();
    assert!(error.to_string().contains("connect_time"), "{error}");
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn each_state_can_be_seen() {
    let (server, _) = Server::new(echo());
    let client = server.client(at_once());
    let mut watch = client.watch();
    assert_eq!(watch.state(), ConnectionState::Connecting { attempt: 1 });
    watch.connected().await.unwrap();
    server.refuse(nobody_listens());
    server.cut();
    loop {
        match watch.next().await.unwrap() {
            ConnectionState::Waiting { attempt, until, reason } if reason == "nobody listens" => {
                assert!(attempt > 1 && until >= Instant::now());
                break;
            }
            ConnectionState::Waiting { .. }
            | ConnectionState::Connecting { .. }
            | ConnectionState::Connected => {}
            other => panic!("{other:?}"),
        }
    }
    server.refuse(None);
    watch.connected().await.unwrap();
    drop(client);
    while let Some(state) = watch.next().await {
        assert!(matches!(state, ConnectionState::Closed(CallError::Closed(_))), "{state:?}");
    }
}

#[tokio::test]
async fn dropping_the_last_peer_ends_all() {
    let before = Handle::current().metrics().num_alive_tasks();
    let (server, _) = Server::new(echo());
    let peer = server.client(at_once()).peer();
    let other = peer.clone();
    drop(peer);
    assert_eq!(other.call::<[u8; 1]>("echo", [1]).await, Ok([1]));
    drop(other);
    while Handle::current().metrics().num_alive_tasks() > before {
        tokio::task::yield_now().await;
    }
}
