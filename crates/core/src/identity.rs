//! The identity of a peer, as far as the transport can prove it.

use std::net::IpAddr;

/// The client certificate that a caller has proved to own, from an issuer that the server trusts. It is in the
/// [`Context`](crate::Context) of its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCertificate {
    /// The certificate's subject, such as `CN=alice,O=Example`, in its original order. Commas, plus signs,
    /// equals signs and backslashes within a value are escaped with a backslash.
    pub subject: String,
    /// Its host names.
    pub dns_names: Vec<String>,
    /// Its email addresses.
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
    /// Its user ID.
    pub uid: u32,
    /// Its group ID.
    pub gid: u32,
    /// Its process ID, if the system provides it. The ID may have been reused since.
    pub pid: Option<i32>,
}
