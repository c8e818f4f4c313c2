//! The levels of log messages.

use std::str::FromStr;

use super::wire::tokens;

tokens! {
    /// The severity of a log message. Levels are ordered from the least to the most severe.
    pub enum LogLevel {
        /// Details for debugging.
        Debug = "debug",
        /// Normal events.
        Info = "info",
        /// Normal but significant events.
        Notice = "notice",
        /// Warnings.
        Warning = "warning",
        /// Errors.
        Error = "error",
        /// Failures of a component.
        Critical = "critical",
        /// Immediate action is required.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

/// The text is not a log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown log level; expected one of debug, info, notice, warning, error, critical, alert and emergency"
)]
#[non_exhaustive]
pub struct UnknownLogLevel;

impl FromStr for LogLevel {
    type Err = UnknownLogLevel;

    fn from_str(text: &str) -> Result<LogLevel, UnknownLogLevel> {
        LogLevel::ALL.iter().copied().find(|level| level.as_str() == text).ok_or(UnknownLogLevel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-LOG-01
    #[test]
    fn levels_are_ordered_by_severity_and_read_by_name() {
        assert!(LogLevel::ALL.is_sorted());
        assert!(LogLevel::Debug < LogLevel::Notice && LogLevel::Error < LogLevel::Emergency);
        assert_eq!("warning".parse(), Ok(LogLevel::Warning));
        assert_eq!("Warning".parse::<LogLevel>(), Err(UnknownLogLevel));
    }
}
