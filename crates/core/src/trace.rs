//! Trace context: where a call stands in a distributed trace (W3C Trace Context).

use std::fmt::{self, Write as _};

use bytes::Bytes;

use crate::metadata::Metadata;

/// The name of the metadata that says where a call stands in a trace.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// The name of the metadata with what tracing systems add to that.
pub(crate) const TRACESTATE: &str = "tracestate";

/// Where a call stands in a distributed trace: the trace, one span of it, and whether it is recorded.
///
/// # Examples
///
/// ```
/// use switchboard_core::TraceContext;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::parse(text).unwrap();
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// Identifies the trace. Never all zero.
    pub trace: [u8; 16],
    /// Identifies the span. Never all zero.
    pub span: [u8; 8],
    /// Bits: 1 if the trace is recorded, 2 if the trace's identifier is random.
    pub flags: u8,
}

/// The trace context of the request or handshake that a call came with, if its message has another (OBS-C-04); among the extensions of its
/// context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierTrace(pub TraceContext);

impl TraceContext {
    /// The trace is recorded.
    pub const SAMPLED: u8 = 1;
    /// The identifier of the trace is random.
    pub const RANDOM: u8 = 2;

    /// Reads a `traceparent`. None if it is not valid (OBS-T-01); of later versions, the fields of this one are read (OBS-T-02).
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<TraceContext> {
        let (fields, rest) = traceparent.as_bytes().split_at_checked(55)?;
        let is_separated = [2, 35, 52].into_iter().all(|at| fields[at] == b'-');
        let [version] = hex(&fields[..2])?;
        let is_ended = rest.is_empty() || version != 0 && rest[0] == b'-';
        if !is_separated || !is_ended || version == 0xff {
            return None;
        }
        let (trace, span, [flags]) = (hex(&fields[3..35])?, hex(&fields[36..52])?, hex(&fields[53..])?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        // Other bits are not defined, and sent as 0 (OBS-T-03).
        let flags = flags & (TraceContext::SAMPLED | TraceContext::RANDOM);
        is_valid.then_some(TraceContext { trace, span, flags })
    }

    /// The trace context in this metadata, if it has a valid one.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<TraceContext> {
        TraceContext::parse(metadata.text(TRACEPARENT)?)
    }

    /// Whether the trace is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & TraceContext::SAMPLED != 0
    }

    /// The identifier of the trace as text.
    #[must_use]
    pub fn trace_id(&self) -> String {
        Hex(&self.trace).to_string()
    }

    /// The same metadata with this trace context instead of another. What systems added to another trace is dropped, and so is
    /// what is not valid (OBS-T-04).
    #[must_use]
    pub fn instead(&self, metadata: &Metadata) -> Metadata {
        let is_same = TraceContext::of(metadata).is_some_and(|other| other.trace == self.trace);
        let keeps = |name: &str, value: &[u8]| match name {
            TRACEPARENT => false,
            TRACESTATE => is_same && is_tracestate(value),
            _ => true,
        };
        let entries = metadata.entries().into_iter().filter(|(name, value)| keeps(name, value));
        let mut metadata: Metadata =
            entries.map(|(name, value)| (name, Bytes::copy_from_slice(value))).collect();
        metadata.insert(TRACEPARENT, self.to_string());
        metadata
    }
}

/// Writes a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{}", Hex(&self.trace), Hex(&self.span), Hex(&[self.flags]))
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble & 0xf)]);
        self.0.iter().try_for_each(|byte| {
            f.write_char(digit(byte >> 4))?;
            f.write_char(digit(*byte))
        })
    }
}

/// Reads bytes as lower-case hexadecimal digits.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Whether this is a valid `tracestate` of a size that is worth forwarding (OBS-T-04).
fn is_tracestate(value: &[u8]) -> bool {
    const MEMBERS: usize = 32;
    /// What systems must be able to carry is 512 bytes; this is what we do.
    const BYTES: usize = 4096;
    let is_key = |key: &[u8]| match key {
        [first, rest @ ..] => {
            let is_start = first.is_ascii_lowercase() || first.is_ascii_digit();
            let is_more =
                |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
            is_start && rest.len() < 256 && rest.iter().all(is_more)
        }
        [] => false,
    };
    let is_value = |value: &[u8]| {
        let is_printable = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
        (1..=256).contains(&value.len()) && value.iter().all(is_printable) && !value.ends_with(b" ")
    };
    let is_member = |member: &[u8]| match member.iter().position(|byte| *byte == b'=') {
        Some(at) => is_key(&member[..at]) && is_value(&member[at + 1..]),
        // Lists may have empty members.
        None => member.is_empty(),
    };
    let members = || value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    value.len() <= BYTES && members().count() <= MEMBERS && members().all(is_member)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Vector {
        value: String,
        /// None if it depends on the transport: HTTP removes spaces around a header before this.
        valid: Option<bool>,
        why: String,
    }

    // OBS-T-01, OBS-T-02, OBS-C-06
    #[test]
    fn every_vector_is_judged_right() {
        let vectors: Vec<Vector> =
            serde_json::from_str(include_str!("../tests/vectors/traceparent.json")).unwrap();
        assert!(!vectors.is_empty());
        for vector in vectors {
            let found = TraceContext::parse(&vector.value);
            assert_eq!(found.is_some(), vector.valid == Some(true), "{}: {}", vector.why, vector.value);
            assert!(found.is_none_or(|found| found.trace_id() == vector.value[3..35]));
        }
        assert_eq!(
            TraceContext::parse(&format!("00-4bf92f3577b34da6a3ce929d0e0e473é{}", "0".repeat(60))),
            None
        );
    }

    // OBS-T-03
    #[test]
    fn only_flags_that_are_defined_are_sent() {
        let context = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff").unwrap();
        assert!(context.to_string().ends_with("-03"));
    }

    // OBS-T-04
    #[test]
    fn a_tracestate_goes_on_with_its_trace_if_it_is_valid() {
        let context = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        let sent = |traceparent: String, state: &str| {
            let metadata: Metadata =
                [("traceparent", traceparent), ("tracestate", state.to_owned()), ("x", "y".to_owned())]
                    .into_iter()
                    .collect();
            let sent = context.instead(&metadata);
            assert_eq!(sent.text("x"), Some("y"));
            assert_eq!(sent.text("traceparent"), Some(&*context.to_string()));
            sent.text("tracestate").map(str::to_owned)
        };
        let own = || context.to_string().replace("00f067aa0ba902b7", "b7ad6b7169203331");
        let long = format!("a={}", "x".repeat(257));
        let many = (0..33).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        let bad = ["A=1", "a", "=1", "a=", "a=b=c", "a=\u{7f}", &long, &many];
        for good in ["a=1", "congo=t61rcWkgMzE,rojo@x=00f067aa0ba902b7", "a=1, b=2", "", &many[6..]] {
            assert_eq!(sent(own(), good).as_deref(), Some(good));
        }
        for bad in bad {
            assert_eq!(sent(own(), bad), None, "{bad}");
        }
        assert_eq!(sent("00-1bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned(), "a=1"), None);
        assert_eq!(sent("nonsense".to_owned(), "a=1"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_what_is_valid_is_written_as_it_was(
            text in "[0-9a-f]{2}-[0-9a-f]{31,33}-[0-9a-fé]{16}-[0-9a-f]{2}(-.{0,9})?|.{0,99}"
        ) {
            if let Some(context) = TraceContext::parse(&text) {
                prop_assert_eq!(&context.to_string()[3..53], &text[3..53]);
                prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
            }
        }
    }
}
