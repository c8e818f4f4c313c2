//! The peer's credentials, from the kernel.

use switchboard_core::PeerCredentials;
use tokio::net::UnixStream;

/// The credentials of the process at the other end; none if the system does not provide them.
#[must_use]
pub fn peer_credentials(stream: &UnixStream) -> Option<PeerCredentials> {
    let found = stream.peer_cred().ok()?;
    let mut credentials = PeerCredentials::default();
    (credentials.uid, credentials.gid, credentials.pid) = (found.uid(), found.gid(), found.pid());
    Some(credentials)
}
