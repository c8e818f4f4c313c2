//! Reads any bytes as the header lines of a request: what is found is in them, by any spelling of its name, and it survives being copied.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_core::Metadata;

fuzz_target!(|bytes: &[u8]| {
    let head = Metadata::from_head(Bytes::copy_from_slice(bytes));
    let entries = head.entries();
    assert_eq!(entries.is_empty(), head.is_empty());
    let size: usize = entries.iter().map(|(name, value)| name.len() + value.len() + 1).sum();
    assert!(size <= bytes.len());
    for (name, value) in &entries {
        assert!(!name.contains([':', '\n']) && !value.contains(&b'\n'));
        let first = entries.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        assert_eq!(head.get(name), first.map(|(_, value)| *value));
        assert_eq!(head.get(&name.to_ascii_uppercase()), head.get(name));
    }
    let mut copied = Metadata::default();
    copied.set_head(Bytes::copy_from_slice(bytes));
    assert_eq!(copied.entries(), entries);
});
