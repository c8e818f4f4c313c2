//! Networks of addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network of addresses, written as `10.0.0.0/8`, `2001:db8::/32`, or as a single address.
///
/// # Examples
///
/// ```
/// use switchboard_transport::server::Cidr;
///
/// let network: Cidr = "10.0.0.0/8".parse()?;
/// assert!(network.contains("10.1.2.3".parse()?) && !network.contains("11.0.0.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    address: IpAddr,
    /// How many bits of it matter.
    length: u8,
}

/// A text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CidrError {
    /// It is not an address with an optional length.
    #[error("`{0}` is not a network; write it as 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1")]
    Syntax(String),
    /// There are ones beyond its length, so the length or the address is a mistake.
    #[error("`{0}` has bits beyond its length; did you mean `{1}`?")]
    Bits(String, Cidr),
}

impl Cidr {
    /// Whether an address is in the network. An IPv4 address counts the same if it is written as IPv6.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()) & mask(32, self.length) as u32 == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()) & mask(128, self.length) == 0
            }
            _ => false,
        }
    }

    /// Its first address.
    fn first(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => IpAddr::V4((address.to_bits() & mask(32, self.length) as u32).into()),
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() & mask(128, self.length)).into()),
        }
    }
}

/// So many ones at the beginning of so many bits.
fn mask(bits: u8, length: u8) -> u128 {
    let zeros = u32::from(bits - length);
    let all = u128::MAX >> (128 - u32::from(bits));
    all & u128::MAX.checked_shl(zeros).unwrap_or(0)
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let read = || {
            let (address, length) = match text.split_once('/') {
                Some((address, length)) => (address, Some(length)),
                None => (text, None),
            };
            let address: IpAddr = address.parse().ok()?;
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let length = match length {
                None => bits,
                Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => length.parse().ok()?,
                Some(_) => return None,
            };
            (length <= bits).then_some(Cidr { address, length })
        };
        let network = read().ok_or_else(|| CidrError::Syntax(text.chars().take(60).collect()))?;
        let first = Cidr { address: network.first(), ..network };
        if first == network { Ok(network) } else { Err(CidrError::Bits(text.to_owned(), first)) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses() {
        let check = |network: &str, inside: &[&str], outside: &[&str]| {
            let network: Cidr = network.parse().unwrap();
            assert_eq!(network.to_string().parse(), Ok(network));
            for address in inside {
                assert!(network.contains(address.parse().unwrap()), "{network} {address}");
            }
            for address in outside {
                assert!(!network.contains(address.parse().unwrap()), "{network} {address}");
            }
        };
        check(
            "10.0.0.0/8",
            &["10.0.0.1", "10.255.255.255", "::ffff:10.0.0.1"],
            &["11.0.0.0", "::a00:1", "::1"],
        );
        check("0.0.0.0/0", &["0.0.0.0", "255.255.255.255"], &["::1"]);
        check("::/0", &["::1", "ffff::"], &["10.0.0.1", "::ffff:10.0.0.1"]);
        check("192.0.2.7", &["192.0.2.7"], &["192.0.2.6"]);
        check("2001:db8::/33", &["2001:db8:7fff::1"], &["2001:db8:8000::"]);
        check("::1", &["::1"], &["::2", "127.0.0.1"]);
    }

    #[test]
    fn other_texts_are_not_networks() {
        for text in
            ["", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0/8", "localhost", "1.2.3.4/+8", "1.2.3.4/8/8"]
        {
            assert!(matches!(text.parse::<Cidr>(), Err(CidrError::Syntax(_))), "{text}");
        }
        let error = "10.1.2.3/8".parse::<Cidr>().unwrap_err().to_string();
        assert!(error.ends_with("did you mean `10.0.0.0/8`?"), "{error}");
    }
}
