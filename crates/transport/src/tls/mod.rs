//! TLS with certificates from files, for servers and clients: the layer between a socket and a protocol.
//!
//! - [`ServerTls`] proves the server's identity and may ask callers for theirs; it reloads its files when they change.
//! - [`ClientTls`] holds a client's trust and its certificate.
//! - [`PeerCertificate`] is the proven identity of a caller, found in the context of its calls.
//!
//! TLS 1.2 and 1.3 (SEC-H-07), with the cryptography of aws-lc. No process-wide default is installed or used.

mod accept;
mod client;
mod client_stream;
mod der;
mod error;
mod explain;
mod files;
#[cfg_attr(
    not(feature = "__internals"),
    allow(dead_code, unreachable_pub, reason = "public for our own tools")
)]
pub(crate) mod identity;
mod server;

use std::sync::{Arc, LazyLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub(crate) use self::accept::accept;
pub use self::client::{ClientFiles, ClientTls, Trust};
pub(crate) use self::client_stream::TlsClientStream;
pub use self::error::TlsError;
#[cfg(feature = "http")]
pub(crate) use self::explain::Explained;
use self::identity::read_certificate;
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
