//! The instruction limits of our own subjects, in one table. CI enforces them.

use crate::cases::observed::{LOGGED, TRACED};
use crate::cases::secured::{SECURED, SIGNED, SIGNED_CALL};
use crate::goal::{Goal, Limit};
use crate::report::Section;
use crate::security::{IN_PROCESS, OVER_HTTP};
use crate::workload::{USUAL_HEADERS, Workload};
use crate::{observability, servers};

/// The name of the figure.
pub const INSTRUCTIONS: &str = "instructions";

/// The workloads that are counted in process.
pub const WORKLOADS: [Workload; 3] = [Workload::Add, Workload::Batch(100), Workload::Pending];

/// The HTTP requests that are counted, and their additional headers.
pub const HTTP: [(&str, &str); 2] =
    [("HTTP request", ""), ("HTTP request with the usual headers", USUAL_HEADERS)];

/// The title of the section about a workload in process.
pub fn title(workload: Workload) -> String {
    format!("in process, {}", workload.title())
}

/// A limit on the instructions of one subject.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// The title of the section.
    section: &'static str,
    /// The row in it.
    subject: &'static str,
    /// More than this is an error. Lower it when the code gets faster.
    limit: u32,
    /// The target, if the limit only prevents regressions.
    target: Option<u32>,
}

/// Each limit is about one percent above the last measurement, because code layout alone moves a figure by half a percent.
const GATES: &[Gate] = &[
    gate("in process, add, one call", "switchboard", 2_450, None),
    gate("in process, add, one call", "switchboard-connection", 2_240, None),
    gate("in process, add, batch of 100", "switchboard", 174_000, None),
    gate("in process, add, batch of 100", "switchboard-connection", 180_300, None),
    gate("in process, add, pending at first", "switchboard", 6_850, None),
    gate("in process, add, pending at first", "switchboard-connection", 11_450, None),
    gate("HTTP request", "switchboard", 8_655, None),
    gate("HTTP request with the usual headers", "switchboard", 9_700, None),
    gate(IN_PROCESS, SECURED, 3_680, None),
    gate(IN_PROCESS, SIGNED_CALL, 29_200, Some(5_870)),
    gate(IN_PROCESS, SIGNED, 64_550, Some(5_870)),
    gate(OVER_HTTP, servers::SECURED, 11_500, Some(9_560)),
    // The thread that writes wakes up by the clock, so these figures move by three percent.
    gate(observability::IN_PROCESS, LOGGED, 4_650, Some(3_140)),
    gate(observability::IN_PROCESS, TRACED, 4_980, Some(3_620)),
    gate(observability::OVER_HTTP, servers::OBSERVED, 10_970, None),
];

const fn gate(section: &'static str, subject: &'static str, limit: u32, target: Option<u32>) -> Gate {
    Gate { section, subject, limit, target }
}

/// The goals of `section`.
pub fn goals(section: &Section) -> Vec<Goal> {
    let gates = GATES.iter().filter(|gate| gate.section == section.title);
    gates.map(|gate| gate.goal(section)).collect()
}

impl Gate {
    fn goal(&self, section: &Section) -> Goal {
        let limit = Limit::AtMost(f64::from(self.limit));
        let goal = Goal::on_figure_of(self.subject, section, INSTRUCTIONS, limit);
        Goal { target: self.target.map(f64::from), ..goal }
    }
}

#[cfg(test)]
mod tests {
    use super::{GATES, HTTP, IN_PROCESS, OVER_HTTP, WORKLOADS, observability, title};

    #[test]
    fn every_gate_is_in_a_section_that_is_counted() {
        let observed = [observability::IN_PROCESS, observability::OVER_HTTP];
        let others = HTTP.map(|(title, _)| title).into_iter().chain([IN_PROCESS, OVER_HTTP]).chain(observed);
        let titles: Vec<String> = WORKLOADS.map(title).into_iter().chain(others.map(str::to_owned)).collect();
        for gate in GATES {
            assert!(titles.iter().any(|title| title == gate.section), "{gate:?}");
        }
    }
}
