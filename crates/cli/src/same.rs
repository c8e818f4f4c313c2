//! Whether two JSON texts say the same.

/// Whether two texts are the same JSON: numbers by their value, strings by their characters.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (canonical(a), canonical(b));
    a.is_some() && a == b
}

/// The text without white space, with every string and number in one canonical form.
fn canonical(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some(first) = rest.bytes().next() {
        let length = match first {
            b'"' => string_length(rest)?,
            b'-' | b'0'..=b'9' => {
                let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        let (token, after) = rest.split_at(length);
        match first {
            b'"' => out.push_str(&serde_json::to_string(&serde_json::from_str::<String>(token).ok()?).ok()?),
            b'-' | b'0'..=b'9' => out.push_str(&number(token)?),
            _ => out.push_str(token),
        }
        rest = after.trim_start();
    }
    Some(out)
}

fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map(|end| end + 2)
}

/// A number by its value: sign, digits without zeros at either end, and a power of ten.
fn number(text: &str) -> Option<String> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut power: i64 = power.parse().ok()?;
    power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    power = power.checked_add(i64::try_from(digits.len() - kept.len()).ok()?)?;
    let kept = kept.trim_start_matches('0');
    Some(if kept.is_empty() { "0e0".to_owned() } else { format!("{sign}{kept}e{power}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_by_value_and_strings_by_characters() {
        for (a, b) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0.5", "-5E-1"),
            ("0", "-0.0"),
            ("9007199254740993", "9007199254740993.0"),
            (r#""\u0041\n""#, "\"A\\n\""),
            ("[1, {\"k\": 2}]", "[1.0,{\"k\":2}]"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "\"1\""),
            ("9007199254740993", "9007199254740992"),
            ("1", "10"),
            ("null", "0"),
            ("1", "-1"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }
}
