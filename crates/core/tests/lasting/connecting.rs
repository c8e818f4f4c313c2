//! When it connects, when it gives up, and what can be seen of that.

use std::time::Duration;

use switchboard_core::lasting::{Backoff, DialError, Options, State};
use switchboard_core::{CallError, ErrorObject, Json, Method, Router, RouterBuilder};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::rig::{Server, at_once, nobody_listens};

fn echo() -> RouterBuilder {
    Router::builder().add(Method::sync("echo", |params: Json, _| Ok::<_, ErrorObject>(params)))
}

fn with(backoff: Backoff) -> Options {
    Options { backoff, ..Options::default() }
}

#[tokio::test(start_paused = true)]
async fn attempts_follow_the_schedule_to_the_millisecond() {
    let (server, mut dials) = Server::new(echo());
    server.refuse(nobody_listens());
    let backoff = Backoff { jitter: 0.0, longest: Duration::from_secs(1), ..Backoff::default() };
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
        let _client = server.client(with(Backoff { seed: Some(seed), ..Backoff::default() }));
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
async fn what_will_not_heal_stops_the_attempts() {
    let (server, _) = Server::new(echo());
    server.refuse(Some(DialError::Refused("the certificate is for another host".into())));
    let lasting = server.client(at_once());
    let expected = CallError::Unreachable("the certificate is for another host".into());
    assert_eq!(lasting.watch().connected().await, Err(expected.clone()));
    assert_eq!(lasting.peer().call::<Json>("echo", ()).await, Err(expected.clone()));
    assert_eq!(lasting.peer().closed().await, expected);
    assert_eq!(server.dialled(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_after_so_many_attempts_and_says_what_the_last_met() {
    let (server, _) = Server::new(echo());
    server.refuse(nobody_listens());
    let lasting = server.client(with(Backoff { attempts: Some(3), ..Backoff::default() }));
    let error = lasting.peer().call::<Json>("echo", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::Unreachable(why) if why.contains("nobody listens")), "{error}");
    assert_eq!(server.dialled(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_given_up() {
    let backoff = Backoff { attempts: Some(1), ..Backoff::default() };
    let dial = std::future::pending::<Result<switchboard_core::Peer, DialError>>;
    let lasting = switchboard_core::lasting::Lasting::new(dial, with(backoff));
    let start = Instant::now();
    let error = lasting.watch().connected().await.unwrap_err();
    assert!(error.to_string().contains("dial_time"), "{error}");
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn each_state_can_be_seen() {
    let (server, _) = Server::new(echo());
    let lasting = server.client(at_once());
    let mut watch = lasting.watch();
    assert_eq!(watch.state(), State::Connecting { attempt: 1 });
    watch.connected().await.unwrap();
    server.refuse(nobody_listens());
    server.cut();
    loop {
        match watch.next().await.unwrap() {
            State::Waiting { attempt, until, reason } if reason == "nobody listens" => {
                assert!(attempt > 1 && until >= Instant::now());
                break;
            }
            State::Waiting { .. } | State::Connecting { .. } | State::Connected => {}
            other => panic!("{other:?}"),
        }
    }
    server.refuse(None);
    watch.connected().await.unwrap();
    drop(lasting);
    while let Some(state) = watch.next().await {
        assert!(matches!(state, State::Closed(CallError::Closed(_))), "{state:?}");
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
