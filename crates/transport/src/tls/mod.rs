//! TLS with certificates from files, for servers and clients: what stands between a socket and a protocol.
//!
//! - [`ServerTls`] proves who we are and may ask callers to do the same; it reads its files again when they change.
//! - [`ClientTls`] says whom a client trusts, and who it says it is.
//! - [`PeerCertificate`] is who a caller proved to be, found in the context of its calls.
//!
//! TLS 1.2 and 1.3 (SEC-H-07), with the cryptography of aws-lc. No process-wide default is installed or looked at.

mod accept;
mod client;
mod client_stream;
mod der;
mod error;
mod explain;
mod files;
mod identity;
mod server;

use std::sync::{Arc, LazyLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub(crate) use self::accept::accept;
pub use self::client::{ClientFiles, ClientTls, Trust};
pub(crate) use self::client_stream::TlsClientStream;
pub use self::error::TlsError;
#[cfg(feature = "http")]
pub(crate) use self::explain::Explained;
pub use self::identity::read_certificate;
pub use self::server::{CallerProof, ServerFiles, ServerTls};
pub use switchboard_core::PeerCertificate;

/// The names of the HTTP versions that are spoken, the preferred one first.
const HTTP: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The cryptography that is used, the same everywhere.
fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(aws_lc_rs::default_provider()));
    Arc::clone(&PROVIDER)
}
