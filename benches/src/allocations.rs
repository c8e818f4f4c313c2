//! Heap allocations a call, as the binary `allocations` counts them.
//!
//! They are counted in a process of its own, because the counter replaces the allocator and would show up in every other figure.

use std::collections::HashMap;
use std::io;
use std::process::Command;

use crate::child::sibling;
use crate::goal::{Goal, Limit};
use crate::report::Section;
use crate::samples::Samples;
use crate::workload::Workload;

/// The name of the figure.
pub const ALLOCATIONS: &str = "allocations";

/// The counts of all cases and workloads.
#[derive(Clone, Debug)]
pub struct Allocations(HashMap<(String, String), f64>);

impl Allocations {
    /// Runs the counter.
    ///
    /// # Errors
    /// When it is not built, or fails.
    pub fn count() -> io::Result<Self> {
        let output = Command::new(sibling("allocations")?).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let counts: Vec<(String, String, f64)> = serde_json::from_slice(&output.stdout)?;
        Ok(Self(counts.into_iter().map(|(case, workload, count)| ((case, workload), count)).collect()))
    }

    /// The allocations of one call; NaN when it was not counted.
    pub fn of(&self, case: &str, workload: Workload) -> Samples {
        let key = (case.to_owned(), workload.title());
        self.0.get(&key).copied().unwrap_or(f64::NAN).into()
    }
}

/// The goal that a call allocates its output buffer and nothing else.
pub fn output_buffer_only(section: &Section) -> Goal {
    Goal::on_figure(section, ALLOCATIONS, Limit::AtMost(1.0))
}
