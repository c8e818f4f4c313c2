//! The canonical form of JSON (JCS, RFC 8785), which is what signatures of cards cover.

use serde_json::Value;

/// The canonical text of a value. Numbers are double-precision floats, as in JavaScript.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(text, number.as_f64().unwrap_or_default()),
        Value::String(string) => write_string(text, string),
        Value::Array(list) => {
            text.push('[');
            for (number, value) in list.iter().enumerate() {
                text.push_str(if number > 0 { "," } else { "" });
                write(text, value);
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            // By units of UTF-16, which is another order than that of UTF-8.
            members.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (number, (name, value)) in members.into_iter().enumerate() {
                text.push_str(if number > 0 { "," } else { "" });
                write_string(text, name);
                text.push(':');
                write(text, value);
            }
            text.push('}');
        }
    }
}

/// A string with the escapes that are necessary, and no others. That is how `serde_json` writes it.
fn write_string(text: &mut String, string: &str) {
    text.push_str(&Value::from(string).to_string());
}

/// A number as JavaScript writes it (ECMA-262, Number::toString).
fn write_number(text: &mut String, number: f64) {
    use std::fmt::Write as _;
    if number == 0.0 {
        // Also for negative zero.
        text.push('0');
        return;
    }
    // The fewest digits that stand for this number, and of those the closest, with an even last digit if two are: as `serde_json` chooses
    // them. The standard library chooses others in the last case.
    let shortest = Value::from(number.abs()).to_string();
    let (mantissa, power) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let both = format!("{before}{after}");
    let significant = both.trim_start_matches('0');
    // How many digits are before the point.
    let whole =
        length(before) - length(&both) + length(significant) + power.parse::<i32>().unwrap_or_default();
    let digits = significant.trim_end_matches('0');
    let exponent = whole - 1;
    let count = length(digits);
    if number < 0.0 {
        text.push('-');
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let at = |place: i32| digits.split_at(usize::try_from(place).unwrap_or_default());
    let written = match whole {
        whole if (count..=21).contains(&whole) => write!(text, "{digits}{}", zeros(whole - count)),
        whole if (1..=21).contains(&whole) => {
            let (before, after) = at(whole);
            write!(text, "{before}.{after}")
        }
        whole if (-5..=0).contains(&whole) => write!(text, "0.{}{digits}", zeros(-whole)),
        _ => {
            let (first, rest) = at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(text, "{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    };
    written.expect("a string takes any text");
}

fn length(digits: &str) -> i32 {
    i32::try_from(digits.len()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A2A-T-10: the numbers of RFC 8785, appendix B.
    #[test]
    fn numbers_are_written_as_in_the_standard() {
        let check = |bits: u64, expected: &str| {
            let mut text = String::new();
            write_number(&mut text, f64::from_bits(bits));
            assert_eq!(text, expected, "{bits:016x}");
        };
        check(0x0000_0000_0000_0000, "0");
        check(0x8000_0000_0000_0000, "0");
        check(0x0000_0000_0000_0001, "5e-324");
        check(0x8000_0000_0000_0001, "-5e-324");
        check(0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308");
        check(0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308");
        check(0x4340_0000_0000_0000, "9007199254740992");
        check(0xc340_0000_0000_0000, "-9007199254740992");
        check(0x4430_0000_0000_0000, "295147905179352830000");
        check(0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22");
        check(0x44b5_2d02_c7e1_4af6, "1e+23");
        check(0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23");
        check(0x444b_1ae4_d6e2_ef4e, "999999999999999700000");
        check(0x444b_1ae4_d6e2_ef4f, "999999999999999900000");
        check(0x444b_1ae4_d6e2_ef50, "1e+21");
        check(0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7");
        check(0x3eb0_c6f7_a0b5_ed8d, "0.000001");
        check(0x41b3_de43_5555_5553, "333333333.3333332");
        check(0x41b3_de43_5555_5554, "333333333.33333325");
        check(0x41b3_de43_5555_5555, "333333333.3333333");
        check(0x41b3_de43_5555_5556, "333333333.3333334");
        check(0x41b3_de43_5555_5557, "333333333.33333343");
        check(0xbecb_f647_612f_3696, "-0.0000033333333333333333");
        check(0x4314_3ff3_c1cb_0959, "1424953923781206.2");
    }

    // A2A-T-10: the examples of RFC 8785, sections 3.2.2 to 3.2.4.
    #[test]
    fn documents_are_written_as_in_the_standard() {
        let check = |input: &str, expected: &str| {
            assert_eq!(canonical(&serde_json::from_str(input).unwrap()), expected);
        };
        check(
            r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
        );
        check(
            r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
                "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
                "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
    }
}
