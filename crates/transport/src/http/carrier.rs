//! `http` and `https` URLs.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

#[cfg(feature = "tls")]
use http::StatusCode;
use switchboard_core::{ErrorObject, Origin, Peer};
use tokio::net::TcpListener;

use super::client::Client;
use super::client_options::HttpClientOptions;
use super::connection;
use super::refusal;
use super::rules::Rules;
use crate::carrier::{Carrier, ConnectSetup, HostPort, ListenSetup, Url, UrlError};
use crate::dial::DialError;
use crate::net::{self, Incoming, Port};
use crate::raw::Raw;
use crate::server::{
    Accepted, BoxFuture, ConnectionPermit, ListenError, Listener, Shutdown, refuse_and_close,
};
use crate::socket::Socket;

/// Calls in the bodies of HTTP requests, with TLS for `https`.
#[derive(Debug)]
pub(crate) struct HttpCarrier;

impl HttpCarrier {
    /// The client for a URL of this transport.
    pub(crate) fn client(url: &Url, setup: ConnectSetup) -> Result<Client, DialError> {
        if !HttpCarrier.schemes().contains(&url.scheme()) {
            return Err(DialError::Unsupported(url.scheme().to_owned()));
        }
        let options = HttpClientOptions {
            headers: setup.headers,
            seal: setup.seal,
            connect_time: setup.connect_time,
            version: setup.version,
            limits: setup.settings.limits.clone(),
            tap: setup.settings.tap.clone(),
            #[cfg(feature = "tls")]
            tls: setup.tls,
            ..HttpClientOptions::default()
        };
        let client = Client::with_options(&url.to_string(), options);
        Ok(client.map_err(|error| DialError::Setup(error.to_string()))?.with_service(setup.service))
    }
}

impl Carrier for HttpCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        if cfg!(feature = "tls") { &["http", "https"] } else { &["http"] }
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        check(url, "HTTP")
    }

    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        listen(url, setup)
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move { Ok(Peer::new(HttpCarrier::client(&url, setup)?)) })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        open(url, setup)
    }
}

/// Checks a URL of this transport, or of WebSocket.
pub(crate) fn check(url: &Url, carrier: &'static str) -> Result<(), UrlError> {
    place(url)?;
    match url.option("framing") {
        Some(_) => Err(UrlError::NoFraming(url.to_string(), carrier)),
        None => Ok(()),
    }
}

/// The host and the port, which is the scheme's own unless it is given.
pub(crate) fn place(url: &Url) -> Result<(&HostPort, u16), UrlError> {
    let place = url.place().ok_or_else(|| UrlError::Host(url.to_string()))?;
    Ok((place, place.port.unwrap_or(if is_secure(url) { 443 } else { 80 })))
}

pub(crate) fn is_secure(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss")
}

/// Listens for HTTP, and for WebSocket on the same port.
pub(crate) fn listen(
    url: Url,
    setup: ListenSetup,
) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
    Box::pin(async move {
        if url.path_and_query() != "/" {
            return Err(ListenError::Path(url.to_string()));
        }
        let port = Port::bind(&url, is_secure(&url), &setup).await?;
        Ok(Box::new(HttpListener::new(url.scheme(), port)) as Box<dyn Listener>)
    })
}

/// Opens a connection of HTTP or WebSocket without a request.
pub(crate) fn open(url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
    Box::pin(async move {
        let (place, port) = place(&url)?;
        #[cfg(feature = "tls")]
        if is_secure(&url) {
            return Ok(Raw::new(net::connect_tls(place, port, &setup).await?));
        }
        Ok(Raw::new(net::connect(place, port, &setup).await?))
    })
}

/// A port for HTTP, and WebSocket.
pub(crate) struct HttpListener {
    port: Port,
    name: String,
    /// Made with the first connection, when the server's service and options are known.
    rules: Arc<OnceLock<Arc<Rules>>>,
}

impl HttpListener {
    pub(super) fn new(scheme: &str, port: Port) -> HttpListener {
        let name = format!("{scheme}://{}", port.address);
        HttpListener { port, name, rules: Arc::default() }
    }

