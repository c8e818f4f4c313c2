//! Common TLS mistakes, in plain words.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Why TLS failed, in words that help to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Explained {
    pub(crate) text: String,
    /// Whether it fails again until the setup changes: a certificate, a host, a port.
    pub(crate) is_permanent: bool,
}

/// What a failure to speak TLS with this host means.
pub(crate) fn explain(error: &io::Error, host: &str) -> Explained {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let text = match tls {
        Some(Error::InvalidCertificate(problem)) => certificate(problem, host),
        Some(Error::AlertReceived(alert)) => alerted(*alert, host),
        Some(Error::InvalidMessage(_)) => {
            format!("{host} does not use TLS on this port; check the port, or use the scheme without TLS")
        }
        Some(other) => format!("cannot negotiate TLS with {host}: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{host} closed the connection during the TLS handshake")
        }
        None => format!("TLS with {host} failed: {error}"),
    };
    // What the network does may pass; what the two sides think of each other stays.
    let is_permanent =
        tls.is_some_and(|error| !matches!(error, Error::AlertReceived(alert) if may_pass(*alert)));
    Explained { text, is_permanent }
}

/// Whether a server that says this may say something else the next time.
fn may_pass(alert: AlertDescription) -> bool {
    use AlertDescription as A;
    matches!(alert, A::InternalError | A::CloseNotify | A::UserCanceled | A::Unknown(_))
}

fn certificate(problem: &CertificateError, host: &str) -> String {
    use CertificateError as E;
    match problem {
        E::NotValidForNameContext { presented, .. } if !presented.is_empty() => format!(
            "the certificate is for {}, not for {host}; check the host",
            presented.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
        ),
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            format!("the certificate is not for {host}; check the host")
        }
        E::Expired | E::ExpiredContext { .. } => {
            format!(
                "the certificate of {host} has expired; renew it on the server (or check this machine's clock)"
            )
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            format!("the certificate of {host} is not valid yet; check this machine's clock")
        }
        // An authority that was made anew, under its old name, did not sign what the old one did.
        E::UnknownIssuer | E::BadSignature => format!(
            "the certificate of {host} comes from an issuer that is not trusted; if you trust it, add the issuer's \
             certificate"
        ),
        // What `openssl req -x509` makes by default. The error has no type that can be named here.
        E::Other(problem) if format!("{problem:?}").contains("CaUsedAsEndEntity") => format!(
            "the certificate of {host} is a CA certificate, which a server must not use; make a server certificate \
             (basicConstraints=CA:FALSE)"
        ),
        E::Revoked => format!("the certificate of {host} has been revoked"),
        other => format!("the certificate of {host} cannot be used: {other}"),
    }
}

/// A name as rustls shows it: `DnsName("a.example")`.
fn plain(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}

fn alerted(alert: AlertDescription, host: &str) -> String {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => format!("{host} requires a client certificate; give one with its key"),
        A::UnknownCA
        | A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateUnknown
        | A::DecryptError => {
            format!("{host} rejected our client certificate; the server may not trust its issuer")
        }
        A::CertificateExpired | A::CertificateRevoked => {
            format!("{host} rejected our client certificate as expired or revoked; renew it")
        }
        A::UnrecognisedName => format!("{host} does not serve that name"),
        A::NoApplicationProtocol => format!("{host} does not speak HTTP over this port"),
        other => format!("{host} refused the TLS connection: {other:?}"),
    }
}
