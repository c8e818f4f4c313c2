//! `tcp` and `tls` URLs: messages over a socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_core::{ErrorObject, Origin, Peer};

use crate::carrier::{Carrier, ConnectSetup, HostPort, ListenSetup, Url, UrlError};
use crate::dial::DialError;
use crate::framing::Framing;
use crate::net::{self, Incoming, Port};
use crate::raw::Raw;
use crate::running;
use crate::server::{Accepted, BoxFuture, ConnectionPermit, ListenError, Listener, Shutdown};
use crate::stream::{self, StreamOptions};

/// Messages over TCP, with TLS for `tls`.
#[derive(Debug)]
pub(crate) struct TcpCarrier;

impl Carrier for TcpCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        if cfg!(feature = "tls") { &["tcp", "tls"] } else { &["tcp"] }
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        if !matches!(url.path(), "" | "/") {
            return Err(UrlError::Path(url.to_string()));
        }
        place(url)?;
        match url.options().find(|option| !option.starts_with("framing=")) {
            Some(other) => Err(UrlError::Query(other.to_owned())),
            None => Framing::of(url).map(drop),
        }
    }

    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        Box::pin(async move {
            let port = Port::bind(&url, is_secure(&url), &setup).await?;
            let options = url.options().next().map_or(String::new(), |option| format!("?{option}"));
            let name = format!("{}://{}{options}", url.scheme(), port.address);
            let framing = Framing::of(&url)?.unwrap_or_default();
            Ok(Box::new(TcpListener { port, name, framing }) as Box<dyn Listener>)
        })
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move {
            let (place, port) = place(&url)?;
            let options = setup.stream_options(Framing::of(&url)?.unwrap_or_default());
            #[cfg(feature = "tls")]
            if is_secure(&url) {
                let tls = net::connect_tls(place, port, &setup).await?;
                let (halves, origin) = (tokio::io::split(tls), Origin::new("tls"));
                return Ok(running::run(stream::connection(halves, setup.service, origin, &options)));
            }
            let tcp = net::connect(place, port, &setup).await?;
            let origin = Origin::new("tcp");
            Ok(running::run(stream::connection(tcp.into_split(), setup.service, origin, &options)))
        })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        Box::pin(async move {
            let (place, port) = place(&url)?;
            #[cfg(feature = "tls")]
            if is_secure(&url) {
                return Ok(Raw::new(net::connect_tls(place, port, &setup).await?));
            }
            Ok(Raw::new(net::connect(place, port, &setup).await?))
        })
    }
}

fn is_secure(url: &Url) -> bool {
    url.scheme() == "tls"
}

fn place(url: &Url) -> Result<(&HostPort, u16), UrlError> {
    let place = url.place().ok_or_else(|| UrlError::Host(url.to_string()))?;
    Ok((place, place.port.ok_or_else(|| UrlError::Port(url.to_string()))?))
}

/// A port for messages.
#[derive(Debug)]
struct TcpListener {
    port: Port,
    name: String,
    framing: Framing,
}

impl Listener for TcpListener {
    fn url(&self) -> String {
        self.name.clone()
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        let framing = self.framing;
        self.port
            .poll_accept(cx)
            .map_ok(|incoming| Box::new(TcpAccepted { incoming, framing }) as Box<dyn Accepted>)
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        self.port.background()
    }

    #[cfg(unix)]
    fn socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(self.port.socket())
    }
}

#[derive(Debug)]
struct TcpAccepted {
    incoming: Incoming,
    framing: Framing,
}

impl Accepted for TcpAccepted {
    fn address(&self) -> Option<SocketAddr> {
        Some(self.incoming.address)
    }

    fn serve(self: Box<Self>, mut permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let TcpAccepted { mut incoming, framing } = *self;
            if !incoming.read_proxy_header(&mut permit).await {
                return;
            }
            let (address, service) = (incoming.address, Arc::clone(permit.service()));
            let options = StreamOptions::new(framing).within(&permit);
            #[cfg(feature = "tls")]
            if let Some(tls) = incoming.tls {
                let greeted = crate::tls::accept(incoming.tcp, &tls, &permit, None).await;
                let Some((tls, certificate)) = greeted else { return };
                let mut origin = Origin::new("tls").with_address(address);
                if let Some(certificate) = certificate {
                    origin = origin.with_extension(certificate);
                }
                let connection = stream::connection(tokio::io::split(tls), service, origin, &options);
                return permit.run(connection).await;
            }
            let origin = Origin::new("tcp").with_address(address);
            // Separate halves, which share no lock.
            let connection = stream::connection(incoming.tcp.into_split(), service, origin, &options);
            permit.run(connection).await;
        })
    }

    fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        #[cfg(feature = "tls")]
        if self.incoming.tls.is_some() {
            // A message would take a handshake first.
            return Box::pin(async {});
        }
        stream::refuse(self.incoming.tcp, error, self.framing, shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_have_a_port_and_may_have_a_framing() {
        let check = |url: &str, expected: &str| {
            let error = TcpCarrier.check(&url.parse().unwrap()).expect_err(url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
        };
        check("tcp://a.example", "no port, or one above 65535; write it as \"tcp://127");
        check("tcp://a.example:1/rpc", "has a path");
        check("tcp://a.example:1?framing=line", "did you mean \"lines\"?");
        check("tcp://a.example:1?fram=lsp", "as in \"?framing=lsp\"");
        check("tcp:somewhere", "no host");
        assert!(TcpCarrier.check(&"tcp://a.example:1/?framing=lsp".parse().unwrap()).is_ok());
    }
}
