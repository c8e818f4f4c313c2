//! What it costs to be observed: a log in a file, metrics, and traces of which one in a hundred is recorded.

use std::hint::black_box;
use std::io;

use super::{http, interleave, timing};
use crate::cases;
use crate::cases::observed::{LOGGED, TRACED, UNOBSERVED};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::observability::{IN_PROCESS, OVER_HTTP};
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::servers;
use crate::workload::Workload;

const TIME: &str = "ns/call";

const CPU: &str = "CPU us";

/// Compares calls in process, and requests over 16 connections.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let section = Section {
        title: IN_PROCESS.to_owned(),
        columns: vec![TIME],
        ratios: vec![Ratio { column: TIME, base: UNOBSERVED }],
        rows: in_process(options)?,
    };
    let goal = |name, limit| {
        let ratio = Ratio { column: TIME, base: UNOBSERVED };
        Goal::on_ratio_of(name, &section, ratio, Limit::AtMost(limit))
    };
    let goals = vec![goal(LOGGED, 1.3), goal(TRACED, 1.5)];
    findings.add(section, goals);
    let section = Section {
        title: OVER_HTTP.to_owned(),
        columns: vec!["requests/s", CPU, http::LOAD],
        ratios: vec![Ratio { column: CPU, base: "switchboard" }],
        rows: http::measure(options, servers::OBSERVABILITY, Workload::Add, "", 16)?,
    };
    let ratio = Ratio { column: CPU, base: "switchboard" };
    let goals = vec![Goal::on_ratio_of(servers::OBSERVED, &section, ratio, Limit::AtMost(1.08))];
    findings.add(section, goals);
    Ok(findings)
}

fn in_process(options: &Options) -> io::Result<Vec<Row>> {
    let mut subjects = Vec::new();
    for case in cases::observability() {
        cases::check(&*case, Workload::Add)?;
        subjects.push((case.name().to_owned(), case));
    }
    let body = Workload::Add.body();
    interleave(&mut subjects, options.rounds(), |case| {
        Ok(vec![timing::nanoseconds(options.local_round(), || case.call(black_box(&body).clone()))])
    })
}
