//! Opens the connections of a client: TCP, with TLS if the URL asks for it.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
#[cfg(feature = "tls")]
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::addresses::{AllowedAddresses, Resolver};
use super::client_options::HttpClientOptions;
use crate::keep_alive;
use crate::socket::Socket;
#[cfg(feature = "tls")]
use crate::tls::{ClientTls, Explained};

/// Connects to the host of a URL.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    tcp: HttpConnector<Resolver>,
    addresses: Option<AllowedAddresses>,
    /// How TLS is spoken; none where the URL is without.
    #[cfg(feature = "tls")]
    tls: Option<ClientTls>,
    #[cfg(feature = "tls")]
    connect_time: std::time::Duration,
    #[cfg(feature = "tls")]
    refusal: Refusal,
}

/// Why TLS broke on an open connection, the last time it did. A server that uses TLS 1.3 judges our certificate after the
/// handshake, so its refusal comes instead of an answer; and HTTP/2 does not pass its reason on.
#[cfg(feature = "tls")]
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal(Arc<Mutex<Option<Explained>>>);

#[cfg(feature = "tls")]
impl Refusal {
    pub(super) fn take(&self) -> Option<Explained> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, error: &io::Error) {
        let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<Explained>());
        if reason.is_some() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason.cloned();
        }
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

impl Connector {
    pub(super) fn new(options: &HttpClientOptions) -> Connector {
        let mut tcp = HttpConnector::new_with_resolver(Resolver::new(options.addresses.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(keep_alive::SILENT));
        tcp.set_keepalive_interval(Some(keep_alive::INTERVAL));
        tcp.set_keepalive_retries(Some(keep_alive::PROBES));
        tcp.set_connect_timeout(Some(options.connect_time));
        Connector {
            tcp,
            addresses: options.addresses.clone(),
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "tls")]
            connect_time: options.connect_time,
            #[cfg(feature = "tls")]
            refusal: Refusal::default(),
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn with_tls(mut self, tls: ClientTls) -> Connector {
        self.tls = Some(tls);
        self
    }

    /// Where the connections say why TLS broke.
    #[cfg(feature = "tls")]
    pub(super) fn refusal(&self) -> Refusal {
        self.refusal.clone()
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Wire>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        #[cfg(feature = "tls")]
        let (tls, host, time, refusal) = (
            self.tls.clone(),
            uri.host().unwrap_or_default().to_owned(),
            self.connect_time,
            self.refusal.clone(),
        );
        // A host that is an address is not resolved.
        let checked = self.addresses.as_ref().map_or(Ok(()), |allowed| allowed.check_host(&uri));
        let connecting = self.tcp.call(uri);
        Box::pin(async move {
            checked?;
            let tcp = connecting.await?.into_inner();
            #[cfg(feature = "tls")]
            if let Some(tls) = tls {
                let greeted = tokio::time::timeout(time, tls.connect(tcp, &host)).await;
                let tls = greeted.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                let is_http2 = tls.is_http2();
                return Ok(TokioIo::new(Wire {
                    socket: Socket::buffered(tls),
                    is_http2,
                    refusal: Some(refusal),
                }));
            }
            Ok(TokioIo::new(Wire {
                socket: Socket::new(tcp),
                #[cfg(feature = "tls")]
                is_http2: false,
                #[cfg(feature = "tls")]
                refusal: None,
            }))
        })
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
    /// Whether the TLS handshake decided for HTTP/2.
    #[cfg(feature = "tls")]
    is_http2: bool,
    /// Where to say why TLS broke.
    #[cfg(feature = "tls")]
    refusal: Option<Refusal>,
}

impl Wire {
    /// Whether both sides have agreed on HTTP/2.
    #[cfg_attr(not(feature = "tls"), expect(clippy::unused_self, reason = "only TLS agrees on it"))]
    pub(super) fn is_http2(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.is_http2;
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Takes note of why TLS broke, if it did.
    fn noted<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        #[cfg(feature = "tls")]
        if let (Poll::Ready(Err(error)), Some(refusal)) = (&outcome, &self.refusal) {
            refusal.note(error);
        }
        outcome
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        if self.is_http2() { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        self.noted(read)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        self.noted(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
