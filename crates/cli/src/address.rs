//! Where to listen: a URL of a scheme that can be served.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;

use crate::exit::Exit;
use crate::failure::Failure;

/// The schemes that can be listened on.
const SCHEMES: &[&str] = &["http"];

/// A URL to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// A name or an address; without the brackets of IPv6.
    host: String,
    port: u16,
}

impl Address {
    /// Reads a URL to listen on, for the parser of the command line.
    pub(crate) fn parse(text: &str) -> Result<Address, String> {
        const FORM: &str = "write it as http://127.0.0.1:8000";
        let (scheme, _) = text.split_once("://").ok_or_else(|| format!("it has no scheme; {FORM}"))?;
        if !SCHEMES.contains(&scheme) {
            let known = SCHEMES.join("\", \"");
            return Err(format!("the scheme {scheme:?} cannot be listened on; those known are \"{known}\""));
        }
        let uri = Uri::try_from(text).map_err(|_| format!("it is no URL; {FORM}"))?;
        let authority = uri.authority().ok_or_else(|| format!("it has no host; {FORM}"))?;
        if authority.as_str().contains('@') {
            return Err("a URL to listen on holds no credentials; leave them out".to_owned());
        }
        if uri.path_and_query().is_some_and(|path| path != "/") {
            return Err(
                "a URL to listen on has no path; calls are answered at /, /rpc and /jsonrpc".to_owned()
            );
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(format!("it has no host; {FORM}"));
        }
        let Some(port) = authority.port() else {
            return Err(format!(
                "it has no port, or one above 65535; {FORM}, or with port 0 for any free one"
            ));
        };
        Ok(Address { host, port: port.as_u16() })
    }

    /// The socket addresses that this stands for. Those that other machines can reach are refused unless it is said
    /// that they may (SEC-O-05).
    pub(crate) async fn resolve(&self, may_be_public: bool) -> Result<Vec<SocketAddr>, Failure> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() {
            let what = format!("cannot listen on {:?}: no address has this name", self.host);
            return Err(Failure::new(Exit::CannotListen, what).advise("give an address, such as 127.0.0.1"));
        }
        if let Some(public) = addresses.iter().find(|address| !address.ip().is_loopback())
            && !may_be_public
        {
            let what = format!("{} can be reached from other machines", public.ip());
            return Err(
                Failure::usage(what).advise("add `--public` if that is meant, or listen on 127.0.0.1")
            );
        }
        Ok(addresses)
    }
}

/// The URL by which this machine reaches what listens on this address.
pub(crate) fn url(mut address: SocketAddr) -> String {
    address.set_ip(match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    });
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_to_listen_on_has_a_known_scheme_a_host_and_a_port() {
        let check = |text, host: &str, port| {
            assert_eq!(Address::parse(text), Ok(Address { host: host.to_owned(), port }), "{text}");
        };
        check("http://127.0.0.1:8000", "127.0.0.1", 8000);
        check("http://localhost:0/", "localhost", 0);
        check("http://[::1]:80", "::1", 80);
    }

    #[test]
    fn what_is_wrong_with_a_url_to_listen_on_is_said() {
        let check = |text, expected: &str| {
            let error = Address::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("127.0.0.1:8000", "no scheme");
        check("ftp://127.0.0.1:8000", "those known are \"http\"");
        check("http://127.0.0.1", "no port");
        check("http://127.0.0.1:70000", "http://127.0.0.1:8000");
        check("http://:8000", "http://127.0.0.1:8000");
        check("http://me@127.0.0.1:8000", "credentials");
        check("http://127.0.0.1:8000/rpc", "no path");
        check("http://a b:1", "no URL");
    }

    #[test]
    fn an_unspecified_address_is_reached_over_loopback() {
        assert_eq!(url("0.0.0.0:8000".parse().unwrap()), "http://127.0.0.1:8000");
        assert_eq!(url("[::]:8000".parse().unwrap()), "http://[::1]:8000");
    }
}
