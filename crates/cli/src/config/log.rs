//! The log of calls.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use switchboard::access::Pattern;
use switchboard::log::{BodyLog, BodyRules, CallLog, CallLogBuilder, LogFormat, LogLevel};

use super::reader::{Reader, parsed};
use crate::failure::Failure;
use crate::log;

/// Which calls are logged, how, and where.
#[derive(Debug)]
pub(crate) struct CallLogging {
    level: Option<LogLevel>,
    levels: Vec<(Pattern, LogLevel)>,
    format: String,
    /// None is stderr.
    file: Option<PathBuf>,
    slow: Option<Duration>,
    /// From 0.0 to 1.0.
    sample: f64,
    /// Which bodies are written, if any.
    bodies: Option<BodyRules>,
}

/// Reads the keys of the log.
pub(crate) fn calls(reader: &mut Reader<'_>) -> CallLogging {
    CallLogging {
        level: Some(reader.choice("log.level")).and_then(|level| level.parse().ok()),
        levels: levels(reader),
        format: reader.choice("log.format"),
        file: reader.path("log.file"),
        slow: reader.is_set("log.slow").then(|| reader.duration("log.slow")),
        sample: reader.percent("log.sample"),
        bodies: bodies(reader),
    }
}

fn bodies(reader: &mut Reader<'_>) -> Option<BodyRules> {
    const PATH: &str = "log.redact";
    let rules = BodyRules::default().with_limit(reader.size("log.body_limit"));
    let mut rules = match &*reader.choice("log.bodies") {
        "all" => Some(rules),
        "failed" => Some(rules.failures_only()),
        _ => None,
    };
    let node = reader.table.get(PATH).cloned();
    for what in reader.texts(PATH) {
        match (rules.take().unwrap_or_default().redact(&what), &node) {
            (Ok(more), _) => rules = Some(more),
            (Err(error), Some(node)) => reader.wrong(node, PATH, &error),
            (Err(_), None) => {}
        }
    }
    rules.filter(|_| reader.choice("log.bodies") != "off")
}

/// The levels of methods, by pattern.
fn levels(reader: &mut Reader<'_>) -> Vec<(Pattern, LogLevel)> {
    let pattern = |name: &str| name.parse::<Pattern>().map_err(|error| error.to_string());
    reader.pairs("log.levels", pattern, parsed)
}

impl CallLogging {
    /// Starts the log, if anything is to be logged. `-v` logs every call.
    pub(crate) fn start(&self, verbose: u8) -> Result<Option<CallLog>, Failure> {
        let level = self.level.unwrap_or(match verbose {
            0 if self.file.is_none() => LogLevel::Off,
            0 | 1 => LogLevel::Info,
            _ => LogLevel::Debug,
        });
        if level == LogLevel::Off && self.levels.is_empty() && self.bodies.is_none() {
            return Ok(None);
        }
        let builder =
            CallLog::builder().with_level(level).with_format(self.format()).with_sample(self.sample);
        let builder = self.slow.into_iter().fold(builder, CallLogBuilder::with_slow);
        let levels = self.levels.iter().cloned();
        let builder = levels.fold(builder, |builder, (methods, level)| builder.with_level_of(methods, level));
        let log = match (&self.file, log::sink()) {
            (Some(file), _) => builder.into_file(file.clone()),
            // Other lines go to stderr too; one queue keeps them apart.
            (None, Some(sink)) => Ok(builder.into_lines(sink)),
            (None, None) => builder.into_stderr(),
        };
        log.map(Some).map_err(|error| {
            let file = self.file.as_deref().unwrap_or_else(|| "stderr".as_ref()).display();
            Failure::usage(format!("cannot write the call log to {file}: {error}"))
                .advise("choose a file that you can write")
        })
    }

    /// What writes bodies to this log, if that was asked for.
    pub(crate) fn bodies(&self, log: &CallLog) -> Option<BodyLog> {
        self.bodies.clone().map(|rules| log.bodies(rules))
    }

    /// Columns for people at a terminal, and JSON for programs, unless the key says otherwise.
    fn format(&self) -> LogFormat {
        let is_terminal = self.file.is_none() && io::stderr().is_terminal();
        let is_coloured = is_terminal && anstream::stderr().current_choice() != anstream::ColorChoice::Never;
        match (self.format.as_str(), is_terminal) {
            ("json", _) | ("auto", false) => LogFormat::Json,
            _ if is_coloured => LogFormat::Coloured,
            _ => LogFormat::Pretty,
        }
    }
}
