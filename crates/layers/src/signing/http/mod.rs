//! Signatures of HTTP messages: a profile of RFC 9421 with the digests of RFC 9530.
//!
//! Such a signature covers a request as a whole: method, address, content type and, through its digest, the body. Standard tools can make
//! and check it. It ends where HTTP ends, so the member `signature` is the better choice if a gateway or a queue is on the way.

mod base;
mod client;
mod fields;
mod response;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use switchboard_core::{Metadata, RequestHead};

use self::base::{Seen, SeenRequest, authority};
pub(crate) use self::client::HttpSeal;
use self::fields::{CONTENT_DIGEST, DIGEST, HttpSignature, SIGNATURE, SIGNATURE_INPUT, field, is_digest_of};
pub(super) use self::response::ResponseSigner;
use super::member::Member;
use super::verifier::{AcceptedSignature, Reason, Verifier};

/// The tag of our profile.
const REQUEST_TAG: &str = "switchboard-v1";
const RESPONSE_TAG: &str = "switchboard-v1-response";

/// What a refusal asks for.
pub(super) const ACCEPT_SIGNATURE: &str = "sb=(\"@method\" \"@authority\" \"@path\" \"content-type\" \"content-digest\");created;nonce;keyid;tag=\"switchboard-v1\"";

/// A request with a signature.
#[derive(Debug)]
pub(super) struct SignedRequest {
    /// The signature in the form of a member.
    pub(super) member: Member,
    signature: HttpSignature,
}

impl SignedRequest {
    /// Reads the signature of a request; none if it has none with our tag. The audience is the one of these with the same host and port.
    pub(super) fn read(
        head: &RequestHead,
        headers: &Metadata,
        audiences: &[String],
    ) -> Result<Option<SignedRequest>, Reason> {
        let Some(signature) = HttpSignature::find(headers, REQUEST_TAG)? else { return Ok(None) };
        if !(SeenRequest { head, headers }).is_covered_by(&signature.components) {
            return Err(Reason::Malformed(super::Malformed { at: "Signature-Input" }));
        }
        let authority = authority(head);
        let is_its = |audience: &&String| authority_of(audience).is_some_and(|of| of == authority);
        let member = Member {
            kid: signature.keyid.clone(),
            aud: audiences.iter().find(is_its).cloned().unwrap_or(authority),
            ts: Some(signature.created),
            exp: signature.expires,
            nonce: signature.nonce.clone(),
            session: None,
            seq: None,
            items: None,
            sig: signature.bytes.clone(),
        };
        Ok(Some(SignedRequest { member, signature }))
    }

    /// Verifies it.
    pub(super) fn verify(
        &self,
        head: &RequestHead,
        headers: &Metadata,
        body: &[u8],
        verifier: &Verifier,
    ) -> Result<AcceptedSignature, Reason> {
        let HttpSignature { components, params, alg, .. } = &self.signature;
        let seen = Seen { request: SeenRequest { head, headers }, response: None };
        let text = seen.text(components, params)?;
        let digest = field(headers, CONTENT_DIGEST).ok_or(DIGEST)?;
        let has_digest = is_digest_of(&digest, body)?;
        let verified = verifier.verify(&self.member, None, |_| text);
        let is_algorithm = |accepted: &AcceptedSignature| {
            alg.as_deref().is_none_or(|alg| alg == accepted.key.algorithm().name())
        };
        match verified {
            Err(reason @ Reason::UnknownKey) => Err(reason),
            _ if !has_digest => Err(Reason::BadSignature),
            Ok(accepted) if !is_algorithm(&accepted) => Err(Reason::BadSignature),
            verified => verified,
        }
    }
}

/// The host and the port of an audience, as texts have them.
fn authority_of(audience: &str) -> Option<String> {
    let (scheme, rest) = audience.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let scheme = if matches!(scheme, "https" | "wss") { "https" } else { "http" };
    Some(authority(&RequestHead::new("", scheme, host, "", None)))
}

/// The parameters of a signature over these components.
fn params(components: &str, created: u64, nonce: &str, keyid: &str, tag: &str) -> String {
    format!("({components});created={created};nonce=\"{nonce}\";keyid=\"{keyid}\";tag=\"{tag}\"")
}

/// The headers of a message with this signature.
fn headers(params: &str, signature: &[u8], digest: String) -> Metadata {
    let mut headers = Metadata::default();
    headers.insert(CONTENT_DIGEST, digest);
    headers.insert(SIGNATURE_INPUT, format!("sb={params}"));
    headers.insert(SIGNATURE, format!("sb=:{}:", STANDARD.encode(signature)));
    headers
}

/// The head of a request, shared by what checks its response.
type SharedHead = Arc<RequestHead>;
