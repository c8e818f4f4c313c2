//! Reads any bytes as a header of the PROXY protocol: it never asks for more than a header can have, and what follows a header makes
//! no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_transport::internals::proxy::{Parsed, parse};

/// The longest header: the fixed part and the rest of version 2.
const LONGEST: usize = 16 + 2048;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes) {
        Err(_) => {}
        Ok(Parsed::Incomplete(missing)) => assert!(missing > 0 && bytes.len() + missing <= LONGEST),
        Ok(Parsed::Complete(size, address)) => {
            assert!(size <= bytes.len().min(LONGEST));
            assert_eq!(parse(&bytes[..size]), Ok(Parsed::Complete(size, address)));
            // A reader that takes only what is missing stops exactly at the end.
            let mut read = 0;
            while let Ok(Parsed::Incomplete(missing)) = parse(&bytes[..read]) {
                read += missing;
                assert!(read <= size);
            }
            assert_eq!(read, size);
        }
        Ok(_) => unreachable!(),
    }
});
