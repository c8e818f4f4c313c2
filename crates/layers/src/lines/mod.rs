//! Lines of logs: written by a thread, to stderr or to a file that is replaced when it is full, with floods summed up.

#[cfg(feature = "log")]
mod digits;
mod file;
mod flood;
mod queue;
mod text;
mod time;

#[cfg(feature = "log")]
pub(crate) use self::digits::{push_digit, push_hex, push_number, push_pair};
pub use self::file::LogFile;
pub(crate) use self::flood::{Flood, FloodVerdict, Repeatable};
pub use self::queue::{LineQueue, LineQueueBuilder};
pub(crate) use self::queue::{Takes, stderr};
pub(crate) use self::text::{ascii, shortened};
#[cfg(feature = "log")]
pub(crate) use self::text::{push_escaped, push_json_string};
pub use self::time::{parse_rfc3339, rfc3339};
#[cfg(feature = "log")]
pub(crate) use self::time::{push_time, since_1970};
