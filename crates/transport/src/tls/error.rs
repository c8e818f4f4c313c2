//! Problems with certificates, keys and names.

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
    /// A file contains no certificate, or an invalid one.
    #[error(
        "{} contains no usable certificate; it must be PEM text with \"-----BEGIN CERTIFICATE-----\"",
        .0.display()
    )]
    Certificate(PathBuf),
    /// A file contains no private key, or an invalid one.
    #[error(
        "{} contains no usable private key; it must be PEM text with \"-----BEGIN PRIVATE KEY-----\", without a \
         password",
        .0.display()
    )]
    Key(PathBuf),
    /// The key does not belong to the certificate.
    #[error("the key in {} does not belong to the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A name that no certificate can have.
    #[error("{0:?} is not a host name or address that a certificate can be issued for")]
    Name(String),
    /// This machine's trusted certificates cannot be loaded.
    #[error("cannot load this machine's trusted certificates: {0}; pass a certificate file instead")]
    Platform(String),
    /// Any other TLS error.
    #[error("cannot set up TLS: {0}")]
    Other(String),
}
