//! The member `signature` of a message.

use std::ops::RangeInclusive;

use switchboard_core::{Json, Kind, ObjectWriter};

use super::hex;
use super::key::SigningAlgorithm;

/// What is not as it has to be, as a JSON pointer. It depends on the bytes of the message only, so callers may learn it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is malformed at {at}")]
#[non_exhaustive]
pub struct Malformed {
    /// Where.
    pub at: &'static str,
}

/// The member `signature` of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The name of the key.
    pub kid: String,
    /// For whom the message is: a server's address, or the key of the request that a response answers.
    pub aud: String,
    /// When it was signed, in seconds since 1970. None in the tutorials' form without a timestamp.
    pub ts: Option<u64>,
    /// When it expires, if earlier than usual.
    pub exp: Option<u64>,
    /// Makes the message unique.
    pub nonce: String,
    /// The session that the message belongs to.
    pub session: Option<String>,
    /// The number of a stream's item.
    pub seq: Option<u64>,
    /// How many items a stream had.
    pub items: Option<u64>,
    /// The signature, in bytes.
    pub sig: Vec<u8>,
}

/// What verification needs of a member: borrowed from one, or from the text of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<'a> {
    pub(super) kid: &'a [u8],
    pub(super) aud: &'a [u8],
    pub(super) ts: Option<u64>,
    pub(super) exp: Option<u64>,
    pub(super) nonce: &'a [u8],
    pub(super) session: Option<&'a [u8]>,
    pub(super) sig: &'a [u8],
}

/// Most members are shorter, so that they need one allocation.
const USUAL_LENGTH: usize = 384;

impl Claim<'_> {
    /// An object with the member `signature`, which has this number of an item of a stream, if it has one.
    pub(super) fn to_members(self, seq: Option<u64>, items: Option<u64>) -> Json {
        let members = ObjectWriter::with_capacity(USUAL_LENGTH);
        members.object("signature", |member| self.write(member, seq, items)).finish()
    }

    fn write(self, member: ObjectWriter, seq: Option<u64>, items: Option<u64>) -> ObjectWriter {
        let text = |member: ObjectWriter, name, value: &[u8]| {
            // Nothing that is not text was read or can be signed.
            member.text(name, str::from_utf8(value).unwrap_or_default())
        };
        let number = |member: ObjectWriter, name, value: Option<u64>| match value {
            Some(value) => member.number(name, value),
            None => member,
        };
        let mut member = text(member.number("v", 1), "kid", self.kid);
        member = text(member, "aud", self.aud);
        for (name, value) in [("ts", self.ts), ("exp", self.exp), ("seq", seq), ("items", items)] {
            member = number(member, name, value);
        }
        member = text(member, "nonce", self.nonce);
        if let Some(session) = self.session {
            member = text(member, "session", session);
        }
        let mut digits = [0; 128];
        text(member, "sig", hex::write(self.sig, &mut digits))
    }

    /// The algorithm that makes signatures of this length.
    pub(super) fn implied_algorithm(&self) -> SigningAlgorithm {
        match self.sig.len() {
            32 => SigningAlgorithm::HmacSha256,
            _ => SigningAlgorithm::Ed25519,
        }
    }

    /// A member that claims this, for what needs it for longer.
    pub(super) fn to_member(self) -> Member {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Member {
            kid: text(self.kid),
            aud: text(self.aud),
            ts: self.ts,
            exp: self.exp,
            nonce: text(self.nonce),
            session: self.session.map(text),
            seq: None,
            items: None,
            sig: self.sig.to_vec(),
        }
    }
}

/// Which message a member belongs to; some have more to say than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Request,
    Response,
    Item,
}

impl Member {
    /// Reads the member of a request.
    ///
    /// # Errors
    ///
    /// If a part is missing, unknown or not of its form.
    pub fn of_request(json: &Json) -> Result<Member, Malformed> {
        Member::parse(json, Form::Request)
    }

