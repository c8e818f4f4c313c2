//! The cases of h2spec against our server, over TCP with prior knowledge. The list is data; `README.md` has the results.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod case;
mod frames;
mod generic;
mod hpack;
mod messages;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use std::collections::HashSet;

use case::{Case, Event, Expect, Step};
use support::{Running, router, serve_with, within};
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::ServerOptions;
use wire::{ACK, PREFACE, SETTINGS, Wire};

/// How many streams the server allows at once.
const STREAMS: u32 = 10;

fn cases() -> Vec<Case> {
    let mut cases = generic::cases();
    cases.extend(streams::cases());
    cases.extend(frames::cases());
    cases.extend(messages::cases());
    cases.extend(hpack::cases());
    cases
}

#[tokio::test]
async fn every_case_of_h2spec_passes_or_is_tolerated_for_a_reason() {
    let options = ServerOptions::default().with_streams(STREAMS);
    let server = serve_with(Endpoint::new(router()), options).await;
    let mut failed = Vec::new();
    for case in cases() {
        let expected = case.tolerated.map_or(case.expected, |(instead, _)| instead);
        let mut seen = Vec::new();
        if !within(run(&server, &case, expected, &mut seen)).await {
            failed.push(format!("{} {}: {expected:?} expected; {seen:?}", case.id, case.title));
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    server.stop().await;
}

#[test]
fn the_results_are_stated() {
    let cases = cases();
    let ids: HashSet<_> = cases.iter().map(|case| case.id).collect();
    assert_eq!(ids.len(), cases.len(), "each identifier stands once");
    let readme = include_str!("README.md");
    let tolerated: Vec<_> = cases.iter().filter(|case| case.tolerated.is_some()).collect();
    let result = format!(
        "{} cases, {} pass, {} tolerated",
        cases.len(),
        cases.len() - tolerated.len(),
        tolerated.len()
    );
    assert!(readme.contains(&result), "README.md must say: {result}");
    for Case { id, tolerated, .. } in tolerated {
        let reason = tolerated.unwrap().1;
        assert!(
            readme.contains(&format!("| `{id}` | ")) && readme.contains(reason),
            "README.md must name {id}: {reason}"
        );
    }
}

/// Runs a case over a connection of its own. Tells whether what comes back is as expected; `seen` is all that came.
async fn run(server: &Running, case: &Case, expected: Expect, seen: &mut Vec<Event>) -> bool {
    let mut wire = Wire::open(server.address).await;
    if case.has_handshake {
        shake_hands(&mut wire).await;
    }
    // In one piece, so that the state in which a frame finds its stream does not depend on how fast the answer is.
    let mut unsent = Vec::new();
    for step in &case.steps {
        match step {
            Step::Send(bytes) => unsent.extend(bytes),
            Step::Await(expected) => {
                wire.send(&std::mem::take(&mut unsent)).await;
                if !wait(&mut wire, *expected, seen).await {
                    return false;
                }
            }
        }
    }
    if case.has_handshake && (case.expected.is_error() || expected.is_error()) {
        unsent.extend(SENTINEL);
    }
    wire.send(&unsent).await;
    wait(&mut wire, expected, seen).await
}

/// A ping whose answer shows that all before it was read.
const SENTINEL: [u8; 17] = *b"\0\0\x08\x06\0\0\0\0\0sentinel";

async fn shake_hands(wire: &mut Wire) {
    wire.send(PREFACE).await;
    let (Step::Send(ours), Step::Send(ack)) = (wire::settings(&[]), wire::frame(SETTINGS, ACK, 0, &[]))
    else {
        return;
    };
    wire.send(&ours).await;
    while wire.event().await != (Event::Settings { is_ack: false }) {}
    wire.send(&ack).await;
    while wire.event().await != (Event::Settings { is_ack: true }) {}
}

/// Waits for an event that decides. After two answered sentinels the server has ignored what was sent: the first answer may go
/// out before frames that were due earlier.
async fn wait(wire: &mut Wire, expected: Expect, seen: &mut Vec<Event>) -> bool {
    let mut sentinels = 0;
    loop {
        let mut event = wire.event().await;
        if event == (Event::Ping { is_ack: true, payload: *b"sentinel" }) {
            sentinels += 1;
            if sentinels < 2 {
                wire.send(&SENTINEL).await;
                continue;
            }
            event = Event::Ignored;
        }
        seen.push(event);
        if let Some(is_right) = expected.judge(event) {
            return is_right;
        }
    }
}
