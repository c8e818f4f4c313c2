//! A megabyte in, or a megabyte out: nobody may look at it more than once.

use std::fmt;
use std::hint::black_box;
use std::io;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{interleave, timing};
use crate::cases;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::scanner;
use crate::workload::Workload;

/// Validates the bytes with our scanner, then copies them: what the work cannot be done without.
const SCAN_AND_COPY: &str = "scan+copy";

/// The same with serde_json, the validator everybody else uses.
const SERDE_AND_COPY: &str = "serde_json+copy";

const WORKLOADS: [Workload; 4] =
    [Workload::NestedParams, Workload::StringParams, Workload::TextResult, Workload::DocumentResult];

type Subject = Box<dyn FnMut() -> Bytes>;

/// Compares every large workload with validating its bytes once and copying them once.
///
/// # Errors
/// When an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    for workload in WORKLOADS {
        let to_scan = Ratio { column: "us/call", base: SCAN_AND_COPY };
        let section = Section {
            title: workload.title(),
            columns: vec![to_scan.column],
            ratios: vec![
                to_scan,
                Ratio { base: SERDE_AND_COPY, ..to_scan },
                Ratio { base: "jsonrpsee", ..to_scan },
            ],
            rows: measure(options, workload)?,
        };
        let goal = Goal::on_ratio(&section, to_scan, Limit::AtMost(1.3));
        findings.add(section, [goal]);
    }
    Ok(findings)
}

fn measure(options: &Options, workload: Workload) -> io::Result<Vec<Row>> {
    let mut subjects = baselines(workload.payload());
    for case in cases::all() {
        cases::check(&*case, workload)?;
        let (name, body) = (case.name().to_owned(), workload.body());
        subjects.push((name, Box::new(move || case.call(black_box(&body).clone()))));
    }
    interleave(&mut subjects, options.rounds(), |work| {
        Ok(vec![timing::nanoseconds(options.local_round(), work) / 1e3])
    })
}

fn baselines(payload: Bytes) -> Vec<(String, Subject)> {
    let same = payload.clone();
    let scan = move || {
        expect_valid(scanner::validate(black_box(&payload)));
        Bytes::copy_from_slice(&payload)
    };
    let serde = move || {
        expect_valid(serde_json::from_slice::<&RawValue>(black_box(&same)));
        Bytes::copy_from_slice(&same)
    };
    vec![(SCAN_AND_COPY.to_owned(), Box::new(scan)), (SERDE_AND_COPY.to_owned(), Box::new(serde))]
}

fn expect_valid<T, E: fmt::Debug>(outcome: Result<T, E>) {
    black_box(outcome.expect("the workloads are JSON"));
}
