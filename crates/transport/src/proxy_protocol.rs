//! The PROXY protocol, versions 1 and 2: how a proxy for byte streams says where a connection comes from.
//!
//! The header comes before everything else, TLS included. It is read byte by byte as far as it goes, so that nothing of what follows is
//! taken. It is accepted from trusted proxies only, and required where a listener expects it.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::task::Poll;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::server::ConnectionPermit;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The signature, the command, the family and the length.
const FIXED: usize = 16;
/// The longest line of version 1.
const LINE: usize = 107;
/// The most bytes after the fixed part of version 2. The addresses take up to 216; the rest describes TLS and the like.
const VARIABLE: usize = 2048;

/// What the bytes so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parsed {
    /// At least so many bytes of the header are missing. Never more than that may be read.
    Incomplete(usize),
    /// It is complete, after so many bytes. Without an address, the connection is the proxy's own.
    Complete(usize, Option<SocketAddr>),
}

/// Bytes that are not a header, or a header that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid header of the PROXY protocol")]
pub struct InvalidProxyHeader;

/// Reads a header at the start of these bytes.
///
/// # Errors
///
/// If they are not the start of a header.
pub fn parse(bytes: &[u8]) -> Result<Parsed, InvalidProxyHeader> {
    let Some(start) = bytes.get(..SIGNATURE.len()) else {
        return Ok(Parsed::Incomplete(SIGNATURE.len() - bytes.len()));
    };
    if start == SIGNATURE {
        parse_binary(bytes)
    } else if start.starts_with(b"PROXY ") {
        parse_line(bytes)
    } else {
        Err(InvalidProxyHeader)
    }
}

/// Version 1: a line such as `PROXY TCP4 192.0.2.7 192.0.2.1 50123 443`.
fn parse_line(bytes: &[u8]) -> Result<Parsed, InvalidProxyHeader> {
    let head = &bytes[..bytes.len().min(LINE)];
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        return if head.len() < LINE { Ok(Parsed::Incomplete(1)) } else { Err(InvalidProxyHeader) };
    };
    let line = head[..end]
        .strip_suffix(b"\r")
        .and_then(|line| std::str::from_utf8(line).ok())
        .ok_or(InvalidProxyHeader)?;
    let mut words = line.split(' ').skip(1);
    let family = words.next().ok_or(InvalidProxyHeader)?;
    if family == "UNKNOWN" {
        return Ok(Parsed::Complete(end + 1, None));
    }
    let [Some(source), Some(_), Some(port), Some(_), None] = std::array::from_fn(|_| words.next()) else {
        return Err(InvalidProxyHeader);
    };
    let source: IpAddr = match family {
        "TCP4" => source.parse::<Ipv4Addr>().map_err(|_| InvalidProxyHeader)?.into(),
        "TCP6" => source.parse::<Ipv6Addr>().map_err(|_| InvalidProxyHeader)?.into(),
        _ => return Err(InvalidProxyHeader),
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port: u16 =
        Some(port).filter(|_| is_number).and_then(|port| port.parse().ok()).ok_or(InvalidProxyHeader)?;
    Ok(Parsed::Complete(end + 1, Some(SocketAddr::new(source.to_canonical(), port))))
}

