//! Which addresses a client may connect to, so that a URL chosen by others cannot reach private networks (SEC-X-01).

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
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
/// let options = HttpClientOptions::default().with_addresses(Some(AllowedAddresses::public()));
/// ```
#[derive(Clone)]
pub struct AllowedAddresses(Arc<dyn Fn(IpAddr) -> bool + Send + Sync>);

impl AllowedAddresses {
    /// Allows the addresses that this function returns true for.
    pub fn new(is_allowed: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> AllowedAddresses {
        AllowedAddresses(Arc::new(is_allowed))
    }

    /// Allows the addresses of the public internet: none of this machine, of private networks, or for special purposes.
    #[must_use]
    pub fn public() -> AllowedAddresses {
        AllowedAddresses::new(is_public)
    }

    /// Allows this machine, too.
    #[must_use]
    pub fn and_loopback(self) -> AllowedAddresses {
        AllowedAddresses::new(move |address| self.allows(address) || address.to_canonical().is_loopback())
    }

    /// Whether a client may connect to this address.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        (self.0)(address)
    }

    /// Whether a URL may be used, as far as its text shows: a host that is an address must be allowed. Names are checked when they are
    /// resolved.
    #[must_use]
    pub fn allows_host(&self, uri: &Uri) -> bool {
        self.check_host(uri).is_ok()
    }

    /// Checks the host of a URL, if it is an address.
    pub(super) fn check_host(&self, uri: &Uri) -> io::Result<()> {
        let host = uri.host().unwrap_or_default();
        match bare(host).parse::<IpAddr>() {
            Ok(address) if !self.allows(address) => Err(refusal(host)),
            _ => Ok(()),
        }
    }
}

/// Whether the host of a URL is this machine, whatever a name server says. Other names than `localhost` could become the address of
/// another machine.
#[must_use]
pub fn is_loopback(uri: &Uri) -> bool {
    let host = bare(uri.host().unwrap_or_default());
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A host without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Whether an address is one of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_assigned = a == 192 && b == 0 && c == 0;
    let is_for_benchmarks = a == 198 && (b == 18 || b == 19);
    !(a == 0
        || a >= 224
        || is_shared
        || is_assigned
        || is_for_benchmarks
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [.., high, low] = segments;
    let last = Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        // Addresses that stand for one of IPv4: translated, compatible, 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => is_public_v4(last),
        [0x2002, high, low, ..] => is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))),
        // Teredo and documentation.
        [0x2001, 0 | 0xdb8, ..] => false,
        // Only these are assigned to the public internet.
        [first, ..] => first & 0xe000 == 0x2000,
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

#[cfg(test)]
mod tests {
    use super::*;

    // SEC-X-01
    #[test]
    fn addresses_of_private_networks_are_not_public() {
        let check = |address: &str, expected: bool| {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        };
        for public in
            ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
        {
            check(public, true);
        }
        let private = [
            "127.0.0.1",
            "127.1.2.3",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "203.0.113.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:1::",
            "2001:db8::1",
        ];
        for private in private {
            check(private, false);
        }
    }
}
