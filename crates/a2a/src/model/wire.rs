//! Reading and writing members by the rules of ProtoJSON: null is absent, and what has its default value is left out. Readers also take
//! the names of the proto file, such as `history_length`.

use serde::{Deserialize, Deserializer};
use switchboard_core::Json;

/// A value, or its default if it is null.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A text that is required: an empty one is as good as none.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(serde::de::Error::custom("it must not be empty")) } else { Ok(text) }
}

/// A list that is required: it has at least one element (A2A-B-06).
pub(super) fn some<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Vec::deserialize(deserializer)?;
    if list.is_empty() {
        return Err(serde::de::Error::custom("it must have at least one element"));
    }
    Ok(list)
}

/// A value that is there, even if it is null.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}
