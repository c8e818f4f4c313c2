//! What security costs: instructions of calls and requests, bare and secured.

use std::io;

use crate::callgrind;
use crate::cases::secured::{ANSWERS_SIGNED, AUTHORIZATION, BARE, SECURED, SIGNED, SIGNED_CALL};
use crate::findings::Findings;
use crate::gates::{self, INSTRUCTIONS};
use crate::goal::{Goal, Limit};
use crate::report::{Ratio, Row, Section};
use crate::workload::Workload;
use crate::{cases, servers};

/// The title of the section about calls in process.
pub const IN_PROCESS: &str = "security in process";

/// The title of the section about HTTP requests.
pub const OVER_HTTP: &str = "security over HTTP";

/// The header with the token of the caller.
pub fn header() -> String {
    format!("Authorization: {AUTHORIZATION}\r\n")
}

/// Counts the instructions of everything.
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

/// How much more than the bare call, by this figure, the secured ones may cost. Not by instructions: valgrind's processor has none for
/// SHA-256, so digests take more of them than they do elsewhere.
pub fn goals(section: &Section, column: &'static str) -> Vec<Goal> {
    let goal = |name: &str, base, limit| {
        Goal::on_ratio_of(name, section, Ratio { column, base }, Limit::AtMost(limit))
    };
    match section.title.as_str() {
        OVER_HTTP => vec![goal(servers::SECURED, "switchboard", 1.1)],
        _ => vec![goal(SECURED, BARE, 1.5), goal(SIGNED_CALL, BARE, 2.5), goal(SIGNED, BARE, 2.5)],
    }
}

/// How the subjects of a section are compared by this figure: each with its own bare call.
pub fn ratios(column: &'static str, bases: [&'static str; 2]) -> Vec<Ratio> {
    bases.map(|base| Ratio { column, base }).to_vec()
}

fn in_process() -> io::Result<Section> {
    let row = |name: &str| {
        let count = match name {
            // Messages are signed before.
            SIGNED | SIGNED_CALL => callgrind::in_process_within(ANSWERS_SIGNED, name, Workload::Add)?,
            _ => callgrind::in_process(name, Workload::Add)?,
        };
        Ok(Row { name: name.to_owned(), figures: vec![count.into()] })
    };
    Ok(Section {
        title: IN_PROCESS.to_owned(),
        columns: vec![INSTRUCTIONS],
        ratios: ratios(INSTRUCTIONS, [BARE, "jsonrpsee-tower"]),
        rows: cases::security().iter().map(|case| row(case.name())).collect::<io::Result<_>>()?,
    })
}

fn over_http() -> io::Result<Section> {
    let row = |name: &&str| {
        let figures = vec![callgrind::over_http(name, &header())?.into()];
        Ok(Row { name: (*name).to_owned(), figures })
    };
    Ok(Section {
        title: OVER_HTTP.to_owned(),
        columns: vec![INSTRUCTIONS],
        ratios: ratios(INSTRUCTIONS, ["switchboard", "jsonrpsee"]),
        rows: servers::SECURITY.iter().map(row).collect::<io::Result<_>>()?,
    })
}
