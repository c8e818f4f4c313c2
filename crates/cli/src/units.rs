//! Amounts on the command line.

use std::time::Duration;

/// As good as forever: a century, which overflows no clock.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Reads a duration with its unit, such as `500ms`, `5s`, `2m` or `1h`; a bare number is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = found.unwrap_or((text, 1.0));
    let time = number.parse::<f64>().ok().and_then(|count| Duration::try_from_secs_f64(count * unit).ok());
    time.filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| "not a duration above 0; use 5s, 500ms, 2m or 1h".to_owned())
}

/// Whether this is a bare number.
pub(crate) fn has_no_unit(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

/// Reads a duration, or `never`, which is [`LONGEST`].
pub(crate) fn duration_or_never(text: &str) -> Result<Duration, String> {
    match text {
        "never" => Ok(LONGEST),
        _ => duration(text).map_err(|what| what + ", or never"),
    }
}

/// Reads how long something is valid: days, such as `90d`, or a duration.
pub(crate) fn lifetime(text: &str) -> Result<Duration, String> {
    duration(text).map_err(|_| "not a duration above 0; use 90d, 12h or 30m".to_owned())
}

/// Reads a number of bytes, such as `65536`, `64k` or `4M`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']) {
        digits if digits.len() == text.len() => (digits, 1),
        digits => match &text[digits.len()..] {
            "k" | "K" => (digits, 1 << 10),
            "m" | "M" => (digits, 1 << 20),
            "g" | "G" => (digits, 1 << 30),
            _ => ("", 1),
        },
    };
    let count = digits.parse::<usize>().ok().and_then(|count| count.checked_mul(unit));
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| "not a size above 0; use a number of bytes, such as 65536, 64k or 4M".to_owned())
}

/// Reads a size with its unit, such as `4MB`, `64K` or `512B`; `4M`, `4MB` and `4MiB` are the same.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let short = text.strip_suffix("iB").or_else(|| text.strip_suffix('B')).unwrap_or(text);
    bytes(short).map_err(|_| "not a size above 0; use 512B, 64KB or 4MB".to_owned())
}

/// Reads a number of things, at least one.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "use a whole number, 1 or more".to_owned())
}

/// Reads how often to try again.
pub(crate) fn attempts(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "use a whole number, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        for (text, expected) in
            [("500ms", 0.5), ("30s", 30.0), ("90", 90.0), ("0.5", 0.5), ("2m", 120.0), ("1.5h", 5400.0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(expected)), "{text}");
            assert_eq!(duration_or_never(text), duration(text));
        }
        assert_eq!(duration_or_never("never"), Ok(LONGEST));
        assert_eq!(bytes("4M"), Ok(4 << 20));
        assert_eq!(bytes("64k"), Ok(64 << 10));
        assert_eq!(bytes("17"), Ok(17));
        for text in ["4M", "4MB", "4MiB", "4096K", "4194304B", "4194304"] {
            assert_eq!(size(text), Ok(4 << 20), "{text}");
        }
        assert_eq!(count("3"), Ok(3));
        assert_eq!(attempts("0"), Ok(0));
    }

    #[test]
    fn invalid_amounts_are_refused() {
        for text in [
            "", "0", "-1", "x", "1e400", "nan", "1e300", "s", "5x", "1w", "-1s", "0ms", "1 s", "forever",
            "never",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["", "0", "-1", "k", "4kk", "4Mk", "99999999999999999999", "18446744073709551615k"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(count("0").is_err());
        assert!(attempts("-1").is_err() && attempts("x").is_err() && attempts("").is_err());
    }
}
