//! What can be wrong with the files and names that TLS is made of.

use std::io;
use std::path::PathBuf;

/// A certificate, key or name that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds no certificate, or a broken one.
    #[error(
        "{} holds no certificate that can be used; it must be PEM text with \"-----BEGIN CERTIFICATE-----\"",
        .0.display()
    )]
    Certificate(PathBuf),
    /// A file holds no private key, or a broken one.
    #[error(
        "{} holds no private key that can be used; it must be PEM text with \"-----BEGIN PRIVATE KEY-----\", without a \
         password",
        .0.display()
    )]
    Key(PathBuf),
    /// A key that is not the certificate's.
    #[error("the key in {} is not that of the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A name that no certificate can have.
    #[error("{0:?} is no host that a certificate could be for; give a name or an address")]
    Name(String),
    /// The certificates that this machine trusts cannot be found.
    #[error("the certificates that this machine trusts cannot be used: {0}; give a file of your own")]
    Platform(String),
    /// The cryptography refuses the rest.
    #[error("TLS cannot be set up: {0}")]
    Other(String),
}
