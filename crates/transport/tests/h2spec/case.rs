//! What a case is: what is sent, and what may come back.

use crate::wire;

/// One case of h2spec.
pub(crate) struct Case {
    /// Its place in h2spec.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) steps: Vec<Step>,
    /// What has to come back then.
    pub(crate) expected: Expect,
    /// What comes back instead, and why that is tolerated.
    pub(crate) tolerated: Option<(Expect, &'static str)>,
    /// Whether the connection is set up before.
    pub(crate) has_handshake: bool,
}

pub(crate) enum Step {
    Send(Vec<u8>),
    Await(Expect),
}

/// What the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Data {
        stream: u32,
        length: u32,
        is_end: bool,
    },
    Headers {
        stream: u32,
        is_end: bool,
    },
    Reset {
        stream: u32,
        code: u32,
    },
    Settings {
        is_ack: bool,
    },
    Ping {
        is_ack: bool,
        payload: [u8; 8],
    },
    Goaway(u32),
    /// A frame of another type.
    Other(u8),
    /// An answer of HTTP/1 with this status.
    Http1(u16),
    Closed,
    /// Nothing was said to what was sent, but a ping after it was answered.
    Ignored,
}

pub(crate) const PROTOCOL: u32 = 1;
pub(crate) const FLOW_CONTROL: u32 = 3;
pub(crate) const STREAM_CLOSED: u32 = 5;
pub(crate) const FRAME_SIZE: u32 = 6;
pub(crate) const REFUSED: u32 = 7;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const COMPRESSION: u32 = 9;

/// What has to come back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// The first frame is SETTINGS.
    Settings,
    SettingsAck,
    Pong([u8; 8]),
    /// An answered ping, or the end.
    PongOrClosed([u8; 8]),
    /// The head of an answer on this stream.
    Answer(u32),
    /// DATA of any length.
    Data,
    /// DATA of this length.
    DataOf(u32),
    /// The answer on the stream has ended.
    StreamEnd,
    /// GOAWAY with one of these codes, or the end without one.
    ConnectionError(&'static [u32]),
    /// The same, or RST_STREAM with one of these codes.
    StreamError(&'static [u32]),
    /// GOAWAY with this code.
    Goaway(u32),
    /// The end, after GOAWAY with this code.
    End(u32),
    /// RST_STREAM with this code, on stream 1.
    Reset(u32),
    Closed,
    /// An answer of HTTP/1.
    Http1(u16),
    /// Nothing: see [`Event::Ignored`].
    Nothing,
}

impl Expect {
    /// Whether this event decides, and how.
    pub(crate) fn judge(self, event: Event) -> Option<bool> {
        match (self, event) {
            (Expect::Settings, event) => Some(event == Event::Settings { is_ack: false }),
            (Expect::SettingsAck, Event::Settings { is_ack }) => Some(is_ack),
            (Expect::Pong(expected) | Expect::PongOrClosed(expected), Event::Ping { is_ack, payload }) => {
                Some(is_ack && payload == expected)
            }
            (Expect::PongOrClosed(_), Event::Closed) => Some(true),
            (Expect::Answer(expected), Event::Headers { stream, .. }) => Some(stream == expected),
            (Expect::Data, Event::Data { .. }) => Some(true),
            (Expect::DataOf(expected), Event::Data { length, .. }) => Some(length == expected),
            (Expect::StreamEnd, Event::Data { is_end, .. } | Event::Headers { is_end, .. }) if is_end => {
                Some(true)
            }
            (Expect::ConnectionError(codes) | Expect::StreamError(codes), Event::Goaway(code)) => {
                Some(codes.contains(&code))
            }
            // That an answer was cut short because its request was not needed is none.
            (Expect::StreamError(codes), Event::Reset { code, .. }) if code != 0 => {
                Some(codes.contains(&code))
            }
            (Expect::End(expected), Event::Goaway(code)) => (code != expected).then_some(false),
            (
                Expect::ConnectionError(_) | Expect::StreamError(_) | Expect::Closed | Expect::End(_),
                Event::Closed,
            ) => Some(true),
            (Expect::Goaway(expected), Event::Goaway(code)) => Some(code == expected),
            (Expect::Reset(expected), Event::Reset { stream: 1, code }) => Some(code == expected),
            (Expect::Http1(expected), Event::Http1(status)) => Some(status == expected),
            (Expect::Nothing, Event::Ignored) => Some(true),
            (Expect::Nothing, Event::Goaway(_) | Event::Reset { .. }) => Some(false),
            (_, Event::Closed | Event::Http1(_) | Event::Ignored) => Some(false),
            _ => None,
        }
    }

    /// Whether a server may say nothing at all, so that a ping has to show that it has read what was sent.
    pub(crate) fn is_error(self) -> bool {
        matches!(
            self,
            Expect::ConnectionError(_) | Expect::StreamError(_) | Expect::Reset(_) | Expect::Nothing
        )
    }
}

pub(crate) fn case(id: &'static str, title: &'static str, steps: Vec<Step>, expected: Expect) -> Case {
    Case { id, title, steps, expected, tolerated: None, has_handshake: true }
}

impl Case {
    /// The same case, which the server answers with something else for a reason.
    pub(crate) fn tolerated(self, instead: Expect, reason: &'static str) -> Case {
        Case { tolerated: Some((instead, reason)), ..self }
    }

    /// The same case, which h2 answers with GOAWAY and another code, and then closes. h2spec counts that as passed.
    pub(crate) fn with_other_code(self) -> Case {
        self.tolerated(
            Expect::End(PROTOCOL),
            "the connection closes, as it must or may, but GOAWAY carries PROTOCOL_ERROR instead of the exact code",
        )
    }

    pub(crate) fn without_handshake(self) -> Case {
        Case { has_handshake: false, ..self }
    }
}

/// The pseudo-header fields of a request.
const METHOD: (&str, &str) = (":method", "GET");
pub(crate) const SCHEME: (&str, &str) = (":scheme", "http");
pub(crate) const PATH: (&str, &str) = (":path", "/");
pub(crate) const AUTHORITY: (&str, &str) = (":authority", "localhost");

/// The header block of a GET with these fields beside the usual ones.
pub(crate) fn get(more: &[(&str, &str)]) -> Vec<u8> {
    wire::block(&[&[METHOD, SCHEME, PATH, AUTHORITY], more].concat())
}

/// The header block of a POST whose body is read.
pub(crate) fn post(more: &[(&str, &str)]) -> Vec<u8> {
    let json = ("content-type", "application/json");
    wire::block(&[&[(":method", "POST"), SCHEME, PATH, AUTHORITY, json], more].concat())
}

/// A header block of about this many kilobytes that goes on after another.
pub(crate) fn dummy(kilobytes: usize) -> Vec<u8> {
    let value = "x".repeat(1000);
    (0..kilobytes).flat_map(|_| wire::block(&[("x-dummy", &value)])).collect()
}
