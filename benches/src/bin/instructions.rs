//! `instructions [security|observability] [--gate] [--json]`: counts the instructions, with valgrind, and the allocations of one call of
//! every case, and the instructions of one HTTP request of our server; or only what security or observability costs.
//!
//! Unlike a time, a count is the same on a busy machine, which makes it fit to gate a change on.

use std::io;
use std::process::ExitCode;

use switchboard_benches::allocations::{ALLOCATIONS, Allocations, output_buffer_only};
use switchboard_benches::compare::in_process::base;
use switchboard_benches::findings::Findings;
use switchboard_benches::gates::{self, INSTRUCTIONS, WORKLOADS};
use switchboard_benches::goal::{FLOOR, Goal, Limit};
use switchboard_benches::report::{Ratio, Row, Section};
use switchboard_benches::servers::CONSTANT;
use switchboard_benches::workload::Workload;
use switchboard_benches::{callgrind, cases, observability, security};

/// The servers whose instructions are counted.
const SERVERS: [&str; 2] = ["switchboard", CONSTANT];

fn main() -> ExitCode {
    let has = |flag: &str| std::env::args().skip(1).any(|argument| argument == flag);
    let is_known = |argument: &str| ["security", "observability", "--gate", "--json"].contains(&argument);
    if let Some(unknown) = std::env::args().skip(1).find(|argument| !is_known(argument)) {
        eprintln!("what is {unknown:?}?\nusage: instructions [security|observability] [--gate] [--json]");
        return ExitCode::FAILURE;
    }
    let findings = match () {
        () if has("security") => security::count(),
        () if has("observability") => observability::count(),
        () => measure(),
    };
    match findings {
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
    for workload in WORKLOADS {
        let (section, goals) = in_process(workload, &allocations)?;
        findings.add(section, goals);
    }
    for (title, headers) in gates::HTTP {
        let section = over_http(title, headers)?;
        let goals = gates::goals(&section);
        findings.add(section, goals);
    }
    findings.extend(security::count()?);
    findings.extend(observability::count()?);
    Ok(findings)
}

fn in_process(workload: Workload, allocations: &Allocations) -> io::Result<(Section, Vec<Goal>)> {
    let to_jsonrpsee = Ratio { column: INSTRUCTIONS, base: base(workload) };
    let row = |name: &str| {
        let count = callgrind::in_process(name, workload)?;
        Ok(Row { name: name.to_owned(), figures: vec![count.into(), allocations.of(name, workload)] })
    };
    let section = Section {
        title: gates::title(workload),
        columns: vec![INSTRUCTIONS, ALLOCATIONS],
        ratios: vec![to_jsonrpsee, Ratio { base: FLOOR, ..to_jsonrpsee }],
        rows: cases::counted(workload).iter().map(|case| row(case.name())).collect::<io::Result<_>>()?,
    };
    let mut goals = gates::goals(&section);
    match workload {
        Workload::Add => goals.push(output_buffer_only(&section)),
        Workload::Batch(_) => goals.push(Goal::on_ratio(&section, to_jsonrpsee, Limit::AtMost(0.2))),
        _ => {}
    }
    Ok((section, goals))
}

fn over_http(title: &str, headers: &str) -> io::Result<Section> {
    let row = |name: &str| {
        let figures = vec![callgrind::over_http(name, headers)?.into()];
        Ok(Row { name: name.to_owned(), figures })
    };
    Ok(Section {
        title: title.to_owned(),
        columns: vec![INSTRUCTIONS],
        ratios: vec![Ratio { column: INSTRUCTIONS, base: CONSTANT }],
        rows: SERVERS.into_iter().map(row).collect::<io::Result<_>>()?,
    })
}
