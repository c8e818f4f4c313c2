//! What a caller presents to prove who it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use switchboard_core::{Context, Metadata, PeerCertificate, PeerCredentials, RepeatedName};

/// What a caller presents to prove who it is.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credential<'a> {
    /// A bearer token, as it was sent: it need not be text.
    Bearer(&'a [u8]),
    /// The value of the header `x-api-key`. A bearer token counts more; a name and a password, which browsers add to requests of a page
    /// by themselves, count less.
    ApiKey(&'a [u8]),
    /// A name and a password: what a browser asks its user for.
    Basic {
        /// The name.
        name: String,
        /// The password.
        password: String,
    },
    /// A client certificate, which TLS has checked.
    Certificate(&'a PeerCertificate),
    /// The user of the process at the other end of a Unix socket.
    Process(PeerCredentials),
    /// The process at the other end of standard input and output.
    Stdio,
}

/// A credential that outlives its call, for decisions that take time.
pub(super) enum OwnedCredential {
    Bearer(Box<[u8]>),
    ApiKey(Box<[u8]>),
    Basic { name: String, password: String },
    Certificate(PeerCertificate),
    Process(PeerCredentials),
    Stdio,
}

impl OwnedCredential {
    pub(super) fn borrowed(&self) -> Credential<'_> {
        match self {
            OwnedCredential::Bearer(token) => Credential::Bearer(token),
            OwnedCredential::ApiKey(key) => Credential::ApiKey(key),
            OwnedCredential::Basic { name, password } => {
                Credential::Basic { name: name.clone(), password: password.clone() }
            }
            OwnedCredential::Certificate(certificate) => Credential::Certificate(certificate),
            OwnedCredential::Process(process) => Credential::Process(*process),
            OwnedCredential::Stdio => Credential::Stdio,
        }
    }
}

/// A credential that cannot be read. It counts as a wrong one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl<'a> Credential<'a> {
    /// The credential of this context: the one sent with the call or the handshake, else the one that the transport knows.
    pub(crate) fn of(cx: &'a Context) -> Result<Option<Credential<'a>>, Unreadable> {
        let sent = Credential::of_metadata(cx.metadata());
        match &sent {
            Ok(Some(Credential::Basic { .. })) if !is_private(cx) => Err(Unreadable),
            Ok(None) => Ok(Credential::of_transport(cx)),
            _ => sent,
        }
    }

    /// The credential that the transport knows.
    #[inline(never)]
    fn of_transport(cx: &'a Context) -> Option<Credential<'a>> {
        let certificate = cx.get::<PeerCertificate>().map(Credential::Certificate);
        let process = || cx.get::<PeerCredentials>().copied().map(Credential::Process);
        certificate
            .or_else(process)
            .or_else(|| (cx.origin().transport == "stdio").then_some(Credential::Stdio))
    }

    /// A bearer token that is written as usual: seen at once, and before all others that may have been sent.
    #[inline(always)]
    pub(super) fn usual_token(metadata: &'a Metadata) -> Option<&'a [u8]> {
        let value = metadata.single("authorization").ok()??;
        value.strip_prefix(b"Bearer ").map(trimmed)
    }

    /// Whether a credential was sent with the call or the handshake, readable or not.
    pub(super) fn is_sent(cx: &Context) -> bool {
        !matches!(Credential::of_metadata(cx.metadata()), Ok(None))
    }

    /// Whether a token among the subprotocols counts more than what else was sent: nothing, or a name and a password, which browsers add
    /// to the handshake by themselves.
    pub(super) fn yields_to_subprotocol(cx: &Context) -> bool {
        matches!(Credential::of_metadata(cx.metadata()), Ok(None | Some(Credential::Basic { .. })))
    }

    /// Whether the transport vouches for it, so that an unknown one is not an attempt to guess.
    pub(super) fn is_ambient(&self) -> bool {
        matches!(self, Credential::Certificate(_) | Credential::Process(_) | Credential::Stdio)
    }

    pub(super) fn owned(&self) -> OwnedCredential {
        match self {
            Credential::Bearer(token) => OwnedCredential::Bearer((*token).into()),
            Credential::ApiKey(key) => OwnedCredential::ApiKey((*key).into()),
            Credential::Basic { name, password } => {
                OwnedCredential::Basic { name: name.clone(), password: password.clone() }
            }
            Credential::Certificate(certificate) => OwnedCredential::Certificate((*certificate).clone()),
            Credential::Process(process) => OwnedCredential::Process(*process),
            Credential::Stdio => OwnedCredential::Stdio,
        }
    }

    fn of_metadata(metadata: &'a Metadata) -> Result<Option<Credential<'a>>, Unreadable> {
        let key = || Ok(single(metadata, "x-api-key")?.map(|key| Credential::ApiKey(trimmed(key))));
        let Some(value) = single(metadata, "authorization")? else { return key() };
        let space = value.iter().position(|byte| *byte == b' ').ok_or(Unreadable)?;
        let (scheme, rest) = (&value[..space], trimmed(&value[space..]));
        match scheme {
            _ if scheme.eq_ignore_ascii_case(b"bearer") => Ok(Some(Credential::Bearer(rest))),
            _ if scheme.eq_ignore_ascii_case(b"basic") => match key()? {
                None => basic(rest).map(Some),
                key => Ok(key),
            },
            _ => Err(Unreadable),
        }
    }
}

/// Without spaces around it.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = value {
        value = rest;
    }
    value
}

/// The value of an entry, if there is one. Two are refused: a proxy that reads the other one would see another caller.
fn single<'a>(metadata: &'a Metadata, name: &str) -> Result<Option<&'a [u8]>, Unreadable> {
    metadata.single(name).map_err(|RepeatedName| Unreadable)
}

