//! Certificates and keys in files, and whether the files have changed.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::TlsError;

/// Files with certificates and keys are small; what is larger is none.
const LARGEST: u64 = 4 << 20;

/// The certificates of a file, at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(TlsError::Certificate(path.to_owned())),
    }
}

/// The first private key of a file.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| TlsError::Key(path.to_owned()))
}

/// The certificates of a file as those that are trusted to issue others.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|_| TlsError::Certificate(path.to_owned()))?;
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |error| TlsError::File { path: path.to_owned(), error };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if metadata.len() > LARGEST {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    std::fs::read(path).map_err(failed)
}

/// What tells a file from another that took its place. A file that cannot be looked at has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp(Vec<Option<(u64, Option<SystemTime>, u64)>>);

impl Stamp {
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Stamp {
        let stamp = |metadata: Metadata| (metadata.len(), metadata.modified().ok(), inode(&metadata));
        Stamp(paths.map(|path| std::fs::metadata(path).ok().map(stamp)).collect())
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
