//! The text that is signed.

use std::borrow::Cow;

use switchboard_core::{Call, Members, Metadata, Outgoing, RepeatedName, Version};

use super::hex;
use super::key::SigningAlgorithm;
use super::member::{Claim, Malformed, Member, is_visible};

/// The first line: domain and version.
const LABEL: &str = "switchboard-signature-v1";

/// Most texts are shorter, so that they need one allocation.
const USUAL_LENGTH: usize = 512;

/// The name of the metadata that holds the idempotency key.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What the signature of a request covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered<'a> {
    version: Version,
    id: Option<Cow<'a, str>>,
    method: Cow<'a, str>,
    /// The digest of the params.
    params: Option<hex::Digest>,
    idempotency: Option<Cow<'a, str>>,
}

impl<'a> Covered<'a> {
    /// What the signature of this call covers.
    ///
    /// # Errors
    ///
    /// If the call has something that cannot be a line of the text.
    pub fn of_call(call: &'a Call) -> Result<Covered<'a>, Malformed> {
        let idempotency = idempotency_key(call.cx.metadata())?;
        let params = call.params.as_ref().map(switchboard_core::Json::as_bytes);
        let id = call.id().map(switchboard_core::Id::as_str);
        Covered::new(call.cx.version, id, call.method.as_str(), params, idempotency)
    }

    /// What the signature of a request covers that is about to be sent.
    ///
    /// # Errors
    ///
    /// If the request has something that cannot be a line of the text.
    pub fn of_outgoing(outgoing: &Outgoing<'a>, metadata: &'a Metadata) -> Result<Covered<'a>, Malformed> {
        let idempotency = idempotency_key(metadata)?;
        let params = match (outgoing.params, outgoing.version) {
            (Some(params), _) => Some(params.as_bytes()),
            // It is written like this.
            (None, Version::V1) => Some(&b"[]"[..]),
            (None, Version::V2) => None,
        };
        let id = outgoing.id.map(switchboard_core::Id::as_str);
        Covered::new(outgoing.version, id, outgoing.method.as_str(), params, idempotency)
    }

    pub(super) fn new(
        version: Version,
        id: Option<&'a str>,
        method: &'a str,
        params: Option<&[u8]>,
        idempotency: Option<&'a str>,
    ) -> Result<Covered<'a>, Malformed> {
        let id = match (version, id) {
            // A notification of 1.0.
            (Version::V1, None) => Some("null"),
            (_, id) => id,
        };
        if id.is_some_and(|id| id.starts_with(['[', '{'])) {
            return Err(Malformed { at: "/id" });
        }
        check_method(method)?;
        Ok(Covered {
            version,
            id: id.map(Cow::Borrowed),
            method: Cow::Borrowed(method),
            params: params.map(hex::sha256),
            idempotency: idempotency.map(Cow::Borrowed),
        })
    }

    /// The same with the digest of other params.
    pub(super) fn with_params(mut self, params: &[u8]) -> Covered<'a> {
        self.params = Some(hex::sha256(params));
        self
    }

    /// The same, sharing nothing.
    pub(super) fn into_owned(self) -> Covered<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Covered {
            version: self.version,
            id: self.id.map(owned),
            method: owned(self.method),
            params: self.params,
            idempotency: self.idempotency.map(owned),
        }
    }

    /// The version.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// The identifier as it is written; none if there is none.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The method.
    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// The text of a request with this member.
    #[must_use]
    pub fn request_text(&self, member: &Member, algorithm: SigningAlgorithm) -> SignedText {
        self.claimed_text(&member.claim(), algorithm)
    }

    /// The text of a request with this claim.
    pub(super) fn claimed_text(&self, claim: &Claim<'_>, algorithm: SigningAlgorithm) -> SignedText {
        SignedText::head("request", claim, algorithm).request(self)
    }

    /// The text of a call in the tutorials' form.
    pub(super) fn params_text(&self, member: &Member, algorithm: SigningAlgorithm) -> SignedText {
        SignedText::head("params", &member.claim(), algorithm).request(self)
    }

    /// The same for a call that had another identifier and another method before it was forwarded.
    pub(super) fn with_originals(
        mut self,
        id: Option<&'a str>,
        method: &'a str,
    ) -> Result<Covered<'a>, Malformed> {
        check_method(method)?;
        (self.id, self.method) = (id.map(Cow::Borrowed), Cow::Borrowed(method));
        Ok(self)
    }

    /// The text of a call that a gateway forwards.
    pub(super) fn hop_text(
        &self,
        member: &Member,
        algorithm: SigningAlgorithm,
        inner: &str,
        sub: &str,
    ) -> SignedText {
        SignedText::head("hop", &member.claim(), algorithm)
            .request(self)
            .line("\ninner=", inner)
            .line("\nsub=", sub)
    }

    /// The text of a batch of these.
    #[must_use]
    pub fn batch_text(entries: &[Covered<'_>], member: &Member, algorithm: SigningAlgorithm) -> SignedText {
        let head = SignedText::head("batch", &member.claim(), algorithm);
        let head = head.line("\nentries=", entries.len().to_string());
        entries.iter().fold(head, SignedText::request)
    }
}

/// What the signature of a response covers, and which request it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredResponse<'a> {
    pub(super) version: Version,
    /// As the client signed it.
    pub(super) id: &'a str,
    /// The digest of the request's text.
    pub(super) request: &'a [u8],
    /// How many items a stream had that it ends.
    pub(super) items: Option<u64>,
    pub(super) outcome: Result<&'a [u8], &'a [u8]>,
}

