//! What callers without an identity get.

use std::time::Duration;

use serde::Serialize;
use switchboard_core::{Code, ErrorObject, Reply};

use super::layer::Caller;

/// The answer to calls without valid credentials, whatever is wrong with them.
pub(super) fn refusal() -> Reply {
    Reply::error(ErrorObject::unauthorized()).with_status(401).with_metadata("www-authenticate", "Bearer")
}

/// The answer to a caller that is not known.
pub(super) fn refused(caller: &Caller) -> Reply {
    let (status, error, wait) = match caller {
        Caller::Blocked(wait) => (429, too_many(*wait), *wait),
        Caller::Unavailable(wait) => (503, unavailable(*wait), *wait),
        _ => return refusal(),
    };
    Reply::error(error).with_status(status).with_metadata("retry-after", retry_after(wait))
}

/// The value of the header `retry-after`.
pub(super) fn retry_after(wait: Duration) -> String {
    (wait.as_secs() + 1).to_string()
}

/// The error for an address with too many failures.
pub(super) fn too_many(wait: Duration) -> ErrorObject {
    over_limit("auth.failures", "too many wrong credentials; try again later", wait)
}

/// The error for a credential that cannot be checked now.
pub(super) fn unavailable(wait: Duration) -> ErrorObject {
    over_limit("auth.keys", "credentials of this kind cannot be checked now; try again later", wait)
}

fn over_limit(limit: &'static str, details: &'static str, wait: Duration) -> ErrorObject {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        limit: &'static str,
        details: &'static str,
        retry_after_ms: u128,
    }
    let data = Data { limit, details, retry_after_ms: wait.as_millis() };
    ErrorObject::from_code(Code::OVER_LIMIT).with_data(&data)
}
