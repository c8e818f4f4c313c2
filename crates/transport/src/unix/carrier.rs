//! `unix` URLs: messages over a socket in the file system.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use switchboard_core::{CallError, ErrorObject, Peer};
use tokio::net::UnixStream;

use crate::carrier::{Carrier, ConnectSetup, ListenSetup, Url, UrlError};
use crate::dial::DialError;
use crate::framing::Framing;
use crate::raw::Raw;
use crate::server::{Accepted, BoxFuture, ConnectionPermit, ListenError, Listener, Shutdown};
use crate::stream::{self, StreamOptions};

/// Messages over Unix sockets.
#[derive(Debug)]
pub(crate) struct UnixCarrier;

impl Carrier for UnixCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        &["unix"]
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        path(url).and_then(|_| Framing::of(url)).map(drop)
    }

    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        Box::pin(async move {
            let framing = Framing::of(&url)?.unwrap_or_default();
            let path = path(&url)?;
            let socket = match &setup.socket {
                Some(socket) => super::UnixSocketListener::adopt(socket, path),
                None => super::UnixSocketListener::bind(path).await,
            };
            let socket = socket.map_err(ListenError::Unix)?;
            Ok(Box::new(SocketListener { socket, url, framing }) as Box<dyn Listener>)
        })
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move {
            let path = path(&url)?;
            let options = setup.stream_options(Framing::of(&url)?.unwrap_or_default());
            let peer = super::connect(&path, setup.service, &options).await;
            peer.map_err(|error| match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    DialError::Unreachable(format!("nothing is listening on {}", path.display()))
                }
                _ => DialError::new(error.to_string(), CallError::from(error).is_permanent()),
            })
        })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        Box::pin(async move {
            let path = path(&url)?;
            let unreachable = |text| DialError::Unreachable(format!("{}: {text}", path.display()));
            match tokio::time::timeout(setup.connect_time, UnixStream::connect(&path)).await {
                Ok(Ok(socket)) => Ok(Raw::new(socket)),
                Ok(Err(error)) => Err(unreachable(error.to_string())),
                Err(_) => Err(unreachable("no connection in time".to_owned())),
            }
        })
    }
}

fn path(url: &Url) -> Result<PathBuf, UrlError> {
    match url.text_without("framing") {
        Some(path) if path.is_empty() => {
            Err(UrlError::Empty(url.to_string(), "path; write it as \"unix:/run/rpc.sock\""))
        }
        Some(path) => Ok(path.into()),
        None => Err(UrlError::UnexpectedHost(url.to_string(), url.scheme().to_owned(), "PATH")),
    }
}

/// A Unix socket for messages.
#[derive(Debug)]
struct SocketListener {
    socket: super::UnixSocketListener,
    url: Url,
    framing: Framing,
}

impl Listener for SocketListener {
    fn url(&self) -> String {
        self.url.to_string()
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        let framing = self.framing;
        let accepted = self.socket.poll_accept(cx);
        accepted.map_ok(|socket| Box::new(AcceptedSocket { socket, framing }) as Box<dyn Accepted>)
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn hand_over(&self) {
        self.socket.keep_file();
    }
}

#[derive(Debug)]
struct AcceptedSocket {
    socket: UnixStream,
    framing: Framing,
}

impl Accepted for AcceptedSocket {
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        let options = StreamOptions::new(self.framing).within(&permit);
        let connection = super::connection(self.socket, Arc::clone(permit.service()), &options);
        Box::pin(async move { permit.run(connection).await })
    }

    fn refuse(self: Box<Self>, error: &ErrorObject, shutdown: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        stream::refuse(self.socket, error, self.framing, shutdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_name_a_file() {
        let check = |url: &str, expected: &str| {
            let error = UnixCarrier.check(&url.parse().unwrap()).expect_err(url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
        };
        check("unix:", "has no path; write it as");
        check("unix:?framing=lsp", "has no path; write it as");
        check("unix://run/rpc.sock", "write it as \"unix:PATH\"");
        check("unix:a?framing=line", "did you mean \"lines\"?");
        assert!(UnixCarrier.check(&"unix:///run/a?".parse().unwrap()).is_ok());
    }
}
