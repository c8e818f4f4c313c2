//! The checks of `Host` (SEC-O-01) and `Origin` (SEC-O-02).
//!
//! They keep a page of another site, opened in a browser on this machine, from calling a server that listens on this
//! machine only. Names are compared whole: no suffixes, no patterns, nothing is resolved.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use http::uri::Authority;

/// The allowed values of `Host`; others get 403.
///
/// By default, a server that listens on a loopback address allows `localhost`, `127.0.0.1`, `[::1]` and that
/// address, each with its port or without. A server that listens elsewhere allows `localhost` and network
/// addresses, with any port. A page whose name resolves to the server's address (DNS rebinding) reaches neither. List the
/// names of the server here. An endpoint mounted into another server allows any.
#[derive(Clone, Debug, Default)]
pub struct Hosts(HostRule);

#[derive(Clone, Debug, Default)]
enum HostRule {
    #[default]
    ByAddress,
    Any,
    Only(Vec<String>),
}

/// The allowed values of `Origin`; others get 403. A request without one does not come from a page, and is
/// allowed.
///
/// By default, only pages from the same host and port as the server, or from one that [`Hosts`] lists.
#[derive(Clone, Debug, Default)]
pub struct Origins(OriginRule);

#[derive(Clone, Debug, Default)]
enum OriginRule {
    #[default]
    Same,
    Any,
    Only(Vec<String>),
}

/// An invalid host or origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Not a host.
    #[error(
        "{0:?} is not a host; write a name or an address, with or without a port, such as \"[::1]:8000\""
    )]
    Host(String),
    /// Not an origin.
    #[error(
        "{0:?} is not an origin; write the scheme, host and port, such as \"https://app.example.com\", or \"null\""
    )]
    Origin(String),
}

impl Hosts {
    /// Allows any name. Pages of other sites may then reach a server on this machine under their own name.
    #[must_use]
    pub fn any() -> Hosts {
        Hosts(HostRule::Any)
    }

    /// Allows only these. One without a port matches without a port and with the port of the server.
    ///
    /// # Errors
    ///
    /// When one is not a host with an optional port.
    pub fn only<T: AsRef<str>>(hosts: impl IntoIterator<Item = T>) -> Result<Hosts, GuardError> {
        let check = |host: T| match authority(host.as_ref()) {
            Some(host) => Ok(host),
            None => Err(GuardError::Host(host.as_ref().to_owned())),
        };
        Ok(Hosts(HostRule::Only(hosts.into_iter().map(check).collect::<Result<_, _>>()?)))
    }
}

impl Origins {
    /// Allows pages from anywhere. With [`Cors`](super::Cors) this is `Access-Control-Allow-Origin: *`.
    #[must_use]
    pub fn any() -> Origins {
        Origins(OriginRule::Any)
    }

    /// Allows only pages of these origins, each with its scheme, and its port unless it is the default one. `null`
    /// must be listed to be allowed.
    ///
    /// # Errors
    ///
    /// When one is not an origin.
    pub fn only<T: AsRef<str>>(origins: impl IntoIterator<Item = T>) -> Result<Origins, GuardError> {
        let check = |origin: T| {
            let text = origin.as_ref();
            let is_origin = text == "null"
                || text.split_once("://").is_some_and(|(scheme, rest)| {
                    http::uri::Scheme::try_from(scheme).is_ok() && authority(rest).is_some()
                });
            if is_origin { Ok(text.to_owned()) } else { Err(GuardError::Origin(text.to_owned())) }
        };
        Ok(Origins(OriginRule::Only(origins.into_iter().map(check).collect::<Result<_, _>>()?)))
    }

    pub(super) fn is_any(&self) -> bool {
        matches!(self.0, OriginRule::Any)
    }
}

fn authority(text: &str) -> Option<String> {
    let authority = Authority::try_from(text).ok()?;
    let is_plain = !text.contains('@') && !authority.host().is_empty() && !text.ends_with(':');
    is_plain.then(|| text.to_owned())
}

/// The rules, spelled out as all the values that pass.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    hosts: HostCheck,
    origins: OriginRule,
}

/// The hosts that pass.
#[derive(Clone, Debug)]
enum HostCheck {
    Any,
    /// These, with their ports where they have one.
    Listed(Vec<String>),
    /// Network addresses and `localhost`, with any port.
    Addresses,
}

