//! We take exactly the texts for JSON that serde_json does.

use proptest::prelude::*;
use switchboard_core::codec::decode;
use switchboard_core::{Code, Json, Limits, Settings};
use switchboard_tests::tree::Tree;

use crate::{config, text};

/// What serde_json says, numbers of any size and half surrogate pairs (J2-58) included.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| Tree::read(text).is_ok())
}

fn check(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let expected = is_json(&bytes);
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let limits = Limits::default().with_depth(usize::MAX).with_number(usize::MAX);
    let settings = Settings::default().with_limits(limits);
    let found = decode(&bytes.clone().into(), &settings);
    let ours = !matches!(&found, Err(error) if error.code == Code::PARSE_ERROR);
    prop_assert_eq!(ours, expected, "{}: {:?}", shown, found);
    prop_assert_eq!(Json::parse(bytes).is_ok(), expected, "{}", shown);
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn json_is_taken(value in text::value()) {
        // J2-55
        prop_assert!(is_json(value.as_bytes()), "{}", value);
        check(value.into_bytes())?;
    }

    #[test]
    fn nearly_json_is_judged_as_serde_json_judges_it(bytes in text::spoiled(text::value())) {
        // J2-55, J2-60
        check(bytes)?;
    }

    #[test]
    fn nearly_a_message_is_judged_as_serde_json_judges_it(bytes in text::spoiled(message())) {
        check(bytes)?;
    }

    #[test]
    fn a_long_string_is_judged_as_serde_json_judges_it(
        length in 0..200_usize,
        place in any::<prop::sample::Index>(),
        odd in proptest::sample::select(&["\"", "\\", "\\n", "\\u00e9", "\\ud800", "\u{1f}", "é", "😀"][..]),
        tail in 0..40_usize,
    ) {
        let at = place.index(length + 1);
        let text = format!("[\"{}{odd}{}\"{}]", "x".repeat(at), "y".repeat(length - at), " ".repeat(tail));
        check(text.into_bytes())?;
    }
}

fn message() -> impl Strategy<Value = String> {
    (text::params(), text::number()).prop_map(|(params, id)| {
        format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":{id}}}"#)
    })
}
