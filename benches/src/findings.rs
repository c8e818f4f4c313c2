//! What a run found: tables, and the goals they are held against.

use std::fmt;

use serde_json::{Value, json};

use crate::goal::{Goal, Verdicts};
use crate::report::Section;

/// Tables and goals.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The tables.
    pub sections: Vec<Section>,
    /// The goals they are held against.
    pub goals: Vec<Goal>,
}

impl Findings {
    /// Adds a table and its goals.
    pub fn add(&mut self, section: Section, goals: impl IntoIterator<Item = Goal>) {
        self.sections.push(section);
        self.goals.extend(goals);
    }

    /// Adds what another comparison found.
    pub fn extend(&mut self, other: Self) {
        self.sections.extend(other.sections);
        self.goals.extend(other.goals);
    }

    /// Whether a goal is measured and missed.
    pub fn is_missed(&self) -> bool {
        self.goals.iter().any(|goal| goal.is_met() == Some(false))
    }

    /// Prints everything, as tables or as one JSON document.
    pub fn print(&self, is_json: bool) {
        if is_json { println!("{}", self.to_json()) } else { print!("{self}") }
    }

    /// Every figure of every round, for other programs.
    fn to_json(&self) -> Value {
        let goals: Vec<_> =
            self.goals.iter().map(|goal| json!({"goal": goal, "is_met": goal.is_met()})).collect();
        json!({"sections": self.sections, "goals": goals})
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(f, "{section}")?;
        }
        write!(f, "{}", Verdicts(&self.goals))
    }
}
