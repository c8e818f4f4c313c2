//! A number of calls in a time.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

/// A number of calls in a time. Written as `25/s`, `1000/m`, `5000/h`, `10000/d` or, with a number of units, `10/30s`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use switchboard_layers::rate::Rate;
///
/// let rate: Rate = "10/30s".parse()?;
/// assert_eq!((rate.count(), rate.period()), (10, Duration::from_secs(30)));
/// assert_eq!(rate.to_string(), "10/30s");
/// # Ok::<(), switchboard_layers::rate::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    count: NonZeroU32,
    seconds: NonZeroU32,
}

/// A text that is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid rate `{0}`; use 25/s, 1000/m, 5000/h, 10000/d or 10/30s, with a count and a time above 0")]
pub struct RateError(String);

/// The units, the longest first.
const UNITS: [(&str, u32); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

impl Rate {
    /// So many calls in so many seconds. `None` if either is 0.
    #[must_use]
    pub fn new(count: u32, seconds: u32) -> Option<Rate> {
        Some(Rate { count: NonZeroU32::new(count)?, seconds: NonZeroU32::new(seconds)? })
    }

    /// How many calls.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count.get()
    }

    /// In which time.
    #[must_use]
    pub fn period(self) -> Duration {
        Duration::from_secs(self.seconds.get().into())
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Rate, RateError> {
        let read = || {
            let (count, time) = text.split_once('/')?;
            let (number, unit) =
                UNITS.iter().find_map(|(unit, seconds)| Some((time.strip_suffix(unit)?, seconds)))?;
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let number: u32 = match number {
                "" => 1,
                number if is_number(number) => number.parse().ok()?,
                _ => return None,
            };
            let count = Some(count).filter(|count| is_number(count))?.parse().ok()?;
            Rate::new(count, number.checked_mul(*unit)?)
        };
        read().ok_or_else(|| RateError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds.get();
        let (unit, length) =
            UNITS.into_iter().find(|(_, length)| seconds.is_multiple_of(*length)).unwrap_or(("s", 1));
        match seconds / length {
            1 => write!(f, "{}/{unit}", self.count),
            number => write!(f, "{}/{number}{unit}", self.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        let check = |text: &str, count, seconds| {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate, Rate::new(count, seconds).unwrap(), "{text}");
            assert_eq!(rate.to_string(), text);
        };
        check("25/s", 25, 1);
        check("1000/m", 1000, 60);
        check("5/h", 5, 3600);
        check("7/d", 7, 86_400);
        check("10/30s", 10, 30);
        check("3/15m", 3, 900);
    }

    #[test]
    fn other_texts_are_not_rates() {
        for text in [
            "",
            "25",
            "25/",
            "/s",
            "0/s",
            "5/0s",
            "-1/s",
            "+1/s",
            "1/+1s",
            "5/x",
            "5/ s",
            "5/ms",
            "4294967296/s",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
