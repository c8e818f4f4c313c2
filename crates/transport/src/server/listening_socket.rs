//! Listening sockets that come from another process.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A listening socket that a supervisor passed, or the process that this one replaces. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ListeningSocket {
    socket: Arc<OwnedFd>,
    keeps_file: bool,
}

impl ListeningSocket {
    /// This socket. If it is a Unix socket, its file is removed when the server ends.
    pub fn new(socket: impl Into<OwnedFd>) -> ListeningSocket {
        ListeningSocket { socket: Arc::new(socket.into()), keeps_file: false }
    }

    /// Leaves the file of a Unix socket where it is: it belongs to the supervisor.
    #[must_use]
    pub fn keeping_file(mut self) -> ListeningSocket {
        self.keeps_file = true;
        self
    }

    #[cfg(feature = "unix")]
    pub(crate) fn keeps_file(&self) -> bool {
        self.keeps_file
    }

    /// The socket, as one of these types.
    pub(crate) fn open<T: From<OwnedFd>>(&self) -> io::Result<T> {
        rustix::io::ioctl_fionbio(&*self.socket, true)?;
        Ok(self.socket.try_clone()?.into())
    }
}