impl Guard {
    /// The rules of a server that listens at this address, if it is known.
    pub(super) fn new(hosts: &Hosts, origins: &Origins, address: Option<SocketAddr>) -> Guard {
        let port = address.map(|address| address.port());
        let listed = |names: Vec<String>| {
            HostCheck::Listed(names.into_iter().flat_map(|name| with_port(name, port)).collect())
        };
        let hosts = match (&hosts.0, address) {
            (HostRule::Only(names), _) => listed(names.clone()),
            (HostRule::ByAddress, Some(address)) if address.ip().is_loopback() => listed(loopback(address)),
            (HostRule::ByAddress, Some(_)) => HostCheck::Addresses,
            (HostRule::ByAddress, None) | (HostRule::Any, _) => HostCheck::Any,
        };
        Guard { hosts, origins: origins.0.clone() }
    }

    /// Whether a request for this host is for us.
    pub(super) fn takes_host(&self, host: &[u8]) -> bool {
        match &self.hosts {
            HostCheck::Any => true,
            HostCheck::Listed(hosts) => is_among(host, hosts),
            HostCheck::Addresses => is_address(host),
        }
    }

    pub(super) fn checks_hosts(&self) -> bool {
        !matches!(self.hosts, HostCheck::Any)
    }

    /// Whether a page of this origin may call, when the request is for `host`.
    pub(super) fn takes_origin(&self, origin: &[u8], host: Option<&[u8]>) -> bool {
        match &self.origins {
            OriginRule::Any => true,
            OriginRule::Only(origins) => is_among(origin, origins),
            OriginRule::Same => page_host(origin).is_some_and(|page| {
                host.is_some_and(|host| host.eq_ignore_ascii_case(page))
                    || matches!(&self.hosts, HostCheck::Listed(hosts) if has_port(page) && is_among(page, hosts))
            }),
        }
    }
}

/// A page says its port unless it is its scheme's own: without one it comes from another server than ours, which the
/// list of hosts, where no port means any, does not tell.
fn has_port(page: &[u8]) -> bool {
    page.rsplit(|byte| *byte == b']').next().is_some_and(|end| end.contains(&b':'))
}

fn is_among(value: &[u8], list: &[String]) -> bool {
    list.iter().any(|entry| entry.as_bytes() == value)
        || list.iter().any(|entry| entry.as_bytes().eq_ignore_ascii_case(value))
}

/// Whether this is a network address or `localhost`, with a port or without.
fn is_address(host: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(host) else { return false };
    let Ok(authority) = Authority::try_from(text) else { return false };
    let name = authority.host();
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_literal = v6.map_or_else(|| name.parse::<Ipv4Addr>().is_ok(), |v6| v6.parse::<Ipv6Addr>().is_ok());
    !text.contains('@') && (is_literal || name.eq_ignore_ascii_case("localhost"))
}

fn page_host(origin: &[u8]) -> Option<&[u8]> {
    origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"))
}

