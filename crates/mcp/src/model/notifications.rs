//! The params of notifications about a request: progress and log messages.

use switchboard_core::Json;

use super::LogLevel;
use super::meta::Meta;
use super::wire::wire;

wire! {
    /// The params of `notifications/progress` (MCP-P-01).
    pub struct ProgressParams {
        required {
            /// The token that the request named, a string or an integer.
            progress_token: Json = "progressToken",
            /// The progress so far, which must increase with every notification.
            progress: f64 = "progress",
        }
        optional {
            /// The total, if known.
            total: Option<f64> = "total",
            /// A description of the progress, for users.
            message: Option<String> = "message" since V2025_03_26,
            /// Metadata.
            meta: Meta = "_meta" since V2025_11_25,
        }
    }
}

impl ProgressParams {
    /// The progress of the request with this token.
    #[must_use]
    pub fn new(progress_token: Json, progress: f64) -> ProgressParams {
        ProgressParams { progress_token, progress, total: None, message: None, meta: Meta::new() }
    }
}

wire! {
    /// The params of `notifications/message`: a log message (MCP-LOG-01).
    pub struct LogParams {
        required {
            /// The severity.
            level: LogLevel = "level",
            /// The message: a string or any other JSON value. It must not contain secrets.
            data: Json = "data",
        }
        optional {
            /// The name of the logger.
            logger: Option<String> = "logger",
            /// Metadata.
            meta: Meta = "_meta" since V2025_11_25,
        }
    }
}

impl LogParams {
    /// A log message.
    #[must_use]
    pub fn new(level: LogLevel, data: Json) -> LogParams {
        LogParams { level, data, logger: None, meta: Meta::new() }
    }
}
