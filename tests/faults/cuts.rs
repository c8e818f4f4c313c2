//! Connections that end at any byte, on one side or on both.

use switchboard_core::{CallError, Code, Settings};
use switchboard_tests::proxy::{Fault, Faults};

use crate::rig::{PLAIN, Running, SECURE, connect, within};

/// Calls once, with a number of its own. Gives what came of it, or none if there was no connection.
async fn call(url: &str, number: u32) -> Option<Result<u32, CallError>> {
    let peer = connect(url).await.ok()?;
    Some(within(peer.call("echo", [number]).into_future()).await.map(|[answer]: [u32; 1]| answer))
}

/// All numbers have as many digits.
const FIRST: u32 = 100_000;

/// Tries a fault at every byte of either direction, or at some where there are thousands. What comes is the answer or a
/// failure of the carrier, and the server runs no call twice.
async fn check(url: &'static str, fault: fn(u64) -> Fault) {
    let server = Running::start(url, Settings::default()).await;
    let proxy = server.behind(|_| Faults::default()).await;
    assert_eq!(call(&server.through(&proxy), FIRST).await, Some(Ok(FIRST)), "{url}");
    let (up, down) = proxy.passed();
    // The records of TLS have a test of their own.
    let at_most = if SECURE.contains(&url) { 60 } else { 250 };
    let places = |most: u64| (0..=most).step_by(1 + usize::try_from(most / at_most).unwrap());
    let faults = places(up)
        .map(|at| Faults { up: fault(at), down: Fault::None })
        .chain(places(down).map(|at| Faults { up: Fault::None, down: fault(at) }));
    try_each(&server, url, faults).await;
}

/// Makes one call with each of these faults.
async fn try_each(server: &Running, url: &str, faults: impl Iterator<Item = Faults>) {
    let (mut answered, mut failed) = (0, 0);
    for (faults, number) in faults.zip(FIRST + 1..) {
        let proxy = server.behind(move |_| faults).await;
        match call(&server.through(&proxy), number).await {
            None => failed += 1,
            Some(Ok(answer)) => {
                assert_eq!(answer, number, "{url}: {faults:?}");
                answered += 1;
            }
            Some(Err(
                CallError::Closed(_)
                | CallError::Unreachable(_)
                | CallError::Transport(_)
                | CallError::Protocol(_),
            )) => failed += 1,
            // Half a request is told so, as HTTP has it (RFC 9112, section 8).
            Some(Err(CallError::Rejected(error)))
                if url.starts_with("http") && error.code == Code::INVALID_REQUEST =>
            {
                failed += 1;
            }
            Some(Err(other)) => panic!("{url}: {faults:?}: {other:?}"),
        }
    }
    println!("{url}: {answered} answered, {failed} failed");
    assert!(failed > 0, "{url}: no fault had an effect");
    assert!(server.answers().await, "{url}: the server goes on");
    let calls = server.calls.lock().unwrap();
    assert!(calls.values().all(|ran| *ran == 1), "{url}: a call ran more than once: {calls:?}");
}

#[tokio::test]
async fn a_connection_may_be_cut_at_every_byte() {
    for url in PLAIN {
        check(url, Fault::Cut).await;
    }
}

#[tokio::test]
async fn a_connection_with_tls_may_be_cut_anywhere() {
    for url in SECURE {
        check(url, Fault::Cut).await;
    }
}

/// How many records of TLS go either way in one call. A proxy that counts one direction leaves the other alone.
async fn records(server: &Running, faults: Faults) -> u64 {
    let proxy = server.behind(move |_| faults).await;
    assert_eq!(call(&server.through(&proxy), FIRST).await, Some(Ok(FIRST)));
    proxy.records()
}

#[tokio::test]
async fn a_connection_with_tls_may_be_cut_at_every_record() {
    // Between two, within the header, behind it, and within the record.
    const OFFSETS: [u64; 5] = [0, 1, 4, 5, 6];
    let (none, all) = (Fault::None, Fault::CutRecord(u64::MAX, 0));
    for url in SECURE {
        let server = Running::start(url, Settings::default()).await;
        let up = records(&server, Faults { up: all, down: none }).await;
        let down = records(&server, Faults { up: none, down: all }).await;
        assert!(up > 2 && down > 2, "{url}: {up} records up, {down} down");
        let places = |records| (0..records).flat_map(|at| OFFSETS.map(|byte| Fault::CutRecord(at, byte)));
        let faults = places(up).map(|up| Faults { up, down: none });
        let faults = faults.chain(places(down).map(|down| Faults { up: none, down }));
        server.calls.lock().unwrap().clear();
        try_each(&server, url, faults).await;
    }
}

#[tokio::test]
async fn either_side_may_close_its_half_at_every_byte() {
    for url in PLAIN {
        check(url, Fault::HalfClose).await;
    }
}

#[tokio::test]
async fn who_has_said_all_still_gets_the_answer() {
    for url in &PLAIN[..4] {
        let server = Running::start(url, Settings::default()).await;
        let whole = server.behind(|_| Faults::default()).await;
        assert_eq!(call(&server.through(&whole), FIRST).await, Some(Ok(FIRST)));
        let (up, _) = whole.passed();
        let proxy = server.behind(move |_| Faults { up: Fault::HalfClose(up), down: Fault::None }).await;
        assert_eq!(call(&server.through(&proxy), FIRST).await, Some(Ok(FIRST)), "{url}");
    }
}
