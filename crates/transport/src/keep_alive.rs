//! TCP keep-alive: the system probes silent peers, and breaks connections to those that are gone.

/// Switches keep-alive on, for a socket or for all that a listening one accepts. A peer that is gone is noticed within two
/// minutes; without it, a peer that lost its power or its network would never be.
#[cfg(unix)]
pub(crate) fn switch_on(socket: &impl std::os::fd::AsFd) {
    use rustix::net::sockopt;

    // A socket without it works all the same.
    let _ = sockopt::set_socket_keepalive(socket, true);
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple", target_os = "freebsd"))]
    {
        let _ = sockopt::set_tcp_keepidle(socket, SILENT);
        let _ = sockopt::set_tcp_keepintvl(socket, INTERVAL);
        let _ = sockopt::set_tcp_keepcnt(socket, PROBES);
    }
}

#[cfg(not(unix))]
pub(crate) fn switch_on<S>(_: &S) {}

/// How long a connection is silent before the first probe.
pub(crate) const SILENT: std::time::Duration = std::time::Duration::from_secs(60);
/// How long a probe waits for its answer.
pub(crate) const INTERVAL: std::time::Duration = std::time::Duration::from_secs(15);
/// How many probes stay unanswered before the connection is broken.
pub(crate) const PROBES: u32 = 4;

#[cfg(all(test, unix))]
mod tests {
    use rustix::net::sockopt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_listening_socket_passes_it_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        switch_on(&listener);
        let dialed = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        assert_eq!(sockopt::socket_keepalive(&dialed), Ok(false), "it is off by default");
        assert_eq!(sockopt::socket_keepalive(&accepted), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&accepted), Ok(SILENT));
    }
}