    /// Listens with a socket that was made elsewhere: for `https` if there is a certificate.
    pub(crate) fn adopt(
        listener: std::net::TcpListener,
        setup: &ListenSetup,
    ) -> Result<HttpListener, ListenError> {
        listener.set_nonblocking(true).map_err(ListenError::Listener)?;
        let listener = TcpListener::from_std(listener).map_err(ListenError::Listener)?;
        let port = Port::new(listener).map_err(ListenError::Listener)?.with_proxy_protocol(setup);
        if let Some(public) = net::public(&[port.address]).filter(|_| !setup.is_public) {
            return Err(ListenError::Public(public));
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &setup.tls {
            return Ok(HttpListener::new("https", port.with_tls(Some(tls.clone()))));
        }
        Ok(HttpListener::new("http", port))
    }

    pub(super) fn with_rules(self, rules: Arc<Rules>) -> HttpListener {
        HttpListener { rules: Arc::new(OnceLock::from(rules)), ..self }
    }
}

impl Listener for HttpListener {
    fn url(&self) -> String {
        self.name.clone()
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        self.port.poll_accept(cx).map_ok(|incoming| {
            let (address, rules) = (self.port.address, Arc::clone(&self.rules));
            Box::new(HttpAccepted { incoming, address, rules }) as Box<dyn Accepted>
        })
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        self.port.background()
    }

    #[cfg(unix)]
    fn socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(self.port.socket())
    }
}

struct HttpAccepted {
    incoming: Incoming,
    /// Where it was accepted.
    address: SocketAddr,
    rules: Arc<OnceLock<Arc<Rules>>>,
}

impl Accepted for HttpAccepted {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.incoming.address)
    }

    fn serve(mut self: Box<Self>, mut permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        if self.incoming.has_proxy_protocol {
            return Box::pin(async move {
                if self.incoming.read_proxy_header(&mut permit).await {
                    self.incoming.has_proxy_protocol = false;
                    self.serve(permit).await;
                }
            });
        }
        let make = || {
            let options = permit.extension().cloned().unwrap_or_default();
            let (service, settings) = (Arc::clone(permit.service()), Arc::clone(permit.settings()));
            Arc::new(Rules::new(service, settings, options, Some(self.address)))
        };
        let rules = Arc::clone(self.rules.get_or_init(make));
        let Incoming { tcp, address, .. } = self.incoming;
        #[cfg(feature = "tls")]
        if let Some(tls) = self.incoming.tls {
            return Box::pin(async move {
                let error = ErrorObject::invalid_request("this port speaks TLS; use https:// to call it");
                let refusal = refusal::response(StatusCode::BAD_REQUEST, &error);
                let greeted = crate::tls::accept(tcp, &tls, &permit, Some(&refusal)).await;
                let Some((tls, certificate)) = greeted else { return };
                let mut origin = Origin::new("https").with_address(address);
                if let Some(certificate) = certificate {
                    origin = origin.with_extension(certificate);
                }
                let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
                let socket = Socket::buffered(tls).agreed_on_http2(is_http2);
                connection::serve(socket, origin, rules, permit).await;
            });
        }
        let origin = Origin::new("http").with_address(address);
        Box::pin(connection::serve(Socket::new(tcp), origin, rules, permit))
    }

    fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        #[cfg(feature = "tls")]
        if self.incoming.tls.is_some() {
            // A response would take a handshake first.
            return Box::pin(async {});
        }
        let text = refusal::busy(error);
        Box::pin(async move { refuse_and_close(self.incoming.tcp, &text, &shutdown).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_have_a_host_and_takes_no_framing() {
        let check = |url: &str, expected: &str| {
            let error = HttpCarrier.check(&url.parse().unwrap()).expect_err(url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
        };
        check("http://", "no host");
        check("http://a.example?framing=lsp", "takes no framing option: HTTP separates");
        assert!(HttpCarrier.check(&"http://a.example/rpc?x=1".parse().unwrap()).is_ok());
    }
}