/// Version 2: a fixed part, addresses, and descriptions that are skipped.
fn parse_binary(bytes: &[u8]) -> Result<Parsed, InvalidProxyHeader> {
    let Some(&[command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED) else {
        return Ok(Parsed::Incomplete(FIXED - bytes.len()));
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > VARIABLE || command >> 4 != 2 {
        return Err(InvalidProxyHeader);
    }
    let size = FIXED + length;
    let Some(addresses) = bytes.get(FIXED..size) else {
        return Ok(Parsed::Incomplete(size - bytes.len()));
    };
    let source = match (command & 0xf, family) {
        // A check by the proxy itself, a Unix socket, or something it does not tell.
        (0, _) | (1, 0x00 | 0x31) => None,
        (1, 0x11) => {
            let &[a, b, c, d, _, _, _, _, high, low, _, _] = addresses.get(..12).ok_or(InvalidProxyHeader)?
            else {
                return Err(InvalidProxyHeader);
            };
            Some(SocketAddr::new([a, b, c, d].into(), u16::from_be_bytes([high, low])))
        }
        (1, 0x21) => {
            let source: [u8; 16] =
                addresses.get(..16).and_then(|bytes| bytes.try_into().ok()).ok_or(InvalidProxyHeader)?;
            let &[high, low, _, _] = addresses.get(32..36).ok_or(InvalidProxyHeader)? else {
                return Err(InvalidProxyHeader);
            };
            Some(SocketAddr::new(IpAddr::from(source).to_canonical(), u16::from_be_bytes([high, low])))
        }
        _ => return Err(InvalidProxyHeader),
    };
    Ok(Parsed::Complete(size, source))
}

/// Reads the header of a connection from this proxy, within the time for the head of a request. Returns the address that the connection
/// comes from. Nothing if the proxy is not trusted, the header is wrong or late, the client has too many connections, or the server shuts
/// down; the connection is closed then, because its next bytes cannot be understood without the header.
pub(crate) async fn accept(
    tcp: &mut TcpStream,
    proxy: SocketAddr,
    permit: &mut ConnectionPermit,
) -> Option<SocketAddr> {
    if !permit.options().trusts(proxy.ip()) {
        tracing::debug!(%proxy, "refused a connection to a port for proxies: its address is not in trust_proxies");
        return None;
    }
    let time = permit.options().header_time;
    let header = {
        let mut requested = pin!(permit.shutdown().wait());
        let mut reading = pin!(tokio::time::timeout(time, read(tcp)));
        let either = poll_fn(|cx| match reading.as_mut().poll(cx) {
            Poll::Ready(read) => Poll::Ready(read.ok()),
            Poll::Pending => requested.as_mut().poll(cx).map(|()| None),
        });
        either.await
    };
    match header {
        Some(Ok(None)) => Some(proxy),
        Some(Ok(Some(client))) => permit.count_for(client.ip()).then_some(client),
        Some(Err(error)) => {
            tracing::debug!(%proxy, %error, "a trusted proxy sent no valid PROXY header");
            None
        }
        None => None,
    }
}

async fn read(tcp: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let mut bytes = Vec::with_capacity(LINE);
    loop {
        match parse(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))? {
            Parsed::Complete(_, client) => return Ok(client),
            Parsed::Incomplete(missing) => {
                let start = bytes.len();
                bytes.resize(start + missing, 0);
                tcp.read_exact(&mut bytes[start..]).await?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of version 2.
    fn binary(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let length = u16::try_from(addresses.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, addresses].concat()
    }

    fn check(bytes: &[u8], expected: Result<Option<&str>, InvalidProxyHeader>) {
        let expected =
            expected.map(|address| Parsed::Complete(bytes.len(), address.map(|text| text.parse().unwrap())));
        assert_eq!(parse(bytes), expected, "{bytes:?}");
        // What follows makes no difference, and every part of a header is the start of one.
        assert_eq!(parse(&[bytes, b"GET / "].concat()), expected);
        if expected.is_ok() {
            for length in 0..bytes.len() {
                let Ok(Parsed::Incomplete(missing)) = parse(&bytes[..length]) else {
                    panic!("{length} of {bytes:?}")
                };
                assert!((1..=bytes.len() - length).contains(&missing), "{length} of {bytes:?}: {missing}");
            }
        }
    }

    #[test]
    fn lines_are_read() {
        check(b"PROXY TCP4 192.0.2.7 192.0.2.1 50123 443\r\n", Ok(Some("192.0.2.7:50123")));
        check(b"PROXY TCP6 2001:db8::7 2001:db8::1 5 443\r\n", Ok(Some("[2001:db8::7]:5")));
        check(b"PROXY TCP6 ::ffff:192.0.2.7 ::1 5 443\r\n", Ok(Some("192.0.2.7:5")));
        check(b"PROXY UNKNOWN\r\n", Ok(None));
        check(b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", Ok(None));
        for wrong in [
            "PROXY TCP4 192.0.2.7 192.0.2.1 50123 443\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 50123\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 50123 443 1\r\n",
            "PROXY TCP4 ::1 ::1 50123 443\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 +5 443\r\n",
            "PROXY TCP4 192.0.2.7 192.0.2.1 65536 443\r\n",
            "PROXY UDP4 192.0.2.7 192.0.2.1 5 443\r\n",
            "GET / HTTP/1.1\r\n",
            "proxy TCP4 192.0.2.7 192.0.2.1 5 443\r\n",
        ] {
            check(wrong.as_bytes(), Err(InvalidProxyHeader));
        }
    }

    #[test]
    fn binary_headers_are_read() {
        let four = [192, 0, 2, 7, 192, 0, 2, 1, 0xc3, 0xcb, 1, 187];
        check(&binary(0x21, 0x11, &four), Ok(Some("192.0.2.7:50123")));
        check(&binary(0x21, 0x11, &[&four[..], &[4, 0, 1, 9]].concat()), Ok(Some("192.0.2.7:50123")));
        let mut six = [0; 36];
        six[..2].copy_from_slice(&[0x20, 1]);
        six[15] = 7;
        six[33] = 5;
        check(&binary(0x21, 0x21, &six), Ok(Some("[2001::7]:5")));
        check(&binary(0x20, 0x00, &[]), Ok(None));
        check(&binary(0x20, 0x11, &four), Ok(None));
        check(&binary(0x21, 0x00, &[1, 2, 3]), Ok(None));
        check(&binary(0x21, 0x31, &[0; 216]), Ok(None));
        for wrong in [
            binary(0x21, 0x11, &four[..11]),
            binary(0x21, 0x21, &six[..35]),
            binary(0x21, 0x12, &four),
            binary(0x22, 0x11, &four),
            binary(0x11, 0x11, &four),
            binary(0x21, 0x11, &[0; VARIABLE + 1]),
        ] {
            check(&wrong, Err(InvalidProxyHeader));
        }
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        // Not one byte more is asked for than a header can have.
        let mut bytes = b"PROXY TCP4 ".to_vec();
        while let Ok(Parsed::Incomplete(missing)) = parse(&bytes) {
            bytes.resize(bytes.len() + missing, b'1');
        }
        assert_eq!((parse(&bytes), bytes.len()), (Err(InvalidProxyHeader), LINE));
    }
}
