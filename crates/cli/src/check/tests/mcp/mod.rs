//! Servers of the Model Context Protocol: one without faults passes every case, and each fault fails the case about it.

mod faults;
mod meddler;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::faults::Row;
use self::meddler::Meddler;
use super::bench;
use crate::check::cases;
use crate::check::era::Spoken;
use crate::check::found::{Found, Manner};
use crate::check::profile::{MCP, Profile, Verdict};
use crate::check::progress::Progress;
use crate::check::report::Finding;
use crate::check::run::run;

/// The findings of all cases of the protocol.
async fn findings(url: &str) -> Vec<Finding> {
    let mut bench = bench(url, Profile::Mcp, Duration::from_secs(2));
    bench.found = Found::default();
    Spoken::look(&mut bench).await;
    let came = bench.greet().await;
    bench.found.manner = Manner::of(&came).unwrap_or_else(|| panic!("{came}"));
    let tried = cases::all().into_iter().filter(|case| case.area.starts_with(MCP)).collect();
    let findings = run(&mut bench, tried, &mut Progress::default()).await;
    findings.into_iter().filter(|finding| finding.area.starts_with(MCP)).collect()
}

fn offended(findings: &[Finding]) -> Vec<&'static str> {
    let is_bad = |it: &&Finding| matches!(it.verdict, Verdict::Fail | Verdict::Warn);
    findings.iter().filter(is_bad).map(|finding| finding.name).collect()
}

/// The names of the cases that were run.
fn ran(findings: &[Finding]) -> BTreeSet<&'static str> {
    findings.iter().filter(|it| it.verdict != Verdict::Skip).map(|it| it.name).collect()
}

/// The cases that a server over HTTP is judged by.
fn over_http() -> BTreeSet<&'static str> {
    let all = cases::all().into_iter().filter(|case| case.area.starts_with(MCP) && case.area != "mcp-stdio");
    all.map(|case| case.name).filter(|name| *name != "mcp-before-initialize").collect()
}

#[tokio::test]
async fn a_server_without_faults_passes_every_case() {
    let server = Meddler::http(Arc::new(|_, _| {})).await;
    let found = findings(&server.url).await;
    assert_eq!(offended(&found), [""; 0], "{found:#?}");
    // Every case finds what it needs, so none of those below is skipped.
    assert_eq!(ran(&found), over_http());
    let server = Meddler::lines("", true, |line| Some(line.clone())).await;
    let found = findings(&server.url).await;
    assert_eq!(offended(&found), [""; 0], "{found:#?}");
    assert!(ran(&found).is_superset(&BTreeSet::from([
        "mcp-before-initialize",
        "mcp-end-of-input",
        "stateless-listen"
    ])));
}

/// Each of these faults is found by its case, and by no other.
async fn check(rows: Vec<Row>) {
    for (name, fault) in rows {
        let server = Meddler::http(fault).await;
        let found = findings(&server.url).await;
        assert_eq!(
            offended(&found),
            [name],
            "{:#?}",
            found.iter().filter(|it| it.verdict == Verdict::Fail).collect::<Vec<_>>()
        );
    }
}

#[test]
fn there_is_a_fault_for_every_case() {
    let all =
        [faults::sessions(), faults::features(), faults::http(), faults::stateless(), faults::headers()];
    let known: BTreeSet<_> = all.into_iter().flatten().map(|(name, _)| name).collect();
    assert_eq!(known, over_http());
}

#[tokio::test]
async fn faults_of_sessions_are_found() {
    // MCP-B-01, MCP-B-04, MCP-B-06, MCP-B-08, MCP-C-01, MCP-HTTP-17, MCP-L-01, MCP-L-02, MCP-L-03, MCP-L-07, MCP-L-11, MCP-S-03
    check(faults::sessions()).await;
}

#[tokio::test]
async fn faults_of_features_are_found_in_both_eras() {
    // MCP-G-01, MCP-L-08, MCP-LOG-01, MCP-M-11, MCP-O-01, MCP-PR-01, MCP-PR-02, MCP-RES-01, MCP-RES-03, MCP-RES-04
    // MCP-T-01, MCP-T-02, MCP-T-03, MCP-T-05, MCP-T-07, MCP-T-10
    check(faults::features()).await;
}

#[tokio::test]
async fn faults_of_sessions_over_http_are_found() {
    // MCP-HTTP-01, MCP-HTTP-02, MCP-HTTP-04, MCP-HTTP-05, MCP-HTTP-08, MCP-HTTP-12, MCP-HTTP-13, MCP-HTTP-14, MCP-SEC-01
    check(faults::http()).await;
}

#[tokio::test]
async fn faults_of_stateless_requests_are_found() {
    // MCP-D-01, MCP-K-01, MCP-M-01, MCP-M-02, MCP-M-03, MCP-M-05, MCP-M-06, MCP-M-07, MCP-M-09, MCP-N-03, MCP-N-04, MCP-N-09
    // MCP-T-09, MCP-U-01, MCP-U-02
    check(faults::stateless()).await;
}

#[tokio::test]
async fn faults_of_headers_are_found() {
    // MCP-N-01, MCP-N-02, MCP-N-07, MCP-N-08, MCP-N-13
    check(faults::headers()).await;
}

#[tokio::test]
async fn faults_over_lines_are_found() {
    let same: fn(&Value) -> Option<Value> = |line| Some(line.clone());
    // Whatever was asked first is not answered, unless it opens a session.
    let late: fn(&Value) -> Option<Value> =
        |line| (line["id"] != 1 || line["error"]["code"] != -32600).then(|| line.clone());
    let rows = [
        // MCP-S-01, MCP-S-02
        ("mcp-only-messages", "Listening on standard input\n", true, same),
        // MCP-S-04, MCP-L-10
        ("mcp-end-of-input", "", false, same),
        // MCP-L-06
        ("mcp-before-initialize", "", true, late),
    ];
    for (name, first, ends, change) in rows {
        let server = Meddler::lines(first, ends, change).await;
        let found = findings(&server.url).await;
        assert_eq!(offended(&found), [name], "{found:#?}");
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_checked_by_its_stateless_requests() {
    // MCP-X-01
    let server = Meddler::http(Arc::new(|asked, told| {
        if asked.is("initialize") {
            told.status = 404;
            told.body = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32601, "message": "no" } });
        }
    }))
    .await;
    let found = findings(&server.url).await;
    assert_eq!(offended(&found), [""; 0], "{found:#?}");
    let ran = ran(&found);
    assert!(ran.contains("stateless-discover"), "{ran:?}");
    assert!(ran.iter().all(|name| name.starts_with("stateless-")), "{ran:?}");
}

#[tokio::test]
async fn a_server_that_knows_only_plain_calls_speaks_no_era() {
    let server = Meddler::http(Arc::new(|_, told| {
        told.status = 200;
        told.body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "no" } });
    }))
    .await;
    let mut bench = bench(&server.url, Profile::Mcp, Duration::from_secs(2));
    Spoken::look(&mut bench).await;
    assert!(bench.found.mcp.sessions.is_none() && bench.found.mcp.stateless.is_none());
}
