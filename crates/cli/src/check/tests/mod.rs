//! Each case can fail, and each fault of a server is found.

mod crooked;
mod faults;
mod http2;
mod mcp;
mod rogue;

use std::collections::BTreeSet;
use std::time::Duration;

use http::HeaderMap;
use switchboard::Dial;

use self::rogue::{Reaction, Rogue, has_high_id};
use super::bench::Bench;
use super::cases;
use super::era::Spoken;
use super::found::{Found, Manner};
use super::profile::{Profile, Verdict};
use super::run::one;
use super::watch::Watch;
use super::wire::Endpoint;

/// A bench at this URL, for a server that has everything that cases need.
fn bench(url: &str, profile: Profile, time: Duration) -> Bench {
    let endpoint = Endpoint::new(Dial::new(url).unwrap(), HeaderMap::new(), 16 << 20);
    let mut bench = Bench::new(endpoint, profile, time, 64 << 10);
    bench.found = Found {
        good: Some(("subtract".to_owned(), Some("[42,23]".to_owned()))),
        echo: Some("echo".to_owned()),
        has_subtract: true,
        has_http2: false,
        has_old: true,
        unknown: None,
        invalid: None,
        manner: Manner::default(),
        mcp: Spoken::default(),
    };
    bench
}

/// The cases that fail or warn, and those that cannot be run.
async fn offended(rogue: &Rogue) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let mut bench = bench(&rogue.url, Profile::Strict, Duration::from_millis(150));
    let (mut offended, mut skipped) = (BTreeSet::new(), BTreeSet::new());
    for case in cases::all() {
        match one(&mut bench, &case, &mut Watch::default()).await.verdict {
            Verdict::Fail | Verdict::Warn => offended.insert(case.name),
            Verdict::Skip => skipped.insert(case.name),
            Verdict::Pass => false,
        };
    }
    (offended, skipped)
}

/// Each case fails with a server that closes every connection, or with one that always gives the same answer.
async fn every_case_can_fail(carrier: &'static str) {
    let closing = Rogue::start(carrier, |_, _| Reaction::Close).await;
    let same = Rogue::start(carrier, |message, right| match has_high_id(message) {
        true => right.map_or(Reaction::Nothing, |right| Reaction::Answer(right.to_vec())),
        false => Reaction::Answer(br#"{"jsonrpc":"2.0","result":"same","id":424242}"#.to_vec()),
    })
    .await;
    let (mut failed, skipped) = offended(&closing).await;
    failed.extend(offended(&same).await.0);
    let never: Vec<_> = cases::all()
        .into_iter()
        .map(|case| case.name)
        .filter(|name| !failed.contains(name) && !skipped.contains(name))
        .collect();
    assert!(never.is_empty(), "over {carrier} these cannot fail: {never:?}");
}

#[tokio::test]
async fn every_case_can_fail_over_http() {
    every_case_can_fail("http").await;
}

#[tokio::test]
async fn every_case_can_fail_over_websocket() {
    every_case_can_fail("ws").await;
}

#[tokio::test]
async fn every_case_can_fail_over_lines() {
    every_case_can_fail("lines").await;
}

#[tokio::test]
async fn every_case_can_fail_over_json() {
    every_case_can_fail("json").await;
}

#[tokio::test]
async fn every_case_can_fail_in_the_framing_of_language_servers() {
    every_case_can_fail("lsp").await;
}

#[tokio::test]
async fn every_case_can_fail_with_a_length_before_it() {
    every_case_can_fail("length").await;
}
