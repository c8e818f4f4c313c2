//! The proven identity of a caller.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::digest::{SHA256, digest};
use switchboard_core::PeerCertificate;

use super::der::{Reader, tag};

/// The contents of this certificate, given in DER. It was verified before. Parts that cannot be read are left out;
/// the fingerprint is always there.
#[must_use]
pub fn read_certificate(certificate: &[u8]) -> PeerCertificate {
    let mut identity = PeerCertificate::default();
    identity.fingerprint =
        digest(&SHA256, certificate).as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    // Nothing to do about a certificate that cannot be read further.
    let _ = fill(&mut identity, certificate);
    identity
}

fn fill(identity: &mut PeerCertificate, certificate: &[u8]) -> Option<()> {
    let mut fields = Reader(certificate).enter(tag::SEQUENCE)?.enter(tag::SEQUENCE)?;
    fields.take(tag::VERSION);
    // Serial number, algorithm, issuer, validity.
    for _ in 0..4 {
        fields.next()?;
    }
    identity.subject = subject(fields.enter(tag::SEQUENCE)?);
    while let Some((found, content)) = fields.next() {
        if found == tag::EXTENSIONS {
            let mut extensions = Reader(content).enter(tag::SEQUENCE)?;
            while let Some(extension) = extensions.enter(tag::SEQUENCE) {
                read_extension(identity, extension);
            }
        }
    }
    Some(())
}

fn read_extension(identity: &mut PeerCertificate, mut extension: Reader<'_>) -> Option<()> {
    const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
    let is_names = extension.take(tag::OBJECT)? == ALTERNATIVE_NAMES;
    extension.take(tag::BOOLEAN);
    let mut names = extension.enter(tag::OCTETS)?.enter(tag::SEQUENCE)?;
    while is_names && let Some((kind, content)) = names.next() {
        let text = || String::from_utf8(content.to_vec()).ok();
        match kind {
            0x81 => identity.emails.extend(text()),
            0x82 => identity.dns_names.extend(text()),
            0x86 => identity.uris.extend(text()),
            0x87 => identity.addresses.extend(address(content)),
            _ => {}
        }
    }
    Some(())
}
fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(|octets| Ipv4Addr::from(octets).into());
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(|octets| Ipv6Addr::from(octets).into())).ok()
}

fn subject(mut parts: Reader<'_>) -> String {
    let mut text = String::new();
    while let Some(mut set) = parts.enter(tag::SET) {
        let mut separator = ',';
        while let Some(mut pair) = set.enter(tag::SEQUENCE) {
            let (Some(kind), Some((_, value))) = (pair.take(tag::OBJECT), pair.next()) else { continue };
            if !text.is_empty() {
                text.push(separator);
            }
            // Several values of one part are joined as RFC 4514 has it.
            separator = '+';
            text.push_str(&attribute(kind));
            text.push('=');
            for character in String::from_utf8_lossy(value).chars() {
                match character {
                    ',' | '+' | '=' | '\\' => text.extend(['\\', character]),
                    control if control.is_control() => text.push('\u{fffd}'),
                    other => text.push(other),
                }
            }
        }
    }
    text
}

/// The short name of a kind of attribute, or its number.
fn attribute(kind: &[u8]) -> String {
    let name = match kind {
        [0x55, 0x04, 0x03] => "CN",
        [0x55, 0x04, 0x05] => "SERIALNUMBER",
        [0x55, 0x04, 0x06] => "C",
        [0x55, 0x04, 0x07] => "L",
        [0x55, 0x04, 0x08] => "ST",
        [0x55, 0x04, 0x0a] => "O",
        [0x55, 0x04, 0x0b] => "OU",
        _ => return kind.iter().fold("#".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn the_names_of_a_certificate_are_read() {
        let mut params = CertificateParams::new(vec!["a.example".to_owned(), "10.0.0.1".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::URI("spiffe://example.org/a".try_into().unwrap()));
        params.subject_alt_names.push(SanType::Rfc822Name("a@a.example".try_into().unwrap()));
        params.distinguished_name.push(DnType::CommonName, "alice, the first");
        params.distinguished_name.push(DnType::OrganizationName, "Example");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let found = read_certificate(certificate.der());
        assert_eq!(found.subject, "CN=alice\\, the first,O=Example");
        assert_eq!(found.dns_names, ["a.example"]);
        assert_eq!(found.addresses, [IpAddr::from([10, 0, 0, 1])]);
        assert_eq!(
            (found.uris, found.emails),
            (vec!["spiffe://example.org/a".into()], vec!["a@a.example".into()])
        );
        assert_eq!(found.fingerprint.len(), 64);
    }

    #[test]
    fn a_certificate_cut_or_changed_anywhere_is_read_as_far_as_it_goes() {
        let certificate = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap().cert;
        let whole = certificate.der();
        for end in 0..whole.len() {
            let _ = read_certificate(&whole[..end]);
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = whole.to_vec();
                changed[end] ^= flip;
                let _ = read_certificate(&changed);
            }
        }
    }
}
