//! The headers of messages as metadata of calls, and metadata as headers.

use async_nats::HeaderMap;
use async_nats::header::{HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use switchboard_core::codec::{self, Incoming, Message, ResponseOutcome};
use switchboard_core::{Code, Metadata, Settings};

/// The end of a name whose value is base64, because it is not plain text.
const BINARY: &str = "-bin";

/// What the headers of a request tell about its calls: all but those of the transport.
pub(super) fn metadata(headers: &HeaderMap) -> Metadata {
    let mut fields = Vec::new();
    for (name, values) in headers.iter() {
        let name = name.to_string().to_ascii_lowercase();
        if is_reserved(&name) {
            continue;
        }
        for value in values {
            let plain = || (name.clone(), Bytes::copy_from_slice(value.as_str().as_bytes()));
            let binary = name.strip_suffix(BINARY).filter(|name| !is_reserved(name)).and_then(|name| {
                let bytes = BASE64.decode(value.as_str()).ok()?;
                Some((name.to_owned(), Bytes::from(bytes)))
            });
            fields.push(binary.unwrap_or_else(plain));
        }
    }
    fields.into_iter().collect()
}

/// The value of a header, in whatever case its name is written.
pub(super) fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let has_name =
        |(other, _): &(&HeaderName, &'a Vec<HeaderValue>)| other.to_string().eq_ignore_ascii_case(name);
    headers.iter().find(has_name).and_then(|(_, values)| values.first()).map(HeaderValue::as_str)
}

/// Adds metadata to the headers of a message.
pub(super) fn add(headers: &mut HeaderMap, metadata: &Metadata) {
    for (name, value) in metadata.entries() {
        let name = name.to_ascii_lowercase();
        if is_reserved(&name) {
            tracing::debug!(name, "skipped metadata named like a header that the transport uses");
            continue;
        }
        let text = std::str::from_utf8(value).ok().filter(|_| !name.ends_with(BINARY));
        let text = text.and_then(|text| text.parse::<HeaderValue>().ok());
        let (name, value) = match text {
            Some(text) => (name, text),
            None => (format!("{name}{BINARY}"), HeaderValue::from(BASE64.encode(value))),
        };
        match name.parse::<HeaderName>() {
            Ok(name) => headers.append(name, value),
            Err(_) => tracing::debug!(name, "skipped metadata whose name is not a valid header"),
        }
    }
}

/// The headers by which tools of NATS know that a response is an error.
pub(super) fn of_error(code: Code, response: &Bytes) -> HeaderMap {
    let text = match codec::decode(response, &Settings::default()) {
        Ok(Incoming::Single(Message::Response(response))) => match response.outcome {
            ResponseOutcome::Error(error) => error.message.replace(char::is_control, " "),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Service-Error-Code", code.to_string());
    headers.insert("Nats-Service-Error", text);
    headers
}

/// Whether a header, in lower case, belongs to NATS or to this transport.
fn is_reserved(name: &str) -> bool {
    name.starts_with("nats-") || name.starts_with("switchboard-") || name == "content-type"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_goes_through_headers_in_any_case_and_form() {
        let given = Metadata::from_iter([
            ("Authorization", &b"Bearer one"[..]),
            ("x-tag", b"1"),
            ("X-Tag", b"2"),
            ("x-raw", b"\xff\r\n"),
            ("y-bin", b"plain"),
            ("Nats-Msg-Id", b"7"),
            ("switchboard-part", b"0 end"),
            ("no name", b"1"),
        ]);
        let mut headers = HeaderMap::new();
        add(&mut headers, &given);
        let back = metadata(&headers);
        assert_eq!(back.text("authorization"), Some("Bearer one"));
        assert_eq!(back.get("x-raw"), Some(&b"\xff\r\n"[..]));
        let mut tags: Vec<_> = back.entries().into_iter().filter(|(name, _)| *name == "x-tag").collect();
        tags.sort_unstable();
        assert_eq!(tags, [("x-tag", &b"1"[..]), ("x-tag", b"2")]);
        assert_eq!(back.text("y-bin"), Some("plain"));
        assert_eq!(back.entries().len(), 5);
    }
}
