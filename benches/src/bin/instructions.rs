//! `instructions [--gate] [--json]`: counts the instructions, with valgrind, and the allocations of one call of every case.
//!
//! The count is the difference of two runs of the binary `case`, so starting and warming up cancel out. Unlike a time it is
//! the same on a busy machine, which makes it fit to gate a change on.

use std::io::{self, Error};
use std::process::{Command, ExitCode};

use switchboard_benches::allocations::{ALLOCATIONS, Allocations, output_buffer_only};
use switchboard_benches::cases;
use switchboard_benches::child::sibling;
use switchboard_benches::compare::in_process::base;
use switchboard_benches::findings::Findings;
use switchboard_benches::goal::{FLOOR, Goal, Limit};
use switchboard_benches::report::{Ratio, Row, Section};
use switchboard_benches::workload::Workload;

const COUNT: &str = "instructions";

/// What our own case may cost.
const BUDGETS: [(Workload, Budget); 2] =
    [(Workload::Add, Budget::Instructions(2_800.0)), (Workload::Batch(100), Budget::OfJsonrpsee(0.2))];

/// A budget for one workload.
enum Budget {
    /// So many instructions a call, and no allocation but the output buffer.
    Instructions(f64),
    /// Such a part of what jsonrpsee needs.
    OfJsonrpsee(f64),
}

fn main() -> ExitCode {
    let has = |flag: &str| std::env::args().skip(1).any(|argument| argument == flag);
    if let Some(unknown) = std::env::args().skip(1).find(|flag| flag != "--gate" && flag != "--json") {
        eprintln!("what is {unknown:?}?\nusage: instructions [--gate] [--json]");
        return ExitCode::FAILURE;
    }
    match measure() {
        Ok(findings) => {
            findings.print(has("--json"));
            if has("--gate") && findings.is_missed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> io::Result<Findings> {
    let allocations = Allocations::count()?;
    let mut findings = Findings::default();
    for (workload, budget) in BUDGETS {
        let to_jsonrpsee = Ratio { column: COUNT, base: base(workload) };
        let mut rows = Vec::new();
        for case in cases::all().into_iter().filter(|case| case.takes(workload)) {
            let count = instructions(case.name(), workload)?;
            rows.push(Row {
                name: case.name().to_owned(),
                figures: vec![count.into(), allocations.of(case.name(), workload)],
            });
        }
        let section = Section {
            title: format!("in process, {}", workload.title()),
            columns: vec![COUNT, ALLOCATIONS],
            ratios: vec![to_jsonrpsee, Ratio { base: FLOOR, ..to_jsonrpsee }],
            rows,
        };
        let goals = match budget {
            Budget::Instructions(limit) => {
                vec![Goal::on_figure(&section, COUNT, Limit::AtMost(limit)), output_buffer_only(&section)]
            }
            Budget::OfJsonrpsee(part) => vec![Goal::on_ratio(&section, to_jsonrpsee, Limit::AtMost(part))],
        };
        findings.add(section, goals);
    }
    Ok(findings)
}

/// The instructions of one call of `case`.
fn instructions(case: &str, workload: Workload) -> io::Result<f64> {
    let (few, many) = match workload {
        Workload::Batch(_) => (20, 60),
        _ => (1000, 3000),
    };
    let difference = collected(case, workload, many)? - collected(case, workload, few)?;
    Ok(difference / f64::from(many - few))
}

/// The instructions of a whole process that makes so many calls.
fn collected(case: &str, workload: Workload, calls: u32) -> io::Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(sibling("case")?)
        .args([case, &workload.title(), &calls.to_string()])
        .output()
        .map_err(|error| Error::other(format!("valgrind does not start: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(Error::other(format!("valgrind could not count {case}:\n{said}"))),
    }
}
