//! An authority that issues certificates, and a folder for them that goes with it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use switchboard_transport::tls::{ClientFiles, ClientTls, ServerFiles, Trust};

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("switchboard-tls-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("authority {count}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.join("ca.pem"), issuer.pem()).unwrap();
        Authority { issuer, folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Issues a certificate for these hosts, after `change` has had its way with it; gives the files of certificate
    /// and key.
    pub(crate) fn issue(
        &self,
        name: &str,
        hosts: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (PathBuf, PathBuf) {
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (certificate_file, key_file) =
            (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        std::fs::write(&certificate_file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        (certificate_file, key_file)
    }

    /// The files of a server on this machine.
    pub(crate) fn server(&self) -> ServerFiles {
        let (certificate, key) = self.issue("server", &["127.0.0.1", "localhost"], |_| ());
        ServerFiles::new(certificate, key)
    }

    /// A client that trusts this authority, with this certificate.
    pub(crate) fn client(&self, certificate: Option<(PathBuf, PathBuf)>) -> ClientTls {
        let trust = Trust::Authority(self.file("ca.pem"));
        ClientTls::load(
            &ClientFiles::default().with_trust(trust).with_certificate(certificate).with_server_name(None),
        )
        .unwrap()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all::<&Path>(&self.folder);
    }
}
