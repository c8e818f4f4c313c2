//! A megabyte in, or a megabyte out: nobody may look at it more than once.

use std::fmt;
use std::hint::black_box;
use std::io;

use bytes::Bytes;
use serde_json::value::RawValue;
use switchboard::Json;

use super::{interleave, timing};
use crate::cases;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::scanner;
use crate::workload::Workload;

/// Validates the bytes by all the rules of the product, then copies them: what the work cannot be done without.
const VALIDATE_AND_COPY: &str = "validate+copy";

/// The same with the floor's scanner, which looks for no name that stands twice and counts no members.
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
        let to_once = Ratio { column: "us/call", base: VALIDATE_AND_COPY };
        let section = Section {
            title: workload.title(),
            columns: vec![to_once.column],
            ratios: vec![
                to_once,
                Ratio { base: SCAN_AND_COPY, ..to_once },
                Ratio { base: SERDE_AND_COPY, ..to_once },
                Ratio { base: "jsonrpsee", ..to_once },
            ],
            rows: measure(options, workload)?,
        };
        let goal = Goal::on_ratio(&section, to_once, Limit::AtMost(1.3));
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
    let (same, ours) = (payload.clone(), payload.clone());
    let validate = move || {
        expect_valid(Json::parse(black_box(&ours).clone()));
        Bytes::copy_from_slice(&ours)
    };
    let scan = move || {
        expect_valid(scanner::validate(black_box(&payload)));
        Bytes::copy_from_slice(&payload)
    };
    let serde = move || {
        expect_valid(serde_json::from_slice::<&RawValue>(black_box(&same)));
        Bytes::copy_from_slice(&same)
    };
    vec![
        (VALIDATE_AND_COPY.to_owned(), Box::new(validate)),
        (SCAN_AND_COPY.to_owned(), Box::new(scan)),
        (SERDE_AND_COPY.to_owned(), Box::new(serde)),
    ]
}

fn expect_valid<T, E: fmt::Debug>(outcome: Result<T, E>) {
    black_box(outcome.expect("the workloads are JSON"));
}
