//! The comparisons: every subject in turn, round after round.

use std::io;

use crate::findings::Findings;
use crate::options::Options;
use crate::report::Row;
use crate::samples::Samples;

pub mod batch;
pub mod gateway;
pub mod http;
pub mod idle;
pub mod in_process;
pub mod large;
pub mod mcp;
pub mod nats;
pub mod observability;
pub mod security;
pub mod stream;
pub mod subscription;
pub mod timing;
pub mod ws;

mod pipelined;

/// Runs what the options ask for.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    type Topic = fn(&Options) -> io::Result<Findings>;
    let topics: [(&str, Topic); 13] = [
        ("http", http::run),
        ("batch", batch::run),
        ("ws", ws::run),
        ("stream", stream::run),
        ("subscription", subscription::run),
        ("idle", idle::run),
        ("in-process", in_process::run),
        ("large", large::run),
        ("security", security::run),
        ("observability", observability::run),
        ("mcp", mcp::run),
        ("gateway", gateway::run),
        ("nats", nats::run),
    ];
    let mut findings = Findings::default();
    for (_, topic) in topics.iter().filter(|(name, _)| options.wants(name)) {
        findings.extend(topic(options)?);
    }
    Ok(findings)
}

/// Measures the subjects A B C, A B C, … so that what disturbs the machine disturbs all of them.
fn interleave<T>(
    subjects: &mut [(String, T)],
    rounds: usize,
    mut measure: impl FnMut(&mut T) -> io::Result<Vec<f64>>,
) -> io::Result<Vec<Row>> {
    let mut rows: Vec<Row> =
        subjects.iter().map(|(name, _)| Row { name: name.clone(), figures: Vec::new() }).collect();
    for _ in 0..rounds {
        for (row, (name, subject)) in rows.iter_mut().zip(&mut *subjects) {
            let figures = measure(subject).map_err(|error| io::Error::other(format!("{name}: {error}")))?;
            row.figures.resize(figures.len(), Samples::default());
            row.figures.iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
        }
    }
    Ok(rows)
}
