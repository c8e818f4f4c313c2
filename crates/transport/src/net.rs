//! TCP sockets, with TLS if a URL asks for it: shared by the network transports.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::carrier::{ConnectSetup, HostPort, ListenSetup, Url};
use crate::dial::DialError;
use crate::keep_alive;
use crate::proxy_protocol;
use crate::server::{BoxFuture, ConnectionPermit, ListenError};
#[cfg(feature = "tls")]
use crate::tls::{self, ServerTls};

/// A listening TCP socket, and the certificate if TLS is used there.
#[derive(Debug)]
pub(crate) struct Port {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    has_proxy_protocol: bool,
    #[cfg(feature = "tls")]
    tls: Option<ServerTls>,
}

/// A connection that was accepted, before its TLS handshake.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) tcp: TcpStream,
    pub(crate) address: SocketAddr,
    /// Whether a header of the PROXY protocol comes first.
    pub(crate) has_proxy_protocol: bool,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<ServerTls>,
}

impl Port {
    /// Listens where a URL says, with TLS if that is what its scheme means.
    pub(crate) async fn bind(url: &Url, is_secure: bool, setup: &ListenSetup) -> Result<Port, ListenError> {
        #[cfg(feature = "tls")]
        let has_certificate = setup.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let has_certificate = false;
        if is_secure && !has_certificate {
            return Err(ListenError::Certificate(url.to_string()));
        }
        let listener = match passed(setup)? {
            Some(listener) => listener,
            None => {
                let addresses = resolve(url, setup.is_public).await?;
                let listener = TcpListener::bind(&addresses[..]).await;
                listener.map_err(|error| ListenError::Bind { address: addresses[0], error })?
            }
        };
        let port = Port::new(listener).map_err(ListenError::Listener)?.with_proxy_protocol(setup);
        #[cfg(feature = "tls")]
        let port = Port { tls: setup.tls.clone().filter(|_| is_secure), ..port };
        Ok(port)
    }

    /// Listens with a socket that was made elsewhere, without TLS.
    pub(crate) fn new(listener: TcpListener) -> io::Result<Port> {
        let address = listener.local_addr()?;
        // Accepted sockets inherit it.
        keep_alive::switch_on(&listener);
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "this server accepts connections from other machines");
        }
        Ok(Port {
            listener,
            address,
            has_proxy_protocol: false,
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// The same port, with the PROXY protocol if the setup says so.
    pub(crate) fn with_proxy_protocol(mut self, setup: &ListenSetup) -> Port {
        self.has_proxy_protocol = setup.has_proxy_protocol;
        self
    }

    /// The same port with TLS, if there is a certificate.
    #[cfg(all(feature = "http", feature = "tls"))]
    pub(crate) fn with_tls(mut self, tls: Option<ServerTls>) -> Port {
        self.tls = tls;
        self
    }

    pub(crate) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        self.listener.poll_accept(cx).map_ok(|(tcp, address)| {
            // Messages are written whole, so waiting for more to send only delays them.
            let _ = tcp.set_nodelay(true);
            Incoming {
                tcp,
                address,
                has_proxy_protocol: self.has_proxy_protocol,
                #[cfg(feature = "tls")]
                tls: self.tls.clone(),
            }
        })
    }

    #[cfg(unix)]
    pub(crate) fn socket(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.listener)
    }

    /// Reloads the certificate when its file changes.
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unused_self, reason = "only certificates need to be looked after")
    )]
    pub(crate) fn background(&self) -> Option<BoxFuture<'static, ()>> {
        #[cfg(feature = "tls")]
        return self.tls.clone().map(|tls| Box::pin(tls.watch()) as BoxFuture<'static, ()>);
        #[cfg(not(feature = "tls"))]
        None
    }
}

impl Incoming {
    /// Reads the header of the PROXY protocol, where one is expected, which changes the address. False if the connection is to be closed.
    pub(crate) async fn read_proxy_header(&mut self, permit: &mut ConnectionPermit) -> bool {
        if !self.has_proxy_protocol {
            return true;
        }
        let client = proxy_protocol::accept(&mut self.tcp, self.address, permit).await;
        self.address = client.unwrap_or(self.address);
        client.is_some()
    }
}

/// The socket to use in place of a new one.
#[cfg(unix)]
fn passed(setup: &ListenSetup) -> Result<Option<TcpListener>, ListenError> {
    let Some(socket) = &setup.socket else { return Ok(None) };
    let listener = socket.open().and_then(TcpListener::from_std).map_err(ListenError::Listener)?;
    let address = listener.local_addr().map_err(ListenError::Listener)?;
    match public(&[address]) {
        Some(public) if !setup.is_public => Err(ListenError::Public(public)),
        _ => Ok(Some(listener)),
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as where sockets can be passed")]
fn passed(_: &ListenSetup) -> Result<Option<TcpListener>, ListenError> {
    Ok(None)
}

async fn resolve(url: &Url, is_public: bool) -> Result<Vec<SocketAddr>, ListenError> {
    let place = url.place().ok_or_else(|| ListenError::Port(url.to_string()))?;
    let port = place.port.ok_or_else(|| ListenError::Port(url.to_string()))?;
    let found = tokio::net::lookup_host((place.host.as_str(), port)).await;
    let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
    if addresses.is_empty() {
        return Err(ListenError::Unresolved(place.host.clone()));
    }
    match public(&addresses) {
        Some(public) if !is_public => Err(ListenError::Public(public)),
        _ => Ok(addresses),
    }
}

/// The first of these addresses that other machines can reach (SEC-O-05).
pub(crate) fn public(addresses: &[SocketAddr]) -> Option<IpAddr> {
    addresses.iter().map(SocketAddr::ip).find(|ip| !ip.is_loopback())
}

/// Connects to this place over TCP, within the time that `setup` gives.
pub(crate) async fn connect(
    place: &HostPort,
    port: u16,
    setup: &ConnectSetup,
) -> Result<TcpStream, DialError> {
    within(setup.connect_time, place, async {
        let tcp = TcpStream::connect((place.host.as_str(), port)).await;
        let tcp = tcp.map_err(|error| match is_refused(&error) {
            true => DialError::Unreachable(format!("nothing is listening on {place}")),
            false => DialError::Unreachable(format!("cannot connect to {place}: {error}")),
        })?;
        let _ = tcp.set_nodelay(true);
        keep_alive::switch_on(&tcp);
        Ok(tcp)
    })
    .await
}

/// The same with TLS.
#[cfg(feature = "tls")]
pub(crate) async fn connect_tls(
    place: &HostPort,
    port: u16,
    setup: &ConnectSetup,
) -> Result<tls::TlsClientStream, DialError> {
    let config = match &setup.tls {
        Some(tls) => tls.clone(),
        None => tls::ClientTls::load(&tls::ClientFiles::default())
            .map_err(|error| DialError::Setup(error.to_string()))?,
    };
    within(setup.connect_time, place, async {
        let tcp = connect(place, port, setup).await?;
        let greeted = config.connect(tcp, &place.host).await;
        greeted.map_err(|error| DialError::new(error.text, error.is_permanent))
    })
    .await
}

async fn within<T>(
    time: Duration,
    place: &HostPort,
    connecting: impl Future<Output = Result<T, DialError>>,
) -> Result<T, DialError> {
    let late = |_| Err(DialError::Unreachable(format!("no connection to {place} within {time:?}")));
    tokio::time::timeout(time, connecting).await.unwrap_or_else(late)
}

/// Whether nothing listens there.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}
