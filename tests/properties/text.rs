//! JSON texts of every kind.

use proptest::collection::vec;
use proptest::prelude::*;

/// A number, spelled in any way that JSON allows.
pub(crate) fn number() -> impl Strategy<Value = String> {
    let whole = prop_oneof![
        Just("0".to_owned()),
        (1..=9_u8, digits(0..25)).prop_map(|(d, rest)| format!("{d}{rest}"))
    ];
    let fraction = prop_oneof![3 => Just(String::new()), 1 => digits(1..20).prop_map(|d| format!(".{d}"))];
    let sign = prop_oneof![Just(""), Just("+"), Just("-")];
    let letter = prop_oneof![Just("e"), Just("E")];
    let exponent = prop_oneof![
        3 => Just(String::new()),
        1 => (letter, sign, digits(1..8)).prop_map(|(e, sign, d)| format!("{e}{sign}{d}")),
    ];
    let minus = prop_oneof![Just(""), Just("-")];
    (minus, whole, fraction, exponent).prop_map(|(minus, w, f, e)| format!("{minus}{w}{f}{e}"))
}

fn digits(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    vec(0..=9_u8, length).prop_map(|digits| digits.iter().map(|digit| char::from(b'0' + digit)).collect())
}

/// A string, each character as it is or escaped in one of the ways that JSON allows.
pub(crate) fn string() -> impl Strategy<Value = String> {
    vec((any::<char>(), any::<bool>()), 0..40).prop_map(|characters| {
        let content: String =
            characters.into_iter().map(|(character, escaped)| spell(character, escaped)).collect();
        format!("\"{content}\"")
    })
}

fn spell(character: char, escaped: bool) -> String {
    match character {
        '"' | '\\' => format!("\\{character}"),
        '\n' if escaped => "\\n".to_owned(),
        '/' if escaped => "\\/".to_owned(),
        _ if escaped || character < ' ' => {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        _ => character.to_string(),
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number(),
        string()
    ]
}

/// Any value, with white space here and there. Its objects have no name twice.
pub(crate) fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(6, 48, 6, |inner| prop_oneof![array(inner.clone()), object(inner)])
}

fn array(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (vec(inner, 0..6), space())
        .prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(&format!("{space},"))))
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (vec((string(), inner), 0..6), space()).prop_map(|(members, space)| {
        // A number before each name makes it unique.
        let member = |(n, (name, value)): (usize, &(String, String))| {
            format!("\"{n}{}{space}:{space}{value}", &name[1..])
        };
        let members: Vec<_> = members.iter().enumerate().map(member).collect();
        format!("{{{space}{}{space}}}", members.join(","))
    })
}

/// Parameters: an array or an object.
pub(crate) fn params() -> impl Strategy<Value = String> {
    prop_oneof![array(value()), object(value())]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\r\n\t ")]
}

/// A text like JSON with some bytes replaced, removed, put in or said twice.
pub(crate) fn spoiled(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => proptest::sample::select(&b"{}[]\",:\\/+-.eE0123456789tfnul \n\r\tbux\x00\x1f\x7f\x80\xc0\xed\xff"[..]),
        1 => any::<u8>(),
    ];
    let change = (any::<prop::sample::Index>(), 0..4_u8, byte);
    (text, vec(change, 0..4)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (place, kind, byte) in changes {
            let at = place.index(bytes.len() + 1);
            match kind {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.extend_from_within(at..),
            }
        }
        bytes
    })
}
