//! Times as people write them: `2027-01-01` or `2027-01-01T12:30:00Z`, in UTC.

use std::time::{Duration, SystemTime};

const DAY: u64 = 24 * 60 * 60;

/// Reads a time. A date without a time is its first second.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time.strip_suffix('Z')?, ':', [2, 2, 2])?;
    let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Writes a time after 1970.
pub(super) fn write(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (mut days, rest) = (seconds / DAY, seconds % DAY);
    let (mut year, mut month) = (1970, 1);
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

/// Three numbers of exactly so many digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let mut next = |length| {
        let part = parts.next().filter(|part| part.len() == length)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let numbers = [next(digits[0])?, next(digits[1])?, next(digits[2])?];
    parts.next().is_none().then_some(numbers)
}

/// The days between the start of 1970 and this one.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let years: u64 = (1970..year).map(days_of_year).sum();
    let months: u64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(parse(text), Some(time), "{text}");
        assert_eq!(write(time), text);
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        check("1970-01-01T00:00:00Z", 0);
        check("2000-02-29T23:59:59Z", 951_868_799);
        check("2026-11-17T10:45:04Z", 1_794_912_304);
        check("2100-03-01T00:00:00Z", 4_107_542_400);
        assert_eq!(parse("2027-01-01"), parse("2027-01-01T00:00:00Z"));
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in [
            "",
            "2027",
            "2027-1-1",
            "2027-13-01",
            "2027-02-29",
            "2027-01-00",
            "2027-01-01T24:00:00Z",
            "2027-01-01T00:00Z",
            "2027-01-01T00:00:00",
            "2027-01-01T00:00:00+01:00",
            "2027-01-01-01",
            "+027-01-01",
            "1969-12-31",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
