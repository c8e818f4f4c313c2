//! Why standard output could not be written, after a server has ended.

use std::io;
use std::sync::{Arc, OnceLock};

/// Records why standard output could not be written. Cheap to clone; clones share the record.
///
/// Pass one to [`Server::with_extension`](crate::server::Server::with_extension) before the server listens on `stdio`. A server whose
/// output cannot be written ends, as it does when its input ends; this tells the two apart.
#[derive(Clone, Debug, Default)]
pub struct OutputFailure(Arc<OnceLock<io::Error>>);

impl OutputFailure {
    /// The first error, if there was one. A reader that is gone is a normal end, not an error.
    #[must_use]
    pub fn error(&self) -> Option<&io::Error> {
        self.0.get()
    }

    /// Keeps the first error that is one, and gives one like it back.
    pub(super) fn note(&self, error: io::Error) -> io::Error {
        if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted) {
            return error;
        }
        let copy = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => error.kind().into(),
        };
        let _ = self.0.set(copy);
        error
    }
}
