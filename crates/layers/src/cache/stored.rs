//! A kept answer as bytes, for a store that several servers share.
//!
//! Times are in milliseconds since 1970, because servers have no other clock in common. Anything that cannot be read counts as no answer.

use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{Json, Metadata, Outcome, Reply};

/// The version of this form.
const VERSION: u8 = 1;

/// When a call began, and until when its answer is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) began: u64,
    pub(super) fresh: u64,
    pub(super) stale: u64,
}

impl Times {
    /// For an answer that is kept from now on.
    pub(super) fn new(now: u64, age: Duration, ttl: Duration, stale: Duration) -> Times {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let began = now.saturating_sub(millis(age));
        let fresh = began.saturating_add(millis(ttl));
        Times { began, fresh, stale: fresh.saturating_add(millis(stale)) }
    }
}

/// Writes an answer. None if it is an error, or has more beside it than metadata.
pub(super) fn write(reply: &Reply, times: Times) -> Option<Vec<u8>> {
    let Outcome::Value(json) = &reply.outcome else { return None };
    let mut out = vec![VERSION];
    for time in [times.began, times.fresh, times.stale] {
        out.extend_from_slice(&time.to_le_bytes());
    }
    let extra = reply.extra.as_deref();
    if extra.is_some_and(|extra| extra.status.is_some() || extra.members.is_some() || extra.error.is_some()) {
        return None;
    }
    let metadata = extra.map(|extra| extra.metadata.entries()).unwrap_or_default();
    out.extend_from_slice(&u32::try_from(metadata.len()).ok()?.to_le_bytes());
    for (name, value) in metadata {
        write_part(&mut out, name.as_bytes())?;
        write_part(&mut out, value)?;
    }
    out.extend_from_slice(json.as_bytes());
    Some(out)
}

/// Reads an answer, and its times.
pub(super) fn read(bytes: &Bytes) -> Option<(Reply, Times)> {
    let mut rest = bytes.strip_prefix(&[VERSION])?;
    let [began, fresh, stale] = [number(&mut rest)?, number(&mut rest)?, number(&mut rest)?];
    let (count, after) = rest.split_first_chunk()?;
    rest = after;
    let mut metadata = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let name = std::str::from_utf8(part(&mut rest)?).ok()?.to_owned();
        metadata.push((name, Bytes::copy_from_slice(part(&mut rest)?)));
    }
    let mut reply = Reply::value(Json::parse(Bytes::copy_from_slice(rest)).ok()?);
    if !metadata.is_empty() {
        reply.extra_mut().metadata = metadata.into_iter().collect::<Metadata>();
    }
    Some((reply, Times { began, fresh, stale }))
}

fn write_part(out: &mut Vec<u8>, part: &[u8]) -> Option<()> {
    out.extend_from_slice(&u32::try_from(part.len()).ok()?.to_le_bytes());
    out.extend_from_slice(part);
    Some(())
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use switchboard_core::ErrorObject;

    use super::*;

    const TIMES: Times = Times { began: 1, fresh: 2, stale: 3 };

    fn written() -> Vec<u8> {
        let reply = Reply::value(Json::parse("{\"a\":[1]}".to_owned()).unwrap()).with_metadata("x-a", "b");
        write(&reply, TIMES).unwrap()
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let (reply, times) = read(&written().into()).unwrap();
        assert_eq!(times, TIMES);
        let Outcome::Value(json) = &reply.outcome else { panic!() };
        assert_eq!(json.as_str(), "{\"a\":[1]}");
        assert_eq!(reply.extra.unwrap().metadata.get("x-a"), Some(&b"b"[..]));
        assert!(write(&Reply::error(ErrorObject::unauthorized()), TIMES).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(at in 0_usize..60, byte: u8, length in 0_usize..60, other: Vec<u8>) {
            let mut bytes = written();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = (read(&bytes.into()), read(&other.into()));
        }
    }
}
