//! The order in which recorded calls begin and end.
//!
//! A call is sent when all calls that had ended before it began are answered. So calls that waited for others wait for them again, and calls that
//! ran at the same time do so again, however fast the server is.

use crate::recording::Entry;

/// A moment of a recording: what happens to the entry with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Begin(usize),
    End(usize),
}

/// The moments of calls in their order. Where two are at the same time, ends come first.
pub(crate) fn timeline(entries: &[Entry]) -> Vec<Moment> {
    let mut moments = Vec::with_capacity(entries.len() * 2);
    for (index, entry) in entries.iter().enumerate() {
        moments.push((entry.at, true, Moment::Begin(index)));
        // A call does not end before it begins, not even by rounding.
        moments.push((entry.end().max(entry.at), entry.ms <= 0.0, Moment::End(index)));
    }
    // The sort keeps the beginning of a call that took no time before its end.
    moments.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    moments.into_iter().map(|(_, _, moment)| moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_begin_after_those_that_had_ended() {
        let entry = |(at, ms): (f64, f64)| {
            let line = format!(r#"{{"id":1,"at":{at},"session":1,"to":"server","method":"m","ms":{ms}}}"#);
            serde_json::from_str::<Entry>(&line).unwrap()
        };
        let check = |times: &[(f64, f64)], expected: &[Moment]| {
            let entries: Vec<Entry> = times.iter().copied().map(entry).collect();
            assert_eq!(timeline(&entries), expected, "{times:?}");
        };
        use Moment::{Begin, End};
        check(&[], &[]);
        check(&[(0.0, 1.0), (1.0, 1.0)], &[Begin(0), End(0), Begin(1), End(1)]);
        check(&[(0.0, 5.0), (1.0, 1.0)], &[Begin(0), Begin(1), End(1), End(0)]);
        check(&[(3.0, 0.0), (3.0, 0.0)], &[Begin(0), End(0), Begin(1), End(1)]);
        check(&[(2.0, 1.0), (3.0, 0.0)], &[Begin(0), End(0), Begin(1), End(1)]);
    }
}
