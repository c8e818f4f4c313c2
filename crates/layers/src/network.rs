//! Addresses that count as one.

use std::net::{IpAddr, Ipv6Addr};

/// The network that an address counts for. One subscriber has a whole network of 64 bits in IPv6, so those count as one; an IPv4 address
/// that is written as IPv6 counts as itself.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        },
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let check = |address: &str, expected: &str| {
            assert_eq!(network(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        };
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::ffff:10.0.0.1", "10.0.0.1");
        check("10.0.0.1", "10.0.0.1");
    }
}
