//! The header fields of HTTP signatures: `Signature-Input`, `Signature` and `Content-Digest`.

use aws_lc_rs::digest::{Algorithm, SHA256, SHA512, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sfv::{BareItem, Dictionary, FieldType as _, InnerList, Item, ListEntry, Parser};
use switchboard_core::Metadata;

use super::super::member::{Malformed, is_nonce};
use crate::signing::member::is_kid;

pub(crate) const SIGNATURE_INPUT: &str = "signature-input";
pub(crate) const SIGNATURE: &str = "signature";
pub(crate) const CONTENT_DIGEST: &str = "content-digest";

/// A signature of an HTTP message, as its fields describe it.
#[derive(Debug)]
pub(super) struct HttpSignature {
    /// What it covers, in order.
    pub(super) components: Vec<Component>,
    /// The list of components and the parameters, as they stand in the signed text.
    pub(super) params: String,
    pub(super) created: u64,
    pub(super) expires: Option<u64>,
    pub(super) nonce: String,
    pub(super) keyid: String,
    pub(super) alg: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// A part of a message that a signature covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub(super) name: String,
    /// Whether it is a part of the request that a response answers.
    pub(super) is_of_request: bool,
}

impl HttpSignature {
    /// The only signature with this tag; none if there is none.
    pub(super) fn find(headers: &Metadata, tag: &str) -> Result<Option<HttpSignature>, Malformed> {
        let Some(input) = field(headers, SIGNATURE_INPUT) else { return Ok(None) };
        let inputs = dictionary(&input).ok_or(INPUT)?;
        let mut found = inputs.iter().filter_map(|(label, entry)| match entry {
            ListEntry::InnerList(list) if text(list, "tag") == Some(tag) => Some((label, list)),
            _ => None,
        });
        let Some((label, list)) = found.next() else { return Ok(None) };
        if found.next().is_some() {
            return Err(INPUT);
        }
        let signatures = field(headers, SIGNATURE).and_then(|field| dictionary(&field)).ok_or(VALUE)?;
        let bytes = match signatures.get(label) {
            Some(ListEntry::Item(item)) if item.params.is_empty() => item.bare_item.as_byte_sequence(),
            _ => None,
        };
        let bytes = bytes.filter(|bytes| matches!(bytes.len(), 32 | 64)).ok_or(VALUE)?;
        HttpSignature::read(list, bytes.to_vec()).map(Some)
    }

    fn read(list: &InnerList, bytes: Vec<u8>) -> Result<HttpSignature, Malformed> {
        let known = ["created", "expires", "nonce", "keyid", "alg", "tag"];
        if list.params.keys().any(|key| !known.contains(&key.as_str())) {
            return Err(INPUT);
        }
        let seconds = |name: &str| match list.params.get(name) {
            None => Ok(None),
            Some(value) => match value.as_integer().map(i64::from).map(u64::try_from) {
                Some(Ok(seconds)) => Ok(Some(seconds)),
                _ => Err(INPUT),
            },
        };
        let nonce = text(list, "nonce").filter(|nonce| is_nonce(nonce)).ok_or(INPUT)?;
        let keyid = text(list, "keyid").filter(|keyid| is_kid(keyid)).ok_or(INPUT)?;
        let alg = match list.params.get("alg") {
            None => None,
            Some(_) => Some(text(list, "alg").ok_or(INPUT)?.to_owned()),
        };
        Ok(HttpSignature {
            components: components(&list.items)?,
            params: vec![ListEntry::InnerList(list.clone())].serialize().ok_or(INPUT)?,
            created: seconds("created")?.ok_or(INPUT)?,
            expires: seconds("expires")?,
            nonce: nonce.to_owned(),
            keyid: keyid.to_owned(),
            alg,
            bytes,
        })
    }
}

const INPUT: Malformed = Malformed { at: "Signature-Input" };
const VALUE: Malformed = Malformed { at: "Signature" };
pub(super) const DIGEST: Malformed = Malformed { at: "Content-Digest" };

/// What is covered. A component that stands twice, or has a parameter other than `req`, is refused.
fn components(items: &[Item]) -> Result<Vec<Component>, Malformed> {
    let mut components = Vec::with_capacity(items.len());
    for Item { bare_item, params } in items {
        let name = bare_item.as_string().ok_or(INPUT)?.as_str().to_owned();
        let is_of_request = match params.get("req") {
            Some(BareItem::Boolean(true)) => true,
            None => false,
            Some(_) => return Err(INPUT),
        };
        let component = Component { name, is_of_request };
        if params.len() != usize::from(is_of_request) || components.contains(&component) {
            return Err(INPUT);
        }
        components.push(component);
    }
    Ok(components)
}

fn text<'a>(list: &'a InnerList, name: &str) -> Option<&'a str> {
    Some(list.params.get(name)?.as_string()?.as_str())
}

