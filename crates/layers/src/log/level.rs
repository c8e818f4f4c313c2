//! How important a line is.

use std::fmt;
use std::str::FromStr;

/// How important a line is, or how much a log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Calls that fail because of the server: internal errors and panics.
    Error,
    /// All failures: errors, timeouts, refused messages. Also slow calls.
    Warn,
    /// Every call and batch.
    Info,
    /// Also when sessions begin and end.
    Debug,
}

/// A text that is not a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown log level `{0}`; use off, error, warn, info or debug")]
pub struct LogLevelError(String);

impl LogLevel {
    const ALL: [LogLevel; 5] =
        [LogLevel::Off, LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }

    pub(super) fn from_number(number: u8) -> LogLevel {
        LogLevel::ALL.get(usize::from(number)).copied().unwrap_or(LogLevel::Info)
    }
}

impl FromStr for LogLevel {
    type Err = LogLevelError;

    fn from_str(text: &str) -> Result<LogLevel, LogLevelError> {
        let named = LogLevel::ALL.into_iter().find(|level| level.name() == text);
        named.ok_or_else(|| LogLevelError(text.to_owned()))
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_they_are_written() {
        for (number, level) in LogLevel::ALL.into_iter().enumerate() {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(LogLevel::from_number(u8::try_from(number).unwrap()), level);
        }
        assert!(
            "INFO".parse::<LogLevel>().unwrap_err().to_string().contains("off, error, warn, info or debug")
        );
    }
}
