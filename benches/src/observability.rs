//! What it costs to be observed: instructions of calls and requests, unobserved and observed.

use std::io;

use crate::callgrind;
use crate::cases::observed::UNOBSERVED;
use crate::findings::Findings;
use crate::gates::{self, INSTRUCTIONS};
use crate::report::{Ratio, Row, Section};
use crate::workload::Workload;
use crate::{cases, servers};

/// The title of the section about calls in process.
pub const IN_PROCESS: &str = "observability in process";

/// The title of the section about HTTP requests.
pub const OVER_HTTP: &str = "observability over HTTP";

/// Counts the instructions of everything, those of the thread that writes the log too.
///
/// # Errors
/// When valgrind is not there, or a subject fails.
pub fn count() -> io::Result<Findings> {
    let mut findings = Findings::default();
    for section in [in_process()?, over_http()?] {
        let goals = gates::goals(&section);
        findings.add(section, goals);
    }
    Ok(findings)
}

fn in_process() -> io::Result<Section> {
    let row = |name: &str| {
        let figures = vec![callgrind::in_process(name, Workload::Add)?.into()];
        Ok(Row { name: name.to_owned(), figures })
    };
    Ok(Section {
        title: IN_PROCESS.to_owned(),
        columns: vec![INSTRUCTIONS],
        ratios: vec![Ratio { column: INSTRUCTIONS, base: UNOBSERVED }],
        rows: cases::observability().iter().map(|case| row(case.name())).collect::<io::Result<_>>()?,
    })
}

fn over_http() -> io::Result<Section> {
    let row = |name: &&str| {
        let figures = vec![callgrind::over_http(name, "")?.into()];
        Ok(Row { name: (*name).to_owned(), figures })
    };
    Ok(Section {
        title: OVER_HTTP.to_owned(),
        columns: vec![INSTRUCTIONS],
        ratios: vec![Ratio { column: INSTRUCTIONS, base: "switchboard" }],
        rows: servers::OBSERVABILITY.iter().map(row).collect::<io::Result<_>>()?,
    })
}
