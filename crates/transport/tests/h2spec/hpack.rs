//! h2spec's section "hpack": header blocks that cannot be read.

use crate::case::{COMPRESSION, Case, Expect, case, get};
use crate::wire::{WHOLE, headers};

pub(crate) fn cases() -> Vec<Case> {
    let with = |more: &[u8]| vec![headers(WHOLE, 1, &[&get(&[]), more].concat())];
    let error = Expect::ConnectionError(&[COMPRESSION]);
    let cases = vec![
        case("hpack/2.3.3/1", "an index that is not in use", with(b"\xc6"), error),
        case(
            "hpack/2.3.3/2",
            "a literal whose name has an index that is not in use",
            with(b"\x7f\x07\0"),
            error,
        ),
        case("hpack/4.2/1", "a new size of the table at the end of a block", with(b"\x21"), error),
        case(
            "hpack/5.2/1",
            "Huffman padding of more than seven bits",
            with(b"\0\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff"),
            error,
        ),
        case(
            "hpack/5.2/2",
            "Huffman padding of zeros",
            with(b"\0\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90"),
            error,
        ),
        case(
            "hpack/5.2/3",
            "a Huffman text with the symbol for its end",
            with(b"\0\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f"),
            error,
        ),
        case("hpack/6.1/1", "index 0", with(b"\x80"), error),
        case(
            "hpack/6.3/1",
            "a table larger than SETTINGS_HEADER_TABLE_SIZE",
            vec![headers(WHOLE, 1, &[&b"\x3f\xe2\x1f"[..], &get(&[])].concat())],
            error,
        ),
    ];
    cases.into_iter().map(Case::with_other_code).collect()
}
