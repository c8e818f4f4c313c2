//! Who is at the other end of a connection, as far as the carrier can prove it.

use std::net::IpAddr;

/// The certificate that a caller proved to hold the key of, issued by one of those that the server trusts. Found in the
/// [`Context`](crate::Context) of its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCertificate {
    /// The certificate's subject, such as `CN=alice,O=Example`, in the order it is written in. Commas, plus signs,
    /// equals signs and backslashes within a value have a backslash before them.
    pub subject: String,
    /// Its names for hosts.
    pub dns_names: Vec<String>,
    /// Its addresses for mail.
    pub emails: Vec<String>,
    /// Its URIs, such as `spiffe://example.org/billing`.
    pub uris: Vec<String>,
    /// Its network addresses.
    pub addresses: Vec<IpAddr>,
    /// The SHA-256 of the whole certificate, in lower-case hexadecimal.
    pub fingerprint: String,
}

/// The process at the other end of a Unix socket, as it was when it connected (JT-07).
///
/// A handler finds it with [`Context::get`](crate::Context::get).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCredentials {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process itself, where the system tells it. Another one may have this number by now.
    pub pid: Option<i32>,
}
