//! Numbers as people read them.

/// A time in the unit that suits it, with three digits or so: `12.3 µs`.
pub(crate) fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n >= 1e9 => (n / 1e9, "s"),
        n if n >= 1e6 => (n / 1e6, "ms"),
        n if n >= 1e3 => (n / 1e3, "µs"),
        n => (n, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// A whole number with its thousands set apart: `12,345`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things a second: `12,345`, or `0.52`.
pub(crate) fn rate(rate: f64) -> String {
    if rate >= 100.0 { count(rate.round() as u64) } else { digits(rate) }
}

/// A number of bytes: `4.21 MB`.
pub(crate) fn bytes(bytes: f64) -> String {
    let (value, unit) = match bytes {
        n if n >= 1e9 => (n / 1e9, "GB"),
        n if n >= 1e6 => (n / 1e6, "MB"),
        n if n >= 1e3 => (n / 1e3, "kB"),
        n => (n, "B"),
    };
    format!("{} {unit}", digits(value))
}

/// Three digits, and more only before the point.
fn digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        0.0 => "0".to_owned(),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(
            [0.0, 12.0, 999.0, 1234.0, 99_960.0, 1.5e6, 2e9].map(time),
            ["0 ns", "12.0 ns", "999 ns", "1.23 µs", "100 µs", "1.50 ms", "2.00 s"]
        );
        assert_eq!([0, 12, 123, 1234, 1_234_567].map(count), ["0", "12", "123", "1,234", "1,234,567"]);
        assert_eq!([0.5, 99.0, 12_345.6].map(rate), ["0.50", "99.0", "12,346"]);
        assert_eq!([5.0, 1500.0, 4.2e6].map(bytes), ["5.00 B", "1.50 kB", "4.20 MB"]);
    }
}
