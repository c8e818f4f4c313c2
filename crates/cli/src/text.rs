//! Text from files and from stdin, as people and their editors leave it there.

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The longest text that is read.
const LONGEST: u64 = 256 << 20;

/// All of a file, or of stdin if the place is `-`.
pub(crate) fn read(place: impl AsRef<Path>) -> Result<String, Failure> {
    let (place, what) = (place.as_ref(), name(place.as_ref()));
    if place.as_os_str() == "-" {
        return read_from(&what, std::io::stdin().lock());
    }
    match std::fs::File::open(place) {
        Ok(file) => read_from(&what, file),
        Err(error) => Err(Failure::usage(format!("cannot read {what}: {error}"))),
    }
}

/// What a place is called where something is said about it.
pub(crate) fn name(place: &Path) -> String {
    if place.as_os_str() == "-" { "stdin".to_owned() } else { place.display().to_string() }
}

fn read_from(what: &str, from: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = from.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("cannot read {what}: {error}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::usage(format!("{what} is larger than {} MiB", LONGEST >> 20)));
    }
    let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let text = String::from_utf8(bytes).map_err(|_| match is_wide {
        true => Failure::usage(format!("{what} is UTF-16")).advise("save it as UTF-8"),
        false => Failure::usage(format!("{what} is not UTF-8")),
    })?;
    Ok(unmarked(&text).to_owned())
}

/// The text without the mark that some editors put at its start (U+FEFF).
pub(crate) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_at_the_start_is_left_out() {
        assert_eq!(read_from("x", &b"\xef\xbb\xbf[1]"[..]), Ok("[1]".to_owned()));
        assert_eq!(read_from("x", &b"[1]"[..]), Ok("[1]".to_owned()));
    }

    #[test]
    fn text_that_is_not_utf_8_is_named_by_its_encoding() {
        let check = |bytes: &[u8], expected: Failure| assert_eq!(read_from("x", bytes), Err(expected));
        check(b"\xff\xfe[\x001\x00]\x00", Failure::usage("x is UTF-16").advise("save it as UTF-8"));
        check(b"[\"\xe9\"]", Failure::usage("x is not UTF-8"));
    }
}
