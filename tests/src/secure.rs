//! A server of ours behind TLS, and a client's end that another implementation of it would have.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use switchboard_core::{Service, Settings};
use switchboard_transport::server::Server;
use switchboard_transport::tls::{ServerFiles, ServerTls};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Where a server listens, and who it will say it is.
#[derive(Clone)]
pub struct Door {
    /// Its address.
    pub address: SocketAddr,
    config: Arc<ClientConfig>,
}

/// A server for this service at a URL with port 0, not running yet, and its door.
///
/// # Panics
///
/// When there is no free port, or no folder for a certificate.
pub async fn server(url: &str, service: Arc<dyn Service>, settings: Settings) -> (Server, Door) {
    let (server, config) = server_at(url, service, settings).await;
    let url = server.urls().next().unwrap();
    let address = url.split(['/', '?']).nth(2).unwrap().parse().unwrap();
    (server, Door { address, config })
}

/// A server for this service at any URL, not running yet, and how a client trusts it.
///
/// # Panics
///
/// When it cannot listen there, or there is no folder for a certificate.
pub async fn server_at(
    url: &str,
    service: Arc<dyn Service>,
    settings: Settings,
) -> (Server, Arc<ClientConfig>) {
    let made = certificate();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (serving(url, service, settings, &made).await, Arc::new(config))
}

/// A server for this service at any URL, not running yet, and its certificate as a client's program reads it.
///
/// # Panics
///
/// As [`server_at`].
pub async fn server_with_pem(url: &str, service: Arc<dyn Service>, settings: Settings) -> (Server, String) {
    let made = certificate();
    (serving(url, service, settings, &made).await, made.cert.pem())
}

fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap()
}

async fn serving(
    url: &str,
    service: Arc<dyn Service>,
    settings: Settings,
    made: &CertifiedKey<KeyPair>,
) -> Server {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("switchboard-carrier-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files = ServerFiles::new(folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let tls = ServerTls::load(files).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let mut server = Server::new(service).with_settings(settings).with_tls(tls);
    server.listen(url).await.unwrap();
    server
}

/// What greets clients with a certificate that nobody issued.
///
/// # Panics
///
/// When there is no chance for a key.
#[must_use]
pub fn acceptor() -> TlsAcceptor {
    let made = certificate();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

impl Door {
    /// A new connection, greeted.
    ///
    /// # Panics
    ///
    /// When nobody is there, or it is somebody else.
    pub async fn connect(&self) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(self.address).await.expect("the server listens");
        tcp.set_nodelay(true).unwrap();
        let name = ServerName::from(self.address.ip());
        TlsConnector::from(Arc::clone(&self.config)).connect(name, tcp).await.expect("it speaks TLS")
    }
}
