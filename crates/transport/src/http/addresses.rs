//! Which addresses a client may connect to, so that a URL chosen by others cannot reach private networks (SEC-X-01).

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use http::Uri;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};

/// Decides which addresses a client may connect to. It is asked for each connection, about the addresses that it is made to, so a name
/// that resolves to another address later is checked again.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{AllowedAddresses, HttpClientOptions};
///
/// let public = AllowedAddresses::new(|address| !address.to_canonical().is_loopback());
/// let options = HttpClientOptions::default().with_addresses(Some(public));
/// ```
#[derive(Clone)]
pub struct AllowedAddresses(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

impl AllowedAddresses {
    /// Allows the addresses that this function returns true for.
    pub fn new(is_allowed: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> AllowedAddresses {
        AllowedAddresses(Arc::new(is_allowed))
    }

    /// Checks the host of a URL, if it is an address.
    pub(super) fn check_host(&self, uri: &Uri) -> io::Result<()> {
        let host = uri.host().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(address) if !(self.0)(address) => Err(refusal(host)),
            _ => Ok(()),
        }
    }
}

fn refusal(host: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("the address of {host} is not allowed"))
}

impl fmt::Debug for AllowedAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllowedAddresses(..)")
    }
}

/// Resolves names to the addresses that are allowed.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    names: GaiResolver,
    allowed: Option<AllowedAddresses>,
}

impl Resolver {
    pub(super) fn new(allowed: Option<AllowedAddresses>) -> Resolver {
        Resolver { names: GaiResolver::new(), allowed }
    }
}

impl tower_service::Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<vec::IntoIter<SocketAddr>>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.names.poll_ready(cx)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (host, allowed) = (name.as_str().to_owned(), self.allowed.clone());
        let resolving = self.names.call(name);
        Box::pin(async move {
            let mut found: Vec<SocketAddr> = resolving.await?.collect();
            if let Some(AllowedAddresses(is_allowed)) = allowed {
                found.retain(|address| is_allowed(address.ip()));
                if found.is_empty() {
                    return Err(refusal(&host));
                }
            }
            Ok(found.into_iter())
        })
    }
}
