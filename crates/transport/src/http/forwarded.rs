//! The address of a client behind proxies, from `Forwarded` and `X-Forwarded-For`.
//!
//! Each proxy appends the address that it received a request from. A client can send such headers too, so only what trusted proxies
//! appended counts: seen from the end, the client is the first address that is not a trusted proxy (SEC-O-09).

use std::net::{IpAddr, SocketAddr};

use crate::server::Cidr;

/// The headers of a request that name its client, in order.
#[derive(Debug, Default)]
pub struct ForwardedHeaders<'a> {
    forwarded: Vec<&'a [u8]>,
    x_forwarded_for: Vec<&'a [u8]>,
}

impl<'a> ForwardedHeaders<'a> {
    /// Adds a header, if it is one of them.
    pub fn add(&mut self, name: &str, value: &'a [u8]) {
        if name.eq_ignore_ascii_case("x-forwarded-for") {
            self.x_forwarded_for.push(value);
        } else if name.eq_ignore_ascii_case("forwarded") {
            self.forwarded.push(value);
        }
    }

    /// The client of a request that this trusted proxy sent. It is the proxy itself if no header names another, or if both kinds of
    /// headers are there and name different ones: a proxy that sets one kind passes the other on as the client sent it.
    pub fn client(&self, proxy: SocketAddr, trusted: &[Cidr]) -> SocketAddr {
        let by_list =
            || client(self.x_forwarded_for.iter().rev().flat_map(|value| listed(value)), proxy, trusted);
        let by_pairs = || {
            let named = self.forwarded.iter().rev().flat_map(|value| match named(value) {
                Some(mut named) => {
                    named.reverse();
                    named
                }
                // Nobody knows where in it the proxy's part begins.
                None => vec![None],
            });
            client(named, proxy, trusted)
        };
        match (self.x_forwarded_for.is_empty(), self.forwarded.is_empty()) {
            (true, true) => proxy,
            (false, true) => by_list(),
            (true, false) => by_pairs(),
            (false, false) => {
                let (one, other) = (by_list(), by_pairs());
                if one.ip() == other.ip() { one } else { proxy }
            }
        }
    }
}

/// The first of these addresses that is not a trusted proxy. An unknown one hides those before it, so the proxy that did not tell it
/// stands for the client.
fn client(
    addresses: impl Iterator<Item = Option<SocketAddr>>,
    proxy: SocketAddr,
    trusted: &[Cidr],
) -> SocketAddr {
    let mut last = proxy;
    for address in addresses {
        let Some(address) = address else { break };
        last = address;
        if !trusted.iter().any(|network| network.contains(address.ip())) {
            break;
        }
    }
    last
}

/// The addresses of a list, from its end. Those that cannot be read are `None`.
fn listed(value: &[u8]) -> impl Iterator<Item = Option<SocketAddr>> {
    value
        .rsplit(|byte| *byte == b',')
        .map(|part| std::str::from_utf8(part.trim_ascii()).ok().and_then(address))
}

/// The `for` of each element of `Forwarded` (RFC 7239). `None` for one that is not an address; nothing if the value is not well formed.
fn named(value: &[u8]) -> Option<Vec<Option<SocketAddr>>> {
    let (mut found, mut rest) = (Vec::new(), value);
    loop {
        let (mut element, mut has_for) = (None, false);
        loop {
            rest = rest.trim_ascii_start();
            let length = rest.iter().take_while(|byte| is_token(**byte)).count();
            let name;
            (name, rest) = rest.split_at(length);
            if !name.is_empty() {
                let text;
                (text, rest) = value_of(rest.strip_prefix(b"=")?)?;
                if name.eq_ignore_ascii_case(b"for") {
                    if std::mem::replace(&mut has_for, true) {
                        return None;
                    }
                    element = address(&text);
                }
            }
            rest = rest.trim_ascii_start();
            match rest.split_first() {
                Some((b';', after)) => rest = after,
                _ => break,
            }
        }
        found.push(element);
        match rest.split_first() {
            None => return Some(found),
            Some((b',', after)) => rest = after,
            Some(_) => return None,
        }
    }
}