    pub(super) fn parse(json: &Json, form: Form) -> Result<Member, Malformed> {
        let wrong = |at| Err(Malformed { at });
        if json.kind() != Kind::Object {
            return wrong("/signature");
        }
        let (mut v, mut ts, mut kid, mut aud, mut nonce, mut sig) = (None, None, None, None, None, None);
        let (mut exp, mut session, mut seq, mut items) = (None, None, None, None);
        for (name, value) in json.members() {
            let is_new = match &*name {
                b"v" => v.replace(value == b"1").is_none(),
                b"kid" => kid.replace(quoted(value)).is_none(),
                b"aud" => aud.replace(quoted(value)).is_none(),
                b"ts" => ts.replace(seconds(value)).is_none(),
                b"exp" => exp.replace(seconds(value)).is_none(),
                b"nonce" => nonce.replace(quoted(value)).is_none(),
                b"session" => session.replace(quoted(value)).is_none(),
                b"sig" => sig.replace(quoted(value).and_then(signature)).is_none(),
                b"seq" if form == Form::Item => seq.replace(seconds(value)).is_none(),
                b"items" if form == Form::Response => items.replace(seconds(value)).is_none(),
                // Nothing would cover it.
                _ => false,
            };
            if !is_new {
                return wrong("/signature");
            }
        }
        // Valid ones are ASCII and have no escapes.
        let text = |value: Option<Option<&[u8]>>, is_valid: fn(&[u8]) -> bool, at| {
            let text =
                value.flatten().filter(|text| is_valid(text)).and_then(|text| str::from_utf8(text).ok());
            text.map(str::to_owned).ok_or(Malformed { at })
        };
        let number = |value: Option<Option<u64>>, at| match value {
            Some(None) => Err(Malformed { at }),
            other => Ok(other.flatten()),
        };
        if v != Some(true) {
            return wrong("/signature/v");
        }
        let member = Member {
            kid: text(kid, |text| is_kid(text), "/signature/kid")?,
            aud: text(aud, |text| is_visible(text), "/signature/aud")?,
            ts: number(ts, "/signature/ts")?,
            exp: number(exp, "/signature/exp")?,
            nonce: text(nonce, |text| is_nonce(text), "/signature/nonce")?,
            session: match session {
                None => None,
                session => Some(text(session, |text| is_visible(text), "/signature/session")?),
            },
            seq: number(seq, "/signature/seq")?,
            items: number(items, "/signature/items")?,
            sig: sig.flatten().ok_or(Malformed { at: "/signature/sig" })?,
        };
        match form {
            _ if member.ts.is_none() => wrong("/signature/ts"),
            Form::Item if member.seq.is_none() => wrong("/signature/seq"),
            _ => Ok(member),
        }
    }

    /// The member as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        self.claim().write(ObjectWriter::with_capacity(USUAL_LENGTH), self.seq, self.items).finish()
    }

    /// What it claims.
    pub(super) fn claim(&self) -> Claim<'_> {
        Claim {
            kid: self.kid.as_bytes(),
            aud: self.aud.as_bytes(),
            ts: self.ts,
            exp: self.exp,
            nonce: self.nonce.as_bytes(),
            session: self.session.as_deref().map(str::as_bytes),
            sig: &self.sig,
        }
    }
}

