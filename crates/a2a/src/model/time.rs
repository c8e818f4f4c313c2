//! Timestamps.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchboard_layers::lines::{parse_rfc3339, rfc3339};

/// A time in milliseconds since 1970, written as `2025-10-28T10:30:00.000Z` (A2A-B-05).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    fn time(self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0)
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&rfc3339(self.time()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("expected a time such as 2025-10-28T10:30:00.000Z");
        let time = parse_rfc3339(&text).ok_or_else(wrong)?;
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Timestamp(u64::try_from(since.as_millis()).map_err(|_| wrong())?))
    }
}
