//! The answer to a call that exceeds a limit for now.

use std::time::Duration;

use serde::Serialize;
use switchboard_core::{Code, ErrorObject, Reply};

/// -32005 for this limit, with the time after which another attempt makes sense; over HTTP with this status and `Retry-After`.
pub(crate) fn reply(limit: &'static str, details: &'static str, status: u16, wait: Duration) -> Reply {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        limit: &'static str,
        details: &'static str,
        retry_after_ms: u64,
    }
    // Rounded up: who comes back earlier is refused again.
    let retry_after_ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    let seconds = retry_after_ms.div_ceil(1000);
    let error = ErrorObject::from_code(Code::OVER_LIMIT);
    Reply::error(error.with_data(&Data { limit, details, retry_after_ms }))
        .with_status(status)
        .with_metadata("retry-after", seconds.to_string())
}