/// The bytes between the quotes of a string.
fn quoted(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The content of a string without escapes.
pub(super) fn string(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(quoted(value)?).ok().filter(|inside| !inside.contains('\\'))
}

/// A whole number without sign, fraction, exponent or leading zeros.
pub(super) fn seconds(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 15 || value.len() > 1 && value[0] == b'0' {
        return None;
    }
    value
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

/// The bytes of a signature: 32 or 64.
pub(super) fn signature(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    hex::decode(text).filter(|bytes| matches!(bytes.len(), 32 | 64))
}

/// Whether this is 1 to 256 visible ASCII characters that need no escapes.
pub(super) fn is_visible(text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    VISIBLE_LENGTHS.contains(&text.len()) && are_all(VISIBLE, text)
}

pub(super) fn is_nonce(text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    NONCE_LENGTHS.contains(&text.len()) && is_token(text)
}

/// Whether these are the characters of a nonce.
pub(super) fn is_token(text: impl AsRef<[u8]>) -> bool {
    are_all(TOKEN, text.as_ref())
}

/// Whether this can be the name of a key.
pub(super) fn is_kid(text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    KID_LENGTHS.contains(&text.len()) && are_all(KID, text)
}

/// How long audiences and sessions may be.
pub(super) const VISIBLE_LENGTHS: RangeInclusive<usize> = 1..=256;
/// How long nonces may be.
pub(super) const NONCE_LENGTHS: RangeInclusive<usize> = 16..=64;
/// How long the names of keys may be.
pub(super) const KID_LENGTHS: RangeInclusive<usize> = 1..=64;

/// Visible ASCII characters that need no escapes.
pub(super) const VISIBLE: u8 = 1;
/// The characters of nonces: letters, digits, `_` and `-`.
pub(super) const TOKEN: u8 = 2;
/// Those of key names: the same, and dots.
pub(super) const KID: u8 = 4;

/// The classes of each character.
pub(super) const CLASSES: [u8; 256] = {
    let (mut classes, mut byte) = ([0; 256], 0_u8);
    while byte < 128 {
        let is_token = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let is_visible = byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        classes[byte as usize] = if is_visible { VISIBLE } else { 0 }
            | if is_token { TOKEN | KID } else { 0 }
            | if byte == b'.' { KID } else { 0 };
        byte += 1;
    }
    classes
};

/// Whether all characters are of this class. Looking each up is much faster than comparing it with ranges, and no branch depends on it.
fn are_all(class: u8, text: &[u8]) -> bool {
    text.iter().fold(class, |common, byte| common & CLASSES[usize::from(*byte)]) == class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &'static str, expected: Result<(), &str>) {
        let parsed = Member::of_request(&Json::parse(text).unwrap());
        assert_eq!(parsed.map(|_| ()).map_err(|malformed| malformed.at), expected, "{text}");
    }

    #[test]
    fn a_member_has_exactly_its_parts() {
        macro_rules! member {
            ($text:literal) => {
                concat!(
                    r#"{"v":1,"kid":"a","aud":"b","ts":1,"nonce":"0123456789abcdef","sig":"#,
                    r#""0000000000000000000000000000000000000000000000000000000000000000""#,
                    $text
                )
            };
        }
        check(member!("}"), Ok(()));
        check(member!(r#","exp":9,"session":"s"}"#), Ok(()));
        check(member!(r#","more":1}"#), Err("/signature"));
        check(member!(r#","seq":1}"#), Err("/signature"));
        check(member!(r#","items":1}"#), Err("/signature"));
        check(member!(r#","exp":09}"#).replace("09", "1e3").leak(), Err("/signature/exp"));
        check(member!(r#","session":"a b"}"#), Err("/signature/session"));
        check(member!("}").replace("\"v\":1", "\"v\":2").leak(), Err("/signature/v"));
        check(member!("}").replace("\"ts\":1,", "").leak(), Err("/signature/ts"));
        check(member!("}").replace("\"ts\":1", "\"ts\":-1").leak(), Err("/signature/ts"));
        check(member!("}").replace("\"kid\":\"a\"", "\"kid\":\"\\u0061\"").leak(), Err("/signature/kid"));
        check(member!("}").replace("0123456789abcdef", "0123456789abcde").leak(), Err("/signature/nonce"));
        check("1", Err("/signature"));
    }

    #[test]
    fn a_member_is_read_as_it_is_written() {
        let member = Member {
            kid: "a".to_owned(),
            aud: "https://a/?b".to_owned(),
            ts: Some(5),
            exp: Some(6),
            nonce: "0123456789abcdef".to_owned(),
            session: Some("s".to_owned()),
            seq: None,
            items: Some(3),
            sig: vec![7; 64],
        };
        assert_eq!(Member::parse(&member.to_json(), Form::Response), Ok(member));
    }
}
