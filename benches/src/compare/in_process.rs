//! Parse, dispatch and encode without a network, and the heap allocations of doing so.

use std::hint::black_box;
use std::io;

use super::{interleave, timing};
use crate::allocations::{ALLOCATIONS, Allocations, output_buffer_only};
use crate::cases;
use crate::findings::Findings;
use crate::goal::{FLOOR, Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Row, Section};
use crate::workload::Workload;

/// The workloads that are timed.
const WORKLOADS: [Workload; 2] = [Workload::Add, Workload::Batch(100)];

const TIME: &str = "ns/call";

/// Compares one call, and a batch of 100.
///
/// # Errors
/// When an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let allocations = Allocations::count()?;
    let mut findings = Findings::default();
    for workload in WORKLOADS {
        let base = base(workload);
        let time = Ratio { column: TIME, base };
        let mut rows = measure(options, workload)?;
        for row in &mut rows {
            row.figures.push(allocations.of(&row.name, workload));
        }
        let section = Section {
            title: format!("in process, {}", workload.title()),
            columns: vec![TIME, ALLOCATIONS],
            ratios: vec![time, Ratio { base: FLOOR, ..time }],
            rows,
        };
        let goal = match workload {
            Workload::Batch(_) => Goal::on_ratio(&section, time, Limit::AtMost(0.2)),
            _ => output_buffer_only(&section),
        };
        findings.add(section, [goal]);
    }
    Ok(findings)
}

/// The door of jsonrpsee that takes `workload` with the least work.
pub fn base(workload: Workload) -> &'static str {
    match workload {
        Workload::Batch(_) => "jsonrpsee-tower",
        _ => "jsonrpsee",
    }
}

fn measure(options: &Options, workload: Workload) -> io::Result<Vec<Row>> {
    let body = workload.body();
    let mut subjects = Vec::new();
    for case in cases::all().into_iter().filter(|case| case.takes(workload)) {
        cases::check(&*case, workload)?;
        subjects.push((case.name().to_owned(), case));
    }
    interleave(&mut subjects, options.rounds(), |case| {
        Ok(vec![timing::nanoseconds(options.local_round(), || case.call(black_box(&body).clone()))])
    })
}
