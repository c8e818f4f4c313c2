//! The client side of TLS: its trust, and its own certificate.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

#[cfg(feature = "http")]
use super::HTTP;
use super::client_stream::TlsClientStream;
use super::error::TlsError;
use super::explain::{Explained, explain};
use super::{files, provider};

/// The trust and the certificate of a client. All files are PEM.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientFiles {
    /// Which certificates are trusted: those that this machine trusts.
    pub trust: Trust,
    /// The client's certificate, with its chain up to the issuer, and its key: none. Servers may ask for one.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The name expected in the server's certificate: the host of the URL.
    pub server_name: Option<String>,
}

impl ClientFiles {
    /// Sets [`trust`](ClientFiles::trust).
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> ClientFiles {
        self.trust = trust;
        self
    }

    /// Sets [`certificate`](ClientFiles::certificate).
    #[must_use]
    pub fn with_certificate(mut self, certificate: Option<(PathBuf, PathBuf)>) -> ClientFiles {
        self.certificate = certificate;
        self
    }

    /// Sets [`server_name`](ClientFiles::server_name).
    #[must_use]
    pub fn with_server_name(mut self, server_name: Option<String>) -> ClientFiles {
        self.server_name = server_name;
        self
    }
}

/// Which certificates a client trusts.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Trust {
    /// Those that this machine trusts.
    #[default]
    Platform,
    /// Only those issued by the certificates in this file.
    Authority(PathBuf),
    /// Any. An attacker on the network can read and change the messages.
    Anybody,
}

/// The TLS configuration of a client. Cheap to clone.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

impl ClientTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// When one cannot be read or used.
    pub fn load(client: &ClientFiles) -> Result<ClientTls, TlsError> {
        let other = |error: Error| TlsError::Other(error.to_string());
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(other)?;
        let builder = match &client.trust {
            Trust::Authority(path) => builder.with_root_certificates(files::roots(path)?),
            Trust::Platform => {
                let verifier =
                    Verifier::new(provider()).map_err(|error| TlsError::Platform(error.to_string()))?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            Trust::Anybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Credulous(provider())))
            }
        };
        let config = match &client.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = files::certificates(certificate)?;
                builder.with_client_auth_cert(chain, files::key(key)?).map_err(|error| match error {
                    Error::InconsistentKeys(_) => {
                        TlsError::Mismatch { certificate: certificate.clone(), key: key.clone() }
                    }
                    Error::InvalidCertificate(_) => TlsError::Certificate(certificate.clone()),
                    _ => TlsError::Key(key.clone()),
                })?
            }
        };
        let server_name = client.server_name.as_deref().map(parse_name).transpose()?;
        Ok(ClientTls { config: Arc::new(config), server_name })
    }

    /// The same for HTTP, whose version the handshake decides, unless it is to be one only.
    #[cfg(feature = "http")]
    pub(crate) fn for_http(mut self, http2_only: bool) -> ClientTls {
        let config = Arc::make_mut(&mut self.config);
        let versions = if http2_only { &HTTP[..1] } else { &HTTP[..] };
        config.alpn_protocols = versions.iter().map(|name| name.to_vec()).collect();
        self
    }

    /// Does the handshake with the server of this name.
    pub(crate) async fn connect(&self, tcp: TcpStream, host: &str) -> Result<TlsClientStream, Explained> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => {
                let unnamed = |error: TlsError| Explained { text: error.to_string(), is_permanent: true };
                parse_name(host).map_err(unnamed)?
            }
        };
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, tcp).await.map_err(|error| explain(&error, host))?;
        Ok(TlsClientStream::new(stream, host))
    }
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

fn parse_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(bare.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))
}

/// Accepts any certificate whose key the server holds.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