fn dictionary(field: &str) -> Option<Dictionary> {
    Parser::new(field).parse().ok()
}

/// The value of a field: without spaces around it, and several joined with a comma. None if it is not there, or has other characters than
/// a signed text can have.
pub(super) fn field(headers: &Metadata, name: &str) -> Option<String> {
    let entries = headers.entries();
    let values = entries.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name));
    let values: Option<Vec<&str>> = values.map(|(_, value)| std::str::from_utf8(value).ok()).collect();
    let values = values.filter(|values| !values.is_empty())?;
    let joined = values.iter().map(|value| value.trim()).collect::<Vec<_>>().join(", ");
    joined.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')).then_some(joined)
}

/// The value of `Content-Digest` for a body.
pub(super) fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body)))
}

/// Whether every digest that we can compute is that of the body (SEC-S-23).
pub(super) fn is_digest_of(field: &str, body: &[u8]) -> Result<bool, Malformed> {
    const KNOWN: [(&str, &Algorithm); 2] = [("sha-256", &SHA256), ("sha-512", &SHA512)];
    let digests = dictionary(field).ok_or(DIGEST)?;
    let (mut count, mut is_right) = (0, true);
    for (name, algorithm) in KNOWN {
        let Some(entry) = digests.get(name) else { continue };
        let ListEntry::Item(item) = entry else { return Err(DIGEST) };
        let stated = item.bare_item.as_byte_sequence().ok_or(DIGEST)?;
        count += 1;
        is_right &= stated == digest(algorithm, body).as_ref();
    }
    if count > 0 { Ok(is_right) } else { Err(DIGEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(input: &str, signature: &str) -> Metadata {
        [(SIGNATURE_INPUT, input.to_owned()), (SIGNATURE, signature.to_owned())].into_iter().collect()
    }

    fn check(input: &str, expected: Result<bool, &str>) {
        let signature = format!("sb=:{}:", STANDARD.encode([7; 32]));
        let found = HttpSignature::find(&headers(input, &signature), "t");
        assert_eq!(found.map(|found| found.is_some()).map_err(|wrong| wrong.at), expected, "{input}");
    }

    // SEC-S-20, SEC-S-21
    #[test]
    fn a_signature_is_found_by_its_tag_and_has_nothing_unknown() {
        const REST: &str = "created=5;nonce=\"0123456789abcdef\";keyid=\"a\";tag=\"t\"";
        check(&format!("sb=(\"@method\");{REST}"), Ok(true));
        check(&format!("sb=(\"@method\");{REST};alg=\"ed25519\";expires=9, x=()"), Ok(true));
        check("sb=(\"@method\");created=5;nonce=\"0123456789abcdef\";keyid=\"a\"", Ok(false));
        let wrong = Err("Signature-Input");
        check(&format!("sb=(\"@method\" \"@method\");{REST}"), wrong);
        check(&format!("sb=(\"@method\";bs);{REST}"), wrong);
        check(&format!("sb=(\"@method\";req=?0);{REST}"), wrong);
        check(&format!("sb=(@method);{REST}"), wrong);
        check(&format!("sb=(\"@method\");{REST};more=1"), wrong);
        check(&format!("sb=(\"@method\");{REST}, other=(\"@method\");{REST}"), wrong);
        check(&format!("sb=(\"@method\");{}", REST.replace("created=5", "created=5.0")), wrong);
        check(&format!("sb=(\"@method\");{}", REST.replace("created=5", "created=-5")), wrong);
        check(&format!("sb=(\"@method\");{}", REST.replace("0123456789abcdef", "short")), wrong);
        check(&format!("other=(\"@method\");{REST}"), Err("Signature"));
    }

    #[test]
    fn a_digest_counts_if_it_can_be_computed() {
        let right = content_digest(b"body");
        assert_eq!(is_digest_of(&right, b"body"), Ok(true));
        assert_eq!(is_digest_of(&right, b"Body"), Ok(false));
        assert_eq!(is_digest_of(&format!("md5=:AAAA:, {right}"), b"body"), Ok(true));
        assert_eq!(is_digest_of("md5=:AAAA:", b"body"), Err(DIGEST));
        let wide = format!("sha-512=:{}:", STANDARD.encode(digest(&SHA512, b"body")));
        assert_eq!(is_digest_of(&format!("{right}, {wide}"), b"body"), Ok(true));
        assert_eq!(is_digest_of(&format!("{right}, sha-512=:AAAA:"), b"body"), Ok(false));
    }
}
