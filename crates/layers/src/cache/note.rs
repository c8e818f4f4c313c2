//! What an answer says about where it comes from.

use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{Metadata, Reply};
use tokio::time::Instant;

/// The metadata that says where an answer comes from.
const CACHE: &str = "cache";

/// The metadata that says how old an answer is, in seconds.
const AGE: &str = "age";

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Hit,
    Stale,
    Miss,
}

/// The reply with a note. It replaces the note of a cache further in.
pub(super) fn noted(mut reply: Reply, source: Source, began: Instant, now: Instant) -> Reply {
    let source = match source {
        Source::Hit => "hit",
        Source::Stale => "stale",
        Source::Miss => "miss",
    };
    let age = seconds(now.saturating_duration_since(began));
    let note = [(CACHE, Bytes::from_static(source.as_bytes())), (AGE, age)];
    let extra = reply.extra_mut();
    let others = extra.metadata.entries();
    extra.metadata = match others.is_empty() {
        true => note.into_iter().collect(),
        false => {
            let is_other = |name: &str| !name.eq_ignore_ascii_case(CACHE) && !name.eq_ignore_ascii_case(AGE);
            let others = others.into_iter().filter(|(name, _)| is_other(name));
            let others = others.map(|(name, value)| (name, Bytes::copy_from_slice(value)));
            others.chain(note).collect::<Metadata>()
        }
    };
    reply
}

/// Whole seconds as text. Most answers are young.
fn seconds(age: Duration) -> Bytes {
    const DIGITS: &[u8] = b"0123456789";
    match age.as_secs() {
        young @ 0..10 => Bytes::from_static(&DIGITS[young as usize..=young as usize]),
        seconds => Bytes::from(seconds.to_string()),
    }
}
