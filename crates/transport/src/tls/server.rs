//! The server side of TLS: its certificate, the certificates of callers, and files that change at run time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::server::WebPkiClientVerifier;
use rustls::{Error, ServerConfig};

use super::error::TlsError;
use super::files::{self, Stamp};
use super::{HTTP, provider};

/// The certificate of a server, and which client certificates it accepts. All files are PEM.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerFiles {
    /// The server's certificate, followed by its chain up to the issuer.
    pub certificate: PathBuf,
    /// The key of the first certificate.
    pub key: PathBuf,
    /// The certificates of the authorities that may issue client certificates. Without one, callers are not asked for any.
    pub client_ca: Option<PathBuf>,
    /// Whether callers must have a certificate, if they are asked for one.
    pub proof: CallerProof,
}

impl ServerFiles {
    /// Sets [`certificate`](ServerFiles::certificate).
    #[must_use]
    pub fn with_certificate(mut self, certificate: PathBuf) -> ServerFiles {
        self.certificate = certificate;
        self
    }

    /// Sets [`key`](ServerFiles::key).
    #[must_use]
    pub fn with_key(mut self, key: PathBuf) -> ServerFiles {
        self.key = key;
        self
    }

    /// Sets [`client_ca`](ServerFiles::client_ca).
    #[must_use]
    pub fn with_client_ca(mut self, client_ca: Option<PathBuf>) -> ServerFiles {
        self.client_ca = client_ca;
        self
    }

    /// Sets [`proof`](ServerFiles::proof).
    #[must_use]
    pub fn with_proof(mut self, proof: CallerProof) -> ServerFiles {
        self.proof = proof;
        self
    }
}

/// Whether callers must have a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallerProof {
    /// Without a valid one there is no connection.
    #[default]
    Required,
    /// Without one a caller is anonymous; with an invalid one there is no connection.
    Optional,
}

impl ServerFiles {
    /// This certificate and its key; callers are not asked for theirs.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> ServerFiles {
        ServerFiles {
            certificate: certificate.into(),
            key: key.into(),
            client_ca: None,
            proof: CallerProof::Required,
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp::of([&self.certificate, &self.key].into_iter().chain(&self.client_ca))
    }

    fn config(&self) -> Result<ServerConfig, TlsError> {
        let certificates = files::certificates(&self.certificate)?;
        let key = files::key(&self.key)?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Other(error.to_string()))?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(files::roots(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let verifier = match self.proof {
                    CallerProof::Required => verifier,
                    CallerProof::Optional => verifier.allow_unauthenticated(),
                };
                let verifier = verifier.build().map_err(|_| TlsError::Certificate(path.clone()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        builder.with_single_cert(certificates, key).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                TlsError::Mismatch { certificate: self.certificate.clone(), key: self.key.clone() }
            }
            Error::InvalidCertificate(_) => TlsError::Certificate(self.certificate.clone()),
            Error::General(_) => TlsError::Key(self.key.clone()),
            other => TlsError::Other(other.to_string()),
        })
    }
}

/// The TLS configuration of a server. Cheap to clone; all clones see a reload.
#[derive(Clone)]
pub struct ServerTls(Arc<Inner>);

struct Inner {
    files: ServerFiles,
    loaded: Mutex<Loaded>,
}

/// What was read from the files last, or tried to.
struct Loaded {
    config: Arc<ServerConfig>,
    stamp: Stamp,
}

/// How often a server looks whether its files have changed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// When one cannot be read or used.
    pub fn load(files: ServerFiles) -> Result<ServerTls, TlsError> {
        let loaded = Loaded::read(&files, files.stamp())?;
        Ok(ServerTls(Arc::new(Inner { files, loaded: Mutex::new(loaded) })))
    }

    /// Reloads the files for new connections; open ones are not affected. A running server does so
    /// by itself, a few seconds after a file has changed.
    ///
    /// # Errors
    ///
    /// When one cannot be read or used; the old ones stay in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let stamp = self.0.files.stamp();
        match Loaded::read(&self.0.files, stamp.clone()) {
            Ok(loaded) => {
                *self.lock() = loaded;
                Ok(())
            }
            Err(error) => {
                // What was tried is not tried again before it changes.
                self.lock().stamp = stamp;
                Err(error)
            }
        }
    }

    /// Looks after the files until the future is dropped.
    pub(crate) async fn watch(self) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let this = self.clone();
            // Files may be on a disk that is slow to answer.
            let _ = tokio::task::spawn_blocking(move || this.reload_if_changed()).await;
        }
    }

    fn reload_if_changed(&self) {
        let stamp = self.0.files.stamp();
        if self.lock().stamp == stamp {
            return;
        }
        match self.reload() {
            Ok(()) => tracing::info!("certificate reloaded: its file changed"),
            Err(error) => {
                tracing::error!(%error, "cannot reload the changed certificate; keeping the old one");
            }
        }
    }

    /// What a connection is accepted with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.lock().config)
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerTls").field("files", &self.0.files).finish_non_exhaustive()
    }
}

impl Loaded {
    fn read(files: &ServerFiles, stamp: Stamp) -> Result<Loaded, TlsError> {
        let mut config = files.config()?;
        // Those who do not ask for a version of HTTP are not told any.
        config.alpn_protocols = HTTP.map(<[u8]>::to_vec).to_vec();
        Ok(Loaded { config: Arc::new(config), stamp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn files_are_read_again_when_they_change() {
        let folder = std::env::temp_dir().join(format!("switchboard-watch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = ServerFiles::new(folder.join("cert.pem"), folder.join("key.pem"));
        let write = || {
            let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
            std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
            // A new file, not the old one written over: the clock of a disk may be too coarse to tell.
            let _ = std::fs::remove_file(&files.certificate);
            std::fs::write(folder.join("new.pem"), made.cert.pem()).unwrap();
            std::fs::rename(folder.join("new.pem"), &files.certificate).unwrap();
        };
        write();
        let tls = ServerTls::load(files.clone()).unwrap();
        let before = tls.config();
        let watch = async || {
            let _ = tokio::time::timeout(LOOK_AGAIN * 3, tls.clone().watch()).await;
        };
        watch().await;
        assert!(Arc::ptr_eq(&before, &tls.config()), "nothing has changed");
        write();
        watch().await;
        assert!(!Arc::ptr_eq(&before, &tls.config()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
