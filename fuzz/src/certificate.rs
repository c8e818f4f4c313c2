//! Reads the names in any bytes, as if they were a certificate: what comes of it is no larger than they are.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_transport::internals::tls::read_certificate;

/// A certificate, so that the fuzzer begins with something that has names.
const SAMPLE: &[u8] = include_bytes!("../corpus/certificate/sample");

fuzz_target!(|input: (u16, &[u8])| {
    let (at, bytes) = input;
    check(bytes);
    // The same bytes in the middle of a certificate, so that they are met behind all that comes before the names.
    let at = usize::from(at) % SAMPLE.len();
    let mut changed = SAMPLE.to_vec();
    let length = bytes.len().min(changed.len() - at);
    changed[at..at + length].copy_from_slice(&bytes[..length]);
    check(&changed);
});

fn check(bytes: &[u8]) {
    let found = read_certificate(bytes);
    let names = found.dns_names.iter().chain(&found.emails).chain(&found.uris);
    let names: usize = names.map(String::len).sum();
    assert!(names <= bytes.len());
    // A byte of the subject becomes four at most: the mark for what cannot be read, with its name's number.
    assert!(found.subject.len() <= 8 * bytes.len());
    assert_eq!(found.fingerprint.len(), 64);
    assert!(found.subject.chars().all(|character| !character.is_control()));
}
