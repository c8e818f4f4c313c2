//! The parts of an answer, and the messages that control them, as headers say.
//!
//! ```text
//! switchboard-part: 12 item        from the worker: the number of the part, and what it is
//! switchboard-control: credit 268  from the caller: parts up to this number may be sent
//! ```

use async_nats::HeaderMap;

/// The header of a part.
pub(super) const PART: &str = "switchboard-part";
/// The header of a control message.
pub(super) const CONTROL: &str = "switchboard-control";
/// The header that says how many milliseconds a caller waits.
pub(super) const TIMEOUT: &str = "switchboard-timeout-ms";

/// How many parts may be sent before the caller allows more. It allows so many after the last one that it has read.
pub(super) const WINDOW: u64 = 256;

/// How many bytes of parts that the caller has not read may be sent, unless one part has more.
pub(super) const WINDOW_BYTES: usize = 256 << 10;

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The call was accepted, and still runs. The reply subject is where to control it.
    Accepted,
    /// The reply is a stream, whose items follow.
    Stream,
    /// A response to the call.
    Item,
    /// Something else from the handler: a notification, or a call to the caller.
    Push,
    /// The worker is there. It carries the number of the last part.
    Beat,
    /// Nothing follows.
    End,
    /// The message was a notification: nothing is answered.
    Nothing,
}

const KINDS: [(Kind, &str); 7] = [
    (Kind::Accepted, "accepted"),
    (Kind::Stream, "stream"),
    (Kind::Item, "item"),
    (Kind::Push, "push"),
    (Kind::Beat, "beat"),
    (Kind::End, "end"),
    (Kind::Nothing, "none"),
];

/// The number of a part, and what it is.
pub(super) fn part_headers(number: u64, kind: Kind) -> HeaderMap {
    let (_, name) = KINDS.iter().find(|(other, _)| *other == kind).expect("every kind has a name");
    let mut headers = HeaderMap::new();
    headers.insert(PART, format!("{number} {name}"));
    headers
}

/// Reads [`part_headers`]. None without that header; an error if it is invalid.
pub(super) fn read_part(headers: Option<&HeaderMap>) -> Option<Result<(u64, Kind), ()>> {
    let value = headers?.get(PART)?.as_str();
    let (number, name) = value.split_once(' ').unwrap_or(("", ""));
    let kind = KINDS.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind);
    Some(number.parse().ok().zip(kind).ok_or(()))
}

/// What a caller tells the worker of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Parts up to this number may be sent.
    Credit(u64),
    /// The answer is not wanted any more.
    Cancel,
    /// The body answers a call of the handler to the caller.
    Response,
}

impl Control {
    pub(super) fn headers(self) -> HeaderMap {
        let value = match self {
            Control::Credit(upto) => format!("credit {upto}"),
            Control::Cancel => "cancel".to_owned(),
            Control::Response => "response".to_owned(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTROL, value);
        headers
    }

    pub(super) fn read(headers: Option<&HeaderMap>) -> Option<Control> {
        match headers?.get(CONTROL)?.as_str() {
            "cancel" => Some(Control::Cancel),
            "response" => Some(Control::Response),
            value => value.strip_prefix("credit ")?.parse().ok().map(Control::Credit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_it_was_written() {
        for (kind, _) in KINDS {
            assert_eq!(read_part(Some(&part_headers(7, kind))), Some(Ok((7, kind))));
        }
        assert_eq!(read_part(None), None);
        assert_eq!(read_part(Some(&HeaderMap::new())), None);
        for wrong in ["", "item", "x item", "1 thing", "1  item", "-1 item"] {
            let mut headers = HeaderMap::new();
            headers.insert(PART, wrong);
            assert_eq!(read_part(Some(&headers)), Some(Err(())), "{wrong}");
        }
    }

    #[test]
    fn a_control_message_is_read_as_it_was_written() {
        for control in [Control::Credit(300), Control::Cancel, Control::Response] {
            assert_eq!(Control::read(Some(&control.headers())), Some(control));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTROL, "credit much");
        assert_eq!(Control::read(Some(&headers)), None);
    }
}
