//! Amounts on the command line.

use std::time::Duration;

/// As good as for ever: a century, with which no clock overflows.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Reads a time in seconds, such as `30` or `0.5`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| "it is no time; write seconds above 0, such as 30 or 0.5".to_owned())
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
        .ok_or_else(|| "it is no size; write bytes, such as 65536, 64k or 4M".to_owned())
}

/// Reads a number of things, at least one.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "it is no number from 1 on".to_owned())
}

/// Reads how often to try again.
pub(crate) fn attempts(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "it is no number of attempts; write a whole number from 0 on, such as 3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_their_units() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(bytes("4M"), Ok(4 << 20));
        assert_eq!(bytes("64k"), Ok(64 << 10));
        assert_eq!(bytes("17"), Ok(17));
        assert_eq!(count("3"), Ok(3));
        assert_eq!(attempts("0"), Ok(0));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", "0", "-1", "x", "1e400", "nan", "1e300"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        for text in ["", "0", "-1", "k", "4kk", "4Mk", "99999999999999999999", "18446744073709551615k"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(count("0").is_err());
        assert!(attempts("-1").is_err() && attempts("x").is_err() && attempts("").is_err());
    }
}