fn loopback(address: SocketAddr) -> Vec<String> {
    let own = match address {
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
    if !names.contains(&own) {
        names.push(own);
    }
    names
}

/// A name as it is, and with the port unless it has one.
fn with_port(name: String, port: Option<u16>) -> Vec<String> {
    let has_port = Authority::try_from(name.as_str()).is_ok_and(|authority| authority.port().is_some());
    match port {
        Some(port) if !has_port => vec![format!("{name}:{port}"), name],
        _ => vec![name],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(&Hosts::default(), &Origins::default(), Some(address.parse().unwrap()))
    }

    // SEC-O-01, SEC-Z-05
    #[test]
    fn a_loopback_server_answers_to_its_own_names_only() {
        let guard = guard("127.0.0.1:8000");
        let check =
            |host: &str, expected| assert_eq!(guard.takes_host(host.as_bytes()), expected, "{host:?}");
        check("localhost", true);
        check("localhost:8000", true);
        check("LOCALHOST:8000", true);
        check("127.0.0.1", true);
        check("127.0.0.1:8000", true);
        check("[::1]", true);
        check("[::1]:8000", true);
        check("localhost:8001", false);
        check("localhost:", false);
        check("localhost:08000", false);
        check("localhost.", false);
        check("localhost.:8000", false);
        check("localhost.evil.com", false);
        check("127.0.0.1.evil.com", false);
        check("127.0.0.1.evil.com:8000", false);
        check("evil.com", false);
        check("evillocalhost", false);
        check("user@localhost:8000", false);
        check("localhost@evil.com", false);
        check("::1", false);
        check("127.1", false);
        check("2130706433", false);
        check("0.0.0.0:8000", false);
        check("", false);
    }

    #[test]
    fn another_loopback_address_is_a_name_too() {
        assert!(guard("127.0.0.2:8000").takes_host(b"127.0.0.2:8000"));
        assert!(!guard("127.0.0.1:8000").takes_host(b"127.0.0.2:8000"));
        assert!(guard("[::1]:8000").takes_host(b"[::1]:8000"));
    }

    // SEC-O-01: DNS rebinding
    #[test]
    fn a_server_beyond_this_machine_answers_to_addresses_and_to_names_that_are_listed() {
        let addresses = guard("0.0.0.0:80");
        let check = |host: &str, expected| {
            assert_eq!(addresses.takes_host(host.as_bytes()), expected, "{host:?}");
        };
        check("192.0.2.1", true);
        check("192.0.2.1:8080", true);
        check("[2001:db8::1]:80", true);
        check("localhost:80", true);
        check("LocalHost", true);
        check("api.example.com", false);
        check("192.0.2.1.evil.com", false);
        check("localhost.evil.com", false);
        check("user@192.0.2.1", false);
        check("2130706433", false);
        check("[::1", false);
        check("", false);
        let only = Hosts::only(["api.example.com", "other.example.com:81"]).unwrap();
        let guard = Guard::new(&only, &Origins::default(), Some("0.0.0.0:80".parse().unwrap()));
        assert!(guard.takes_host(b"api.example.com") && guard.takes_host(b"api.example.com:80"));
        assert!(!guard.takes_host(b"other.example.com") && !guard.takes_host(b"other.example.com:80"));
        assert!(guard.takes_host(b"other.example.com:81"));
    }

    // SEC-O-02, SEC-Z-05
    #[test]
    fn only_pages_of_the_same_server_may_call_by_default() {
        let guard = guard("127.0.0.1:8000");
        let check = |origin: &str, expected| {
            let host = Some(&b"localhost:8000"[..]);
            assert_eq!(guard.takes_origin(origin.as_bytes(), host), expected, "{origin:?}");
        };
        check("http://localhost:8000", true);
        check("http://LOCALHOST:8000", true);
        check("http://127.0.0.1:8000", true);
        check("http://[::1]:8000", true);
        check("http://localhost", false);
        check("http://[::1]", false);
        check("http://localhost:3000", false);
        check("http://localhost.evil.com:8000", false);
        check("http://127.0.0.1.evil.com", false);
        check("http://evil.com", false);
        check("http://user@localhost:8000", false);
        check("http://localhost:8000/", false);
        check("localhost:8000", false);
        check("file://", false);
        check("null", false);
        check("", false);
    }

    #[test]
    fn listed_origins_match_whole_and_null_only_if_listed() {
        let address = Some("127.0.0.1:8000".parse().unwrap());
        let only = |list: &[&str]| Guard::new(&Hosts::default(), &Origins::only(list).unwrap(), address);
        let guard = only(&["https://app.example.com", "chrome-extension://abc"]);
        assert!(guard.takes_origin(b"https://app.example.com", None));
        assert!(guard.takes_origin(b"chrome-extension://abc", None));
        assert!(!guard.takes_origin(b"http://app.example.com", None));
        assert!(!guard.takes_origin(b"https://app.example.com:444", None));
        assert!(!guard.takes_origin(b"https://app.example.com.evil.com", None));
        assert!(!guard.takes_origin(b"null", None));
        assert!(only(&["null"]).takes_origin(b"null", None));
    }

    #[test]
    fn what_is_no_host_or_origin_is_refused_when_it_is_configured() {
        assert!(Hosts::only(["user@host"]).is_err());
        assert!(Hosts::only(["http://host"]).is_err());
        assert!(Hosts::only([""]).is_err());
        assert!(Origins::only(["*"]).is_err());
        assert!(Origins::only(["example.com"]).is_err());
        assert!(Origins::only(["https://example.com/path"]).is_err());
    }
}
