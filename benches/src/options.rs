//! What the command line of `compare` asks for.

use std::time::Duration;

/// How to use `compare`.
pub const USAGE: &str = "\
usage: compare [http|batch|ws|stream|subscription|idle|in-process|large|security|observability|mcp|gateway|nats|all] [OPTIONS]

  --quick        short rounds: to see that it works, not to judge by
  --seconds S    how long each subject runs in each round
  --rounds N     how many rounds
  --workers N    runtime threads of each server (default 1: on two cores the load needs the other)
  --json         print one JSON document instead of tables
  --gate         exit with an error when a goal is missed, or a program that is needed is not installed

mcp also compares a hop of `switchboard mcp` with a plain hop of `switchboard gateway`.";

/// The parsed command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which comparison, or `all`.
    pub topic: String,
    /// Short rounds.
    pub is_quick: bool,
    /// How long each subject runs in each round, if said.
    pub seconds: Option<f64>,
    /// How many rounds, if said.
    pub rounds: Option<usize>,
    /// Runtime threads of each server.
    pub workers: usize,
    /// JSON instead of tables.
    pub is_json: bool,
    /// Missed goals are an error.
    pub is_gate: bool,
}

impl Options {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--quick" => options.is_quick = true,
                "--json" => options.is_json = true,
                "--gate" => options.is_gate = true,
                "--seconds" => options.seconds = Some(within(&value()?, 0.01, 60.0)?),
                "--rounds" => options.rounds = Some(within(&value()?, 1, 100)?),
                "--workers" => options.workers = within(&value()?, 1, 64)?,
                "http" | "batch" | "ws" | "stream" | "subscription" | "idle" | "in-process" | "large"
                | "security" | "observability" | "mcp" | "gateway" | "nats" | "all" => {
                    options.topic = argument;
                }
                _ => return Err(format!("what is {argument:?}?\n{USAGE}")),
            }
        }
        Ok(options)
    }

    /// How many rounds to run.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.is_quick { 3 } else { 7 })
    }

    /// How long a subject behind a socket runs in a round.
    pub fn network_round(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.unwrap_or(if self.is_quick { 0.3 } else { 1.5 }))
    }

    /// How long a subject in this process runs in a round.
    pub fn local_round(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.unwrap_or(if self.is_quick { 0.05 } else { 0.3 }))
    }

    /// Whether the comparison called `topic` is asked for.
    pub fn wants(&self, topic: &str) -> bool {
        self.topic == topic || self.topic == "all"
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            topic: "all".to_owned(),
            is_quick: false,
            seconds: None,
            rounds: None,
            workers: 1,
            is_json: false,
            is_gate: false,
        }
    }
}

fn within<T>(text: &str, min: T, max: T) -> Result<T, String>
where
    T: Copy + std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match text.parse() {
        Ok(value) if value >= min && value <= max => Ok(value),
        _ => Err(format!("{text:?} is not a number from {min} to {max}")),
    }
}
