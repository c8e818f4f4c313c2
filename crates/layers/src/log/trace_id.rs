//! The trace that a call belongs to.

/// The trace id of a `traceparent`, if that is valid (OBS-T-01, OBS-T-02).
pub(super) fn trace_id(traceparent: &str) -> Option<&str> {
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = |text: &str| is_hex(text) && text.bytes().any(|byte| byte != b'0');
    if !traceparent.is_ascii() || traceparent.len() < 55 {
        return None;
    }
    let (fields, rest) = traceparent.split_at(55);
    let [version, trace, parent, flags] =
        [(0, 2), (3, 35), (36, 52), (53, 55)].map(|(from, to)| &fields[from..to]);
    let is_separated = [2, 35, 52].into_iter().all(|at| fields.as_bytes()[at] == b'-');
    let is_ended = rest.is_empty() || version != "00" && rest.starts_with('-');
    let is_valid = is_separated && is_ended && is_hex(version) && version != "ff" && is_hex(flags);
    (is_valid && is_id(trace) && is_id(parent)).then_some(trace)
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
            serde_json::from_str(include_str!("../../tests/vectors/traceparent.json")).unwrap();
        for vector in vectors {
            let found = trace_id(&vector.value);
            assert_eq!(found.is_some(), vector.valid == Some(true), "{}: {}", vector.why, vector.value);
            assert!(found.is_none_or(|trace| trace == &vector.value[3..35]));
        }
        assert_eq!(trace_id(&format!("00-4bf92f3577b34da6a3ce929d0e0e473é{}", "0".repeat(60))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_only_the_second_field_is_found(
            text in "[0-9a-f]{2}-[0-9a-f]{31,33}-[0-9a-fé]{16}-[0-9a-f]{2}(-.{0,9})?|.{0,99}"
        ) {
            if let Some(trace) = trace_id(&text) {
                prop_assert_eq!(text.split('-').nth(1), Some(trace));
                prop_assert!(trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }
}
