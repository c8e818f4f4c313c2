//! Methods as subjects: `SERVICE.TOKEN.TOKEN`, for example `math.math.add` for the method `math/add` of the service `math`.
//!
//! A method is split at `/`, and each part is one token. Bytes other than letters, digits, `_`, `-` and `$` become `=XX`, in upper-case
//! hexadecimal. An empty part is `=`. So each name has one subject, and each subject at most one name.

/// The token of messages whose method the sender does not know: batches, and messages that may be invalid.
pub(super) const ANY: &str = "=any";

/// What the subjects of topics begin with. No service has such a name.
pub(super) const TOPICS: &str = "_SBT.";

/// The most bytes of a subject.
pub(super) const LONGEST: usize = 1024;

/// The subject of a method. None if it is too long for a server.
pub(super) fn encode(service: &str, method: &str) -> Option<String> {
    let mut subject = String::with_capacity(service.len() + 1 + method.len());
    subject.push_str(service);
    for part in method.split('/') {
        subject.push('.');
        if part.is_empty() {
            subject.push('=');
        }
        for byte in part.bytes() {
            if is_plain(byte) {
                subject.push(char::from(byte));
            } else {
                subject.push('=');
                subject.push(hex(byte >> 4));
                subject.push(hex(byte & 15));
            }
        }
    }
    (subject.len() <= LONGEST).then_some(subject)
}

/// Whether a subject is that of a method of its service.
pub(super) fn is_of(subject: &str, method: &str) -> bool {
    let Some((service, _)) = subject.split_once('.') else { return false };
    // Nearly all methods have a plain name, which needs no copy to compare.
    let rest = &subject.as_bytes()[service.len() + 1..];
    let same = |(one, other): (&u8, u8)| *one == if other == b'/' { b'.' } else { other };
    if method.bytes().all(|byte| is_plain(byte) || byte == b'/') && !has_empty_part(method) {
        return rest.len() == method.len() && rest.iter().zip(method.bytes()).all(same);
    }
    encode(service, method).is_some_and(|expected| expected == subject)
}

/// The method, or the topic, of a subject below its service. None if it is the subject of none.
pub(super) fn decode(tokens: &str) -> Option<String> {
    let parts: Option<Vec<String>> = tokens.split('.').map(decode_part).collect();
    parts.map(|parts| parts.join("/"))
}

fn decode_part(token: &str) -> Option<String> {
    if token == "=" {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::new(), token.bytes());
    while let Some(byte) = rest.next() {
        if is_plain(byte) {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let is_upper = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
        let escaped = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
        if byte != b'=' || !is_upper || is_plain(escaped) || escaped == b'/' {
            return None;
        }
        bytes.push(escaped);
    }
    if bytes.is_empty() { None } else { String::from_utf8(bytes).ok() }
}

/// Whether a text can name a service: one token.
pub(super) fn is_service(name: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_name) && !name.starts_with('_')
}

fn has_empty_part(method: &str) -> bool {
    method.is_empty() || method.starts_with('/') || method.ends_with('/') || method.contains("//")
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$')
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).expect("it has four bits").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_subject() {
        let check = |method: &str, tokens: &str| {
            let subject = encode("math", method).unwrap();
            assert_eq!(subject, format!("math.{tokens}"), "{method}");
            assert_eq!(decode(tokens).as_deref(), Some(method));
            assert!(is_of(&subject, method), "{method}");
            assert!(!is_of(&subject, &format!("{method}x")), "{method}");
        };
        check("math/add", "math.add");
        check("eth_call", "eth_call");
        check("rpc.discover", "rpc=2Ediscover");
        check("$/cancelRequest", "$.cancelRequest");
        check("a b", "a=20b");
        check("*", "=2A");
        check(">", "=3E");
        check("größe", "gr=C3=B6=C3=9Fe");
        check("a=", "a=3D");
        check("", "=");
        check("/", "=.=");
        check("a/", "a.=");
    }

    #[test]
    fn a_subject_that_no_method_has_is_not_decoded() {
        for wrong in [ANY, "=2a", "=41", "=2F", "=C3", "=2", "a..b", "a.", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_name_has_a_subject_that_is_valid_and_no_other_name_has() {
        let mut random = fastrand::Rng::with_seed(7);
        let letters = ['a', 'Z', '0', '/', '.', '=', '*', '>', ' ', '$', '-', 'é', '\u{0}', '\n', '日'];
        let mut seen = std::collections::HashMap::new();
        for _ in 0..20_000 {
            let method: String =
                (0..random.usize(0..7)).map(|_| letters[random.usize(0..letters.len())]).collect();
            let subject = encode("s", &method).unwrap();
            assert!(subject.split('.').all(|token| !token.is_empty()), "{subject}");
            assert!(
                subject.bytes().all(|byte| byte.is_ascii_graphic() && !b"*>".contains(&byte)),
                "{subject}"
            );
            assert_eq!(decode(&subject["s.".len()..]).as_deref(), Some(&*method), "{subject}");
            assert!(is_of(&subject, &method));
            let earlier = seen.insert(subject, method.clone());
            assert!(earlier.is_none_or(|earlier| earlier == method));
        }
    }

    #[test]
    fn a_service_is_one_token() {
        for name in ["math", "math-v2", "M_1"] {
            assert!(is_service(name), "{name}");
        }
        for name in ["", "_x", "a.b", "a b", ">", "é", &"x".repeat(65)] {
            assert!(!is_service(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_too_long_has_no_subject() {
        assert!(encode("math", &"x".repeat(1019)).is_some());
        assert!(encode("math", &"x".repeat(1020)).is_none());
    }
}