/// A token or a quoted string, and what follows.
fn value_of(bytes: &[u8]) -> Option<(String, &[u8])> {
    let Some(mut rest) = bytes.strip_prefix(b"\"") else {
        let length = bytes.iter().take_while(|byte| is_token(**byte)).count();
        let (token, rest) = bytes.split_at(length);
        return Some((String::from_utf8(token.to_vec()).ok().filter(|token| !token.is_empty())?, rest));
    };
    let mut text = Vec::new();
    loop {
        match rest {
            [b'"', after @ ..] => return Some((String::from_utf8(text).ok()?, after)),
            [b'\\', byte, after @ ..] | [byte, after @ ..] => {
                text.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// An address, with a port or not; IPv6 in brackets or not.
fn address(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(SocketAddr::new(address.ip().to_canonical(), address.port()));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().map(|address: IpAddr| SocketAddr::new(address.to_canonical(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1:9";

    fn check(headers: &[(&str, &str)], expected: &str) {
        let mut found = ForwardedHeaders::default();
        for (name, value) in headers {
            found.add(name, value.as_bytes());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let client = found.client(PROXY.parse().unwrap(), &trusted);
        assert_eq!(client, expected.parse().unwrap(), "{headers:?}");
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_trusted_proxy() {
        let list = |value: &str, expected: &str| check(&[("X-Forwarded-For", value)], expected);
        list("192.0.2.7", "192.0.2.7:0");
        list("192.0.2.7:50123", "192.0.2.7:50123");
        list("[2001:db8::7]:5", "[2001:db8::7]:5");
        list("2001:db8::7", "[2001:db8::7]:0");
        list("::ffff:192.0.2.7", "192.0.2.7:0");
        // The client wrote the first part itself.
        list("127.0.0.1, 192.0.2.7", "192.0.2.7:0");
        list("127.0.0.1, 192.0.2.7 , 10.0.0.2,10.0.0.3", "192.0.2.7:0");
        list("10.0.0.5, 10.0.0.2", "10.0.0.5:0");
        // Who hides an address is responsible for it.
        list("192.0.2.7, unknown", PROXY);
        list("192.0.2.7, unknown, 10.0.0.2", "10.0.0.2:0");
        list("", PROXY);
        list("127.0.0.1,", PROXY);
        check(&[], PROXY);
        check(&[("x-forwarded-for", "192.0.2.8"), ("x-forwarded-for", "192.0.2.7")], "192.0.2.7:0");
        check(&[("x-real-ip", "192.0.2.7")], PROXY);
    }

    #[test]
    fn forwarded_is_read_as_its_standard_says() {
        let pairs = |value: &str, expected: &str| check(&[("Forwarded", value)], expected);
        pairs("for=192.0.2.7", "192.0.2.7:0");
        pairs("For=\"[2001:db8::7]:4711\";proto=https;by=10.0.0.1", "[2001:db8::7]:4711");
        pairs("for=127.0.0.1, for=192.0.2.7;host=a.example, for=10.0.0.2", "192.0.2.7:0");
        pairs("for=\"127.0.0.1, for=192.0.2.8\", for=192.0.2.7", "192.0.2.7:0");
        pairs("for=192.0.2.7, for=_hidden", PROXY);
        pairs("for=192.0.2.7, for=unknown, for=10.0.0.2", "10.0.0.2:0");
        pairs("proto=https", PROXY);
        // A quote that a client left open must not swallow what the proxy appended and leave the rest to be believed.
        pairs("for=192.0.2.8, for=\"127.0.0.1, for=192.0.2.7", PROXY);
        pairs("for=192.0.2.8 for=192.0.2.7", PROXY);
        pairs("for=192.0.2.8;for=192.0.2.7", PROXY);
    }

    #[test]
    fn headers_that_disagree_are_not_believed() {
        let both = |one: &str, other: &str, expected: &str| {
            check(&[("forwarded", one), ("x-forwarded-for", other)], expected);
        };
        both("for=192.0.2.7", "192.0.2.7", "192.0.2.7:0");
        both("for=127.0.0.1", "192.0.2.7", PROXY);
        both("nonsense", "192.0.2.7", PROXY);
    }
}
