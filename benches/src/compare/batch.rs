//! Many calls a request over HTTP/1.1 keep-alive.

use std::io;

use super::http;
use crate::findings::Findings;
use crate::goal::{FLOOR, Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Section};
use crate::servers::{HTTP, SHIPPED};
use crate::workload::Workload;

/// Enough to keep the server busy; more would only measure queues.
const CONNECTIONS: usize = 16;

const RATE: Ratio = Ratio { column: "batches/s", base: "jsonrpsee" };
const CPU: Ratio = Ratio { column: "CPU us", base: "jsonrpsee" };
const CPU_BY_HAND: Ratio = Ratio { base: FLOOR, ..CPU };

/// Compares batches of 10, 100 and 1000 entries.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    for (entries, faster) in [(10, 3.0), (100, 6.0), (1000, 6.0)] {
        let section = Section {
            title: format!("HTTP, batches of {entries}"),
            columns: vec![RATE.column, CPU.column, http::LOAD],
            ratios: vec![RATE, CPU, CPU_BY_HAND],
            rows: http::measure(options, HTTP, Workload::Batch(entries), "", CONNECTIONS)?,
        };
        let mut goals = vec![Goal::on_ratio(&section, RATE, Limit::AtLeast(faster))];
        if entries == 100 {
            goals.push(Goal::on_ratio_of(SHIPPED, &section, CPU_BY_HAND, Limit::AtMost(1.6)));
        }
        findings.add(section, goals);
    }
    Ok(findings)
}
