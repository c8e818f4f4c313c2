//! Which URLs are requested on behalf of a server: none that leads into a private network, unless the user named it (SEC-X-01, MCP-A-29).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use http::uri::Scheme;
use switchboard_transport::http::AllowedAddresses;

use super::error::{AuthError, shown};

/// What a user allowed by naming a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Servers that the user named: requested as they are, wherever they are.
    origins: Vec<String>,
    /// Whether the user named a server on this machine. Then its authorization server may be on this machine, too.
    has_loopback: bool,
}

impl Guard {
    /// Also allows this server, which the user named.
    pub(super) fn allow(&mut self, url: &str) {
        let Ok(uri) = url.parse::<Uri>() else { return };
        self.has_loopback |= is_loopback(&uri);
        self.origins.extend(origin(&uri));
    }

    /// Checks a URL, and tells which addresses a request for it may go to.
    pub(super) fn check(&self, url: &str) -> Result<AllowedAddresses, AuthError> {
        let refused = |why: &str| AuthError::Forbidden { url: shown(url), why: why.to_owned() };
        let uri: Uri = url.parse().map_err(|_| refused("it is not a URL"))?;
        let own = origin(&uri).ok_or_else(|| refused("it is not an https URL"))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) || url.contains('#') {
            return Err(refused("it has a user or a fragment"));
        }
        if self.origins.contains(&own) {
            return Ok(AllowedAddresses::new(|_| true));
        }
        let has_loopback = self.has_loopback;
        if uri.scheme() == Some(&Scheme::HTTP) {
            return match has_loopback && is_loopback(&uri) {
                true => Ok(AllowedAddresses::new(|address| address.to_canonical().is_loopback())),
                false => Err(refused("it is not an https URL")),
            };
        }
        Ok(AllowedAddresses::new(move |address| {
            is_public(address) || (has_loopback && address.to_canonical().is_loopback())
        }))
    }

    /// Checks a URL that a browser is to open (MCP-A-28).
    pub(super) fn check_page(&self, url: &str) -> Result<(), AuthError> {
        self.check(url).map(drop)
    }
}

/// Scheme, host and port, if it is an `http` or `https` URL.
pub(super) fn origin(uri: &Uri) -> Option<String> {
    let usual = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(usual);
    let scheme = uri.scheme_str()?;
    Some(if port == usual { format!("{scheme}://{host}") } else { format!("{scheme}://{host}:{port}") })
}

/// Whether the host is of this machine, whatever a name server says.
fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(guard: &Guard, url: &str) -> bool {
        guard.check(url).is_ok()
    }

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

    // MCP-A-29
    #[test]
    fn only_what_the_user_named_is_requested_without_tls() {
        let mut guard = Guard::default();
        guard.allow("https://mcp.example/mcp");
        for url in ["https://mcp.example/x", "https://auth.example/token"] {
            assert!(is_allowed(&guard, url), "{url}");
        }
        let wrong = [
            "http://mcp.example/x",
            "http://127.0.0.1:9/",
            "http://localhost/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://user:secret@auth.example/",
            "https://auth.example/#x",
            "",
            "/token",
            "http://localhost.evil.example/",
        ];
        for url in wrong {
            assert!(!is_allowed(&guard, url), "{url}");
        }
        guard.allow("http://10.0.0.5:8000/mcp");
        assert!(is_allowed(&guard, "http://10.0.0.5:8000/.well-known/x"));
        assert!(!is_allowed(&guard, "http://10.0.0.5:8001/"), "another port is another server");
        assert!(!is_allowed(&guard, "http://127.0.0.1/"));
    }

    #[test]
    fn a_server_on_this_machine_may_have_its_authorization_server_there() {
        let mut guard = Guard::default();
        guard.allow("http://localhost:8000/mcp");
        for url in ["http://127.0.0.1:9000/token", "http://[::1]:9000/", "http://LOCALHOST:1/"] {
            assert!(is_allowed(&guard, url), "{url}");
        }
        for url in ["http://10.0.0.1/", "http://auth.example/", "http://127.0.0.1.example/"] {
            assert!(!is_allowed(&guard, url), "{url}");
        }
    }
}
