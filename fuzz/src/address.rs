//! Reads any text as a URL: it never panics, and what was read is written so that it is read the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_transport::address::Address;

fuzz_target!(|text: &str| {
    let Ok(address) = text.parse::<Address>() else { return };
    let written = address.to_string();
    assert_eq!(written.parse(), Ok(address), "{written:?}");
});
