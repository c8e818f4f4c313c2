//! Reads any text as a URL: it never panics, and what was read is written so that it is read the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_transport::carrier::Url;

fuzz_target!(|text: &str| {
    let Ok(url) = text.parse::<Url>() else { return };
    let written = url.to_string();
    assert_eq!(written.parse(), Ok(url), "{written:?}");
});
