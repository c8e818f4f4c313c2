//! Who is at the other end, as the kernel knows it.

use tokio::net::UnixStream;

/// The process at the other end of a Unix socket, as it was when it connected (JT-07).
///
/// A handler finds it with [`Context::get`](switchboard_core::Context::get).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCredentials {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process itself, where the system tells it. Another one may have this number by now.
    pub pid: Option<i32>,
}

impl PeerCredentials {
    /// The credentials of the far side; none if the system does not tell.
    #[must_use]
    pub fn of(stream: &UnixStream) -> Option<PeerCredentials> {
        let found = stream.peer_cred().ok()?;
        Some(PeerCredentials { uid: found.uid(), gid: found.gid(), pid: found.pid() })
    }
}
