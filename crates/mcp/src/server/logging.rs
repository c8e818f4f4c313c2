//! The level of log messages, in sessions (MCP-LOG-01).

use switchboard_core::{ErrorObject, Reply};

use super::request::Request;
use super::tools::empty;
use crate::adapt::Own;
use crate::model::LogLevel;

/// Answers `logging/setLevel`.
pub(super) fn set_level(request: &Request<'_>) -> Reply {
    let level: Option<LogLevel> = request.text("level").ok().and_then(|level| level.parse().ok());
    match (level, &request.handshake) {
        (Some(level), Some(handshake)) => {
            handshake.set_level(level);
            Own::set_level(request.cx().session(), level);
            empty(request)
        }
        _ => ErrorObject::invalid_params(
            "level must be debug, info, notice, warning, error, critical, alert or emergency",
        )
        .into(),
    }
}
