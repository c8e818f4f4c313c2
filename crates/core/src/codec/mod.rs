//! Frames to messages and back: hops ② and ⑥.
//!
//! One frame, one pass: the text is checked, the limits are applied and the envelope is taken apart in the same scan.
//! Parameters and results stay raw slices of the frame. The version, 1.0 or 2.0, is determined for each message.
//!
//! Nothing here runs a call, knows a transport, or recurses.

mod decode;
mod encode;
mod entries;
mod envelope;
mod keys;
mod message;
mod reading;
mod scan;
mod string;
mod walk;

pub use decode::decode;
pub(crate) use decode::{Found, decode_into};
pub(crate) use encode::{
    append_members, item, lone_gap, notification, request, response, result_len, result_start, stream_end,
    stream_start,
};
pub use encode::{error as encode_error, notification as encode_notification, request as encode_request};
pub use entries::Entries;
pub(crate) use entries::Loaded;
pub use message::{Incoming, Invalid, Message, RequestObject, ResponseObject, ResponseOutcome};
pub(crate) use reading::read_error;
pub(crate) use scan::validate;
pub use scan::{Fault, Span};
pub(crate) use string::{quote, quote_into};
pub(crate) use walk::{elements, members, written_members};
