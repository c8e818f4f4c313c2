//! What more workers would reach, by a model with two numbers that were measured.
//!
//! Workers with one call at a time answer `1 / time` calls a second each, until the broker is full: it answers `cores / cpu` calls a second, if
//! `cores` are its own and each call takes `cpu` of them. The broker handles connections in parallel, so both numbers grow with what they count; what they leave out are
//! the network and the callers.

use super::workers::{COUNTS, RATE};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::report::{Row, Section};
use crate::samples::Samples;

/// How many cores the broker has in the model.
const CORES: f64 = 1.0;

const PREDICTED: &str = "calls/s predicted";
const BUSY: &str = "broker cores busy";
const OF_MEASURED: &str = "x measured";

/// What the model says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Model {
    /// How many calls a second one worker answers.
    worker: f64,
    /// How many calls a second the broker carries.
    broker: f64,
}

impl Model {
    /// A model by the calls a second of one worker, and the CPU time of the broker a call, in microseconds.
    pub(super) fn new(worker: f64, broker_cpu: f64) -> Model {
        Model { worker, broker: CORES * 1e6 / broker_cpu }
    }

    /// How many calls a second so many workers answer.
    pub(super) fn rate(self, workers: f64) -> f64 {
        (workers * self.worker).min(self.broker)
    }

    /// How many workers fill the broker.
    pub(super) fn most(self) -> f64 {
        self.broker / self.worker
    }
}

/// Adds what the model says, beside what was measured.
pub(super) fn add(broker_cpu: f64, works: &Section, findings: &mut Findings) {
    let measured = |count: u32| {
        let name = if count == 1 { "1 worker".to_owned() } else { format!("{count} workers") };
        works.figure(&name, RATE).map_or(f64::NAN, Samples::median)
    };
    let model = Model::new(measured(1), broker_cpu);
    let row = |name: String, workers: f64, measured: f64| {
        let rate = model.rate(workers);
        let figures = [rate, rate / model.broker * CORES, rate / measured];
        Row { name, figures: figures.map(Samples::from).to_vec() }
    };
    let mut rows: Vec<_> = COUNTS
        .into_iter()
        .map(|count| row(format!("{count} measured"), f64::from(count), measured(count)))
        .collect();
    let most = model.most();
    for workers in [16.0, 64.0, 256.0] {
        if workers < most {
            rows.push(row(format!("{workers}"), workers, f64::NAN));
        }
    }
    rows.push(row(format!("{most:.0}: the broker is full"), most, f64::NAN));
    let section = Section {
        title: format!("model: workers for a broker with one core that takes {broker_cpu:.1} us a call"),
        columns: vec![PREDICTED, BUSY, OF_MEASURED],
        ratios: Vec::new(),
        rows,
    };
    let last = COUNTS[COUNTS.len() - 1];
    let goal = Goal::on_figure_of(&format!("{last} measured"), &section, OF_MEASURED, Limit::AtMost(1.1));
    findings.add(section, [goal]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_add_up_until_the_broker_is_full() {
        let model = Model::new(1000.0, 10.0);
        assert_eq!((model.rate(1.0), model.rate(50.0)), (1000.0, 50_000.0));
        assert_eq!((model.most(), model.rate(1000.0)), (100.0, 100_000.0));
    }
}
