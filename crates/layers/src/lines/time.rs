//! Times as text.

#[cfg(feature = "log")]
use std::cell::RefCell;
use std::time::{Duration, SystemTime};

#[cfg(feature = "log")]
use super::{push_digit, push_pair};

/// A time as `2026-11-17T10:43:02.117Z`. Times before 1970 become its beginning.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    let since = since_1970(time);
    format!("{}.{:03}Z", whole_second(since.as_secs()), since.subsec_millis())
}

/// Reads such a time, with or without fractions of a second, at any offset from UTC. Times before 1970 are none.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, clock) = text.split_once(['T', 't'])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, offset) = match clock.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => {
            let (clock, offset) = clock.split_at_checked(clock.len().checked_sub(6)?)?;
            let [hours, minutes] = numbers(offset.get(1..)?, ':', [2, 2])?;
            let minutes = i64::try_from(hours * 60 + minutes).ok()?;
            (clock, if offset.starts_with('-') { -minutes } else { minutes })
        }
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_valid =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    let digits = fraction.get(..fraction.len().min(9))?;
    if !is_valid || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = digits.parse::<u64>().ok()? * 10_u64.pow(9 - u32::try_from(digits.len()).ok()?);
    let seconds =
        i64::try_from(days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second).ok()?;
    let since = Duration::from_secs(u64::try_from(seconds - offset * 60).ok()?) + Duration::from_nanos(nanos);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// Numbers of exactly so many digits.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, length) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == length)?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

/// The days from 1 January 1970 to a date that exists: the other direction of [`date`].
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (shifted, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let (era, year_of_era) = (shifted / 400, shifted % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    (date(days) == (year, month, day)).then_some(days)
}

pub(crate) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Adds such a time, given since 1970, to a line.
#[cfg(feature = "log")]
pub(crate) fn push_time(line: &mut Vec<u8>, since: Duration) {
    thread_local! {
        /// The text of the last second: a busy log has thousands of lines in each.
        static LAST: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    LAST.with_borrow_mut(|(second, text)| {
        if *second != since.as_secs() {
            (*second, *text) = (since.as_secs(), whole_second(since.as_secs()));
        }
        line.extend_from_slice(text.as_bytes());
    });
    let milliseconds = u64::from(since.subsec_millis());
    line.push(b'.');
    push_digit(line, milliseconds / 100);
    push_pair(line, milliseconds);
    line.push(b'Z');
}

fn whole_second(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// The date so many days after 1 January 1970. It counts from 1 March, so that a leap day is the last of its year; then a period of 400
/// years always has as many days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        let check = |milliseconds, expected: &str| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
            assert_eq!(rfc3339(time), expected);
            #[cfg(feature = "log")]
            {
                let mut line = Vec::new();
                push_time(&mut line, since_1970(time));
                assert_eq!(line, expected.as_bytes());
            }
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_794_912_182_117, "2026-11-17T10:43:02.117Z");
        check(4_107_542_399_999, "2100-02-28T23:59:59.999Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn times_are_read_at_any_offset() {
        let check = |text: &str, expected: Option<u64>| {
            let expected = expected.map(|millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
            assert_eq!(parse_rfc3339(text), expected, "{text}");
        };
        check("1970-01-01T00:00:00Z", Some(0));
        check("2026-11-17T10:43:02.117Z", Some(1_794_912_182_117));
        check("2026-11-17T12:13:02.117000+01:30", Some(1_794_912_182_117));
        check("2100-02-28T23:59:59.999Z", Some(4_107_542_399_999));
        for wrong in ["", "2026-02-29T00:00:00Z", "2026-11-17", "2026-11-17T10:43:02", "1969-12-31T23:59:59Z"]
        {
            check(wrong, None);
        }
        check("2026-11-17T10:43:02.+1Z", None);
        check("2026-11-17T1é:00", None);
    }
}
