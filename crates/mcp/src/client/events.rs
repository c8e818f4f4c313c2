//! Event streams that have arrived as a whole.

/// The data of the events of a stream, without empty ones.
pub(super) fn messages(text: &str) -> Vec<String> {
    let (mut messages, mut data) = (Vec::new(), None::<String>);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    for line in text.split('\n') {
        match line.strip_prefix("data") {
            _ if line.is_empty() => messages.extend(data.take().filter(|data| !data.is_empty())),
            Some("") => add(&mut data, ""),
            Some(rest) if rest.starts_with(':') => {
                let value = &rest[1..];
                add(&mut data, value.strip_prefix(' ').unwrap_or(value));
            }
            _ => {}
        }
    }
    // The last blank line may be missing.
    messages.extend(data);
    messages
}

fn add(data: &mut Option<String>, line: &str) {
    match data {
        Some(data) => {
            data.push('\n');
            data.push_str(line);
        }
        None => *data = Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_at_blank_lines() {
        let check = |text: &str, expected: &[&str]| assert_eq!(messages(text), expected, "{text:?}");
        check("event: message\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\n", &[r#"{"a":1}"#]);
        check("id: 1\ndata:\n\n: comment\n\ndata:{\ndata: }\n\n", &["{\n}"]);
        check("data: 1\n\ndata: 2\n\n", &["1", "2"]);
        check("data: 1\n\ndata: 2", &["1", "2"]);
    }
}
