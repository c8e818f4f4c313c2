//! `stdio`: a listener with one connection, over standard input and output. When the connection ends, so does the server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use switchboard_core::ErrorObject;

use super::OutputFailure;
use crate::carrier::{Carrier, ListenSetup, Url, UrlError};
use crate::framing::Framing;
use crate::server::{Accepted, BoxFuture, ConnectionPermit, ListenError, Listener, Shutdown};
use crate::stream::StreamOptions;

/// Messages over standard input and output, for servers that another program starts.
#[derive(Debug)]
pub(crate) struct StdioCarrier;

impl Carrier for StdioCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        &["stdio"]
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        match url.text_without("framing") {
            Some(rest) if rest.is_empty() => Framing::of(url).map(drop),
            _ => Err(UrlError::Path(url.to_string())),
        }
    }

    fn listen(&self, url: Url, _: ListenSetup) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        Box::pin(async move {
            let framing = Framing::of(&url)?.unwrap_or(super::options().framing);
            let listener = StdioListener { url, framing, is_accepted: AtomicBool::new(false) };
            Ok(Box::new(listener) as Box<dyn Listener>)
        })
    }
}

#[derive(Debug)]
struct StdioListener {
    url: Url,
    framing: Framing,
    is_accepted: AtomicBool,
}

impl Listener for StdioListener {
    fn url(&self) -> String {
        self.url.to_string()
    }

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        if self.is_accepted.swap(true, Relaxed) {
            return Poll::Pending;
        }
        Poll::Ready(Ok(Box::new(Stdio { framing: self.framing })))
    }
}

#[derive(Debug)]
struct Stdio {
    framing: Framing,
}

impl Accepted for Stdio {
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // The program that started this one may be silent for as long as it likes.
            let options = StreamOptions::new(self.framing).within(&permit).with_first_byte_time(None);
            let service = Arc::clone(permit.service());
            let failure = permit.extension::<OutputFailure>().cloned().unwrap_or_default();
            match super::connection(io::stdin(), io::stdout(), service, &options, failure) {
                Ok(connection) => permit.run_within(connection, None).await,
                Err(error) => tracing::error!(%error, "cannot use standard input and output"),
            }
            permit.handle().shutdown();
        })
    }

    /// There is always room for it, unless the server takes no connections at all. Then nothing is left to be served.
    fn refuse(self: Box<Self>, _: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        Box::pin(async move { shutdown.request() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_framing_stands_behind_stdio() {
        assert!(StdioCarrier.check(&"stdio?framing=lsp".parse().unwrap()).is_ok());
        let error = StdioCarrier.check(&"stdio:x".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("has a path"), "{error}");
    }
}