/// Whether the connection is private: over TLS, or on this machine. A browser sends a password with every request
/// to a server that asked for it, so it is asked for, and taken, only there (SEC-T-10).
pub(super) fn is_private(cx: &Context) -> bool {
    let origin = cx.origin();
    origin.transport == "https"
        || origin.address.is_none_or(|address| address.ip().to_canonical().is_loopback())
}

fn basic(text: &[u8]) -> Result<Credential<'static>, Unreadable> {
    let decoded = STANDARD.decode(text).map_err(|_| Unreadable)?;
    let decoded = String::from_utf8(decoded).map_err(|_| Unreadable)?;
    let (name, password) = decoded.split_once(':').ok_or(Unreadable)?;
    Ok(Credential::Basic { name: name.to_owned(), password: password.to_owned() })
}

/// Shows the kind. The rest is a secret.
impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Bearer(_) => "Bearer(..)",
            Credential::ApiKey(_) => "ApiKey(..)",
            Credential::Basic { .. } => "Basic(..)",
            Credential::Certificate(_) => "Certificate(..)",
            Credential::Process(_) => "Process(..)",
            Credential::Stdio => "Stdio",
        })
    }
}

#[cfg(test)]
mod tests {
    use switchboard_core::Origin;

    use super::*;

    fn read(transport: &'static str, address: &str, value: &'static str) -> Result<bool, Unreadable> {
        let origin = Origin::new(transport).with_address(address.parse().expect("an address"));
        let cx = Context::new(origin).with_metadata(Metadata::from_iter([("authorization", value)]));
        Credential::of(&cx).map(|credential| credential.is_some())
    }

    // SEC-T-10
    #[test]
    fn passwords_are_taken_over_tls_and_on_this_machine_only() {
        let basic = "Basic YWxpY2U6c2VjcmV0";
        assert_eq!(read("http", "127.0.0.1:1", basic), Ok(true));
        assert_eq!(read("https", "192.0.2.1:1", basic), Ok(true));
        assert_eq!(read("http", "192.0.2.1:1", basic), Err(Unreadable));
        assert_eq!(read("http", "192.0.2.1:1", "Bearer secret"), Ok(true));
    }

    #[test]
    fn a_token_counts_more_than_a_key_and_a_key_more_than_a_password() {
        let kind = |entries: &[(&'static str, &'static str)]| {
            let cx = Context::new(Origin::new("http")).with_metadata(entries.iter().copied().collect());
            Credential::of(&cx).map(|credential| format!("{credential:?}"))
        };
        assert_eq!(kind(&[("X-Api-Key", "k")]), Ok("Some(ApiKey(..))".to_owned()));
        let both = [("x-api-key", "k"), ("authorization", "Bearer t")];
        assert_eq!(kind(&both), Ok("Some(Bearer(..))".to_owned()));
        let added = [("x-api-key", "k"), ("authorization", "Basic YWxpY2U6c2VjcmV0")];
        assert_eq!(kind(&added), Ok("Some(ApiKey(..))".to_owned()));
        assert_eq!(kind(&added[1..]), Ok("Some(Basic(..))".to_owned()));
        assert_eq!(kind(&[("x-api-key", "k"), ("x-api-key", "k")]), Err(Unreadable));
        assert_eq!(kind(&[("x-api-key", "k"), ("authorization", "Digest x")]), Err(Unreadable));
    }

    #[test]
    fn other_credentials_cannot_be_read() {
        for value in ["", "Bearer", "Digest x", "Basic !", "Basic YWxpY2U="] {
            assert_eq!(read("http", "127.0.0.1:1", value), Err(Unreadable), "{value}");
        }
    }
}
