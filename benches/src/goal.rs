//! What Switchboard has to reach, and whether it does.

use std::fmt;

use serde::Serialize;

use crate::report::{Ratio, Section, number, write_table};
use crate::samples::Samples;

/// The subject that the goals are about.
pub const OURS: &str = "switchboard";

/// The subject that shows what is possible.
pub const FLOOR: &str = "by-hand";

/// A bound on a figure.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum Limit {
    /// The figure is good up to here.
    AtMost(f64),
    /// The figure is good from here.
    AtLeast(f64),
}

/// One goal, with what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What is measured.
    pub what: String,
    /// How it has to be.
    pub limit: Limit,
    /// The target, if the limit only prevents regressions.
    pub target: Option<f64>,
    /// What we reach; none while we are not part of the run.
    pub ours: Option<Samples>,
    /// What the floor reaches, for orientation.
    pub floor: Option<Samples>,
}

impl Goal {
    /// A goal on a ratio of `section`.
    pub fn on_ratio(section: &Section, ratio: Ratio, limit: Limit) -> Self {
        Self::on_ratio_of(OURS, section, ratio, limit)
    }

    /// A goal on a ratio of `section` for another subject of ours.
    pub fn on_ratio_of(name: &str, section: &Section, ratio: Ratio, limit: Limit) -> Self {
        Self {
            what: format!("{}: {}{} x {}", section.title, prefix(name), ratio.column, ratio.base),
            limit,
            target: None,
            ours: section.ratio(name, ratio),
            floor: section.ratio(FLOOR, ratio),
        }
    }

    /// A goal on a figure of `section` itself.
    pub fn on_figure(section: &Section, column: &'static str, limit: Limit) -> Self {
        Self::on_figure_of(OURS, section, column, limit)
    }

    /// A goal on a figure of `section` for another subject of ours.
    pub fn on_figure_of(name: &str, section: &Section, column: &'static str, limit: Limit) -> Self {
        Self {
            what: format!("{}: {}{column}", section.title, prefix(name)),
            limit,
            target: None,
            ours: section.figure(name, column).cloned(),
            floor: section.figure(FLOOR, column).cloned(),
        }
    }

    /// A goal on how much a figure of `section` is above that of the subject `base`.
    pub fn on_difference_of(name: &str, section: &Section, ratio: Ratio, limit: Limit) -> Self {
        let Ratio { column, base } = ratio;
        let above = |name| Some(section.figure(name, column)?.above(section.figure(base, column)?));
        Self {
            what: format!("{}: {}{column} above {base}", section.title, prefix(name)),
            limit,
            target: None,
            ours: above(name),
            floor: above(FLOOR),
        }
    }

    /// Whether we reach it, by the median over the rounds; none while we are not part of the run.
    pub fn is_met(&self) -> Option<bool> {
        let ours = self.ours.as_ref()?.median();
        Some(match self.limit {
            Limit::AtMost(limit) => ours <= limit,
            Limit::AtLeast(limit) => ours >= limit,
        })
    }

    fn cells(&self) -> Vec<String> {
        let limit = match self.limit {
            Limit::AtMost(limit) => format!("<= {}", number(limit)),
            Limit::AtLeast(limit) => format!(">= {}", number(limit)),
        };
        let verdict = match self.is_met() {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => "not measured",
        };
        let median = |samples: &Option<Samples>| number(samples.as_ref().map_or(f64::NAN, Samples::median));
        let range = |samples: &Samples| format!("{}..{}", number(samples.min()), number(samples.max()));
        vec![
            self.what.clone(),
            limit,
            number(self.target.unwrap_or(f64::NAN)),
            median(&self.ours),
            self.ours.as_ref().map_or("-".to_owned(), range),
            median(&self.floor),
            verdict.to_owned(),
        ]
    }
}

/// Names the subject of a goal, unless it is [`OURS`].
fn prefix(name: &str) -> String {
    if name == OURS { String::new() } else { format!("{name}, ") }
}

/// Goals, printed as a table with a verdict a line.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts<'a>(pub &'a [Goal]);

impl fmt::Display for Verdicts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header =
            ["goal", "limit", "target", OURS, "min..max", FLOOR, "verdict"].map(str::to_owned).to_vec();
        write_table(f, &std::iter::once(header).chain(self.0.iter().map(Goal::cells)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, Limit};

    fn check(limit: Limit, ours: Option<f64>, expected: Option<bool>) {
        let goal = Goal { what: String::new(), limit, target: None, ours: ours.map(Into::into), floor: None };
        assert_eq!(goal.is_met(), expected, "{goal:?}");
    }

    #[test]
    fn a_goal_is_met_on_its_limit_and_open_without_a_figure() {
        check(Limit::AtMost(2.0), Some(2.0), Some(true));
        check(Limit::AtMost(2.0), Some(2.1), Some(false));
        check(Limit::AtLeast(2.0), Some(2.0), Some(true));
        check(Limit::AtLeast(2.0), Some(1.9), Some(false));
        check(Limit::AtLeast(2.0), None, None);
    }
}
