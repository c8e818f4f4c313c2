//! The cases of the Autobahn test suite, played against our WebSocket in both directions.
//!
//! `cases.txt` holds them as data, `results.txt` every result that is not OK; README.md says where they come from. The
//! fuzzer has its own frame codec, so that it shares no mistakes with ours. Time is paused: a second of silence passes when
//! neither side has anything left to do.

#![allow(clippy::unwrap_used)]

mod case;
mod echo;
mod extensions;
mod frame;
mod fuzzer;
mod results;

use case::Case;
use frame::Side;
use results::Results;

/// Plays the cases of these sections; those whose result is not the stated one, with what came instead.
async fn check(side: Side, sections: &[&str]) {
    let stated = Results::read();
    let mut surprises = String::new();
    for case in Case::all().filter(|case| sections.contains(&case.section())) {
        let stream = match side {
            Side::Client => echo::server().await,
            Side::Server => echo::client().await,
        };
        let observed = fuzzer::play(&case, side, stream).await;
        let result = observed.judge(&case);
        if result != stated.of(&case.id) {
            surprises += &format!("{}: {result}, {observed}\n  {}\n", case.id, case.about);
        }
    }
    assert!(surprises.is_empty(), "{surprises}");
}

const BEHAVIOUR: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "10"];
const LIMITS: &[&str] = &["9"];

#[tokio::test(start_paused = true)]
async fn our_server_gets_the_stated_result_in_every_case() {
    check(Side::Client, BEHAVIOUR).await;
}

#[tokio::test(start_paused = true)]
async fn our_client_gets_the_stated_result_in_every_case() {
    check(Side::Server, BEHAVIOUR).await;
}

#[tokio::test(start_paused = true)]
async fn our_server_echoes_long_messages_however_they_are_cut() {
    check(Side::Client, LIMITS).await;
}

#[tokio::test(start_paused = true)]
async fn our_client_echoes_long_messages_however_they_are_cut() {
    check(Side::Server, LIMITS).await;
}

#[test]
fn the_list_of_cases_is_complete() {
    let ids: Vec<String> = Case::all().map(|case| case.id).collect();
    let count = |section: &str| ids.iter().filter(|id| id.split('.').next() == Some(section)).count();
    let counts = ["1", "2", "3", "4", "5", "6", "7", "9", "10"].map(count);
    assert_eq!(counts, [16, 11, 7, 10, 20, 145, 37, 54, 1]);
    assert_eq!(counts.iter().sum::<usize>(), ids.len());
    Results::read().ids().for_each(|id| assert!(ids.iter().any(|known| known == id), "no case {id}"));
}
