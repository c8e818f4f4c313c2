//! Lines of logs: written by a thread, to stderr or to a file that is replaced when it is full, with floods summed up.

mod file;
mod flood;
mod queue;
mod text;
mod time;

pub use self::file::LogFile;
pub(crate) use self::flood::{Flood, FloodVerdict, Repeatable};
pub use self::queue::{LineQueue, LineQueueBuilder};
pub(crate) use self::queue::{Takes, stderr};
#[cfg(feature = "log")]
pub(crate) use self::text::push_json_string;
pub(crate) use self::text::{ascii, shortened};
#[cfg(feature = "log")]
pub(crate) use self::time::push_rfc3339;
pub use self::time::rfc3339;
