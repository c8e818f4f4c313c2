//! Times in key files.

/// Seconds since 1970, from such a number or from a time in UTC such as `2026-01-31T00:00:00Z`.
pub(super) fn parse(text: &str) -> Option<u64> {
    if !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let is_valid = year >= 1970 && (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month);
    if !is_valid || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second)
}

fn numbers(text: &str, separator: char, lengths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let mut found = [0; 3];
    for (number, length) in found.iter_mut().zip(lengths) {
        let part = parts.next().filter(|part| part.len() == length)?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    years + (1..month).map(|month| days_of(year, month)).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_seconds_since_1970() {
        assert_eq!(parse("1728623456"), Some(1_728_623_456));
        assert_eq!(parse("2024-10-11T05:10:56Z"), Some(1_728_623_456));
        assert_eq!(parse("2024-02-29T00:00:00Z"), Some(1_709_164_800));
        for wrong in
            ["", "-1", "2023-02-29T00:00:00Z", "2024-1-01T00:00:00Z", "2024-01-01", "2024-01-01T24:00:00Z"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
