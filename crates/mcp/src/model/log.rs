//! The levels of log messages.

use std::str::FromStr;

use super::wire::tokens;

tokens! {
    /// How severe a log message is, from the least to the most severe. Levels compare by severity.
    pub enum LogLevel {
        /// Details for debugging.
        Debug = "debug",
        /// Normal events.
        Info = "info",
        /// Normal but notable events.
        Notice = "notice",
        /// Something may go wrong.
        Warning = "warning",
        /// Something failed.
        Error = "error",
        /// A part of the system failed.
        Critical = "critical",
        /// Somebody must act at once.
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