impl CoveredResponse<'_> {
    pub(super) fn text(&self, claim: &Claim<'_>, algorithm: SigningAlgorithm) -> SignedText {
        let text = SignedText::head("response", claim, algorithm)
            .line("\nversion=", version_name(self.version))
            .line("\nid=", self.id)
            .line("\nrequest=", self.request)
            .number("\nitems=", self.items);
        match self.outcome {
            Ok(result) => text.line("\nresult=", hex::sha256(result)).line("\nerror=", ""),
            Err(error) => text.line("\nresult=", "").line("\nerror=", hex::sha256(error)),
        }
    }
}

/// What the signature of a stream's item covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredItem<'a> {
    pub(super) version: Version,
    pub(super) request: &'a [u8],
    /// Of the notification; empty if items travel as responses.
    pub(super) method: &'a str,
    pub(super) item: &'a [u8],
    /// Its number.
    pub(super) seq: Option<u64>,
}

impl CoveredItem<'_> {
    pub(super) fn text(
        &self,
        claim: &Claim<'_>,
        algorithm: SigningAlgorithm,
    ) -> Result<SignedText, Malformed> {
        check_method(self.method)?;
        Ok(SignedText::head("item", claim, algorithm)
            .line("\nversion=", version_name(self.version))
            .line("\nrequest=", self.request)
            .number("\nseq=", self.seq)
            .line("\nmethod=", self.method)
            .line("\nitem=", hex::sha256(self.item)))
    }
}

/// A text to sign or to verify.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedText(Vec<u8>);

impl SignedText {
    /// A text of another format.
    pub(super) fn of(text: String) -> SignedText {
        SignedText(text.into_bytes())
    }

    #[inline(always)]
    fn head(kind: &'static str, claim: &Claim<'_>, algorithm: SigningAlgorithm) -> SignedText {
        SignedText(Vec::with_capacity(USUAL_LENGTH))
            .line(LABEL, "")
            .line("\nkind=", kind)
            .line("\nalg=", algorithm.name())
            .line("\nkid=", claim.kid)
            .line("\naud=", claim.aud)
            .number("\nts=", claim.ts)
            .number("\nexp=", claim.exp)
            .line("\nnonce=", claim.nonce)
            .line("\nsession=", claim.session.unwrap_or_default())
    }

    /// Adds the five lines of a request.
    #[inline]
    fn request(self, covered: &Covered<'_>) -> SignedText {
        let text = self
            .line("\nversion=", version_name(covered.version))
            .line("\nid=", covered.id.as_deref().unwrap_or(""))
            .line("\nmethod=", covered.method.as_ref())
            .line("\nparams=", covered.params.as_ref().map(hex::Digest::as_bytes).unwrap_or_default());
        text.line("\nidempotency=", covered.idempotency.as_deref().unwrap_or(""))
    }

    /// Adds a line, which begins with a line break and its name. The values have no line breaks: their forms were checked.
    #[inline(always)]
    fn line(mut self, name: &'static str, value: impl AsRef<[u8]>) -> SignedText {
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(value.as_ref());
        self
    }

    /// The same with a number, which may be missing.
    #[inline(always)]
    fn number(self, name: &'static str, value: Option<u64>) -> SignedText {
        let Some(number) = value else { return self.line(name, "") };
        let mut digits = [0; 20];
        self.line(name, write_digits(number, &mut digits))
    }

    /// The value of a line.
    pub(super) fn line_of(&self, name: &str) -> Option<&str> {
        self.as_str().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    }

    /// The text as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a text is made of texts")
    }

    /// Its SHA-256, in lower-case hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        self.sha256().as_str().to_owned()
    }

    /// The same without an allocation.
    pub(super) fn sha256(&self) -> hex::Digest {
        hex::sha256(self.as_bytes())
    }
}

/// Writes a number at the end of this room.
fn write_digits(mut number: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut start = room.len();
    // Two digits at a time take half as many divisions.
    while number >= 10 {
        let pair = (number % 100) as u8;
        number /= 100;
        start -= 2;
        (room[start], room[start + 1]) = (b'0' + pair / 10, b'0' + pair % 10);
    }
    if number > 0 || start == room.len() {
        start -= 1;
        room[start] = b'0' + number as u8;
    }
    &room[start..]
}

/// Shows the digest: the text tells what was called.
impl std::fmt::Debug for SignedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignedText({})", &self.digest()[..8])
    }
}

/// The idempotency key of a call with this metadata.
pub(crate) fn idempotency_key(metadata: &Metadata) -> Result<Option<&str>, Malformed> {
    let wrong = Malformed { at: "/metadata/idempotency-key" };
    let Some(value) = metadata.single(IDEMPOTENCY_KEY).map_err(|RepeatedName| wrong)? else {
        return Ok(None);
    };
    std::str::from_utf8(value).ok().filter(|text| is_visible(text)).map(Some).ok_or(wrong)
}

/// The member `signature` of a call.
pub(super) fn member_of(call: &Call) -> Option<switchboard_core::Json> {
    call.cx.get::<Members>()?.0.get("signature")
}

fn check_method(method: &str) -> Result<(), Malformed> {
    let is_control = |byte: u8| byte < b' ' || byte == 0x7f;
    if method.bytes().any(is_control) { Err(Malformed { at: "/method" }) } else { Ok(()) }
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::V1 => "1.0",
        Version::V2 => "2.0",
    }
}
