//! The member `signature` of a message.

use serde::Serialize;
use switchboard_core::{Json, Kind};

use super::hex;
use super::key::{SigningAlgorithm, is_kid};

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
        // Valid ones have no escapes.
        let text = |value: Option<Option<&[u8]>>, is_valid: fn(&[u8]) -> bool, at| {
            let text = value.flatten().filter(|text| is_valid(text)).map(<[u8]>::to_vec);
            text.and_then(|text| String::from_utf8(text).ok()).ok_or(Malformed { at })
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
        Json::encode_ref(&self.written()).expect("texts and numbers can be written")
    }

    /// An object with the member `signature`.
    pub(super) fn to_members(&self) -> Option<Json> {
        #[derive(Serialize)]
        struct Members<'a> {
            signature: Written<'a>,
        }
        Json::encode_ref(&Members { signature: self.written() }).ok()
    }

    fn written(&self) -> Written<'_> {
        Written {
            v: 1,
            kid: &self.kid,
            aud: &self.aud,
            ts: self.ts,
            exp: self.exp,
            seq: self.seq,
            items: self.items,
            nonce: &self.nonce,
            session: self.session.as_deref(),
            sig: hex::encode(&self.sig),
        }
    }

    /// The algorithm that makes signatures of this length.
    pub(super) fn implied_algorithm(&self) -> SigningAlgorithm {
        match self.sig.len() {
            32 => SigningAlgorithm::HmacSha256,
            _ => SigningAlgorithm::Ed25519,
        }
    }
}

/// A member as it is written.
#[derive(Serialize)]
struct Written<'a> {
    v: u8,
    kid: &'a str,
    aud: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
    nonce: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    sig: String,
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
    (1..=256).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

pub(super) fn is_nonce(text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    (16..=64).contains(&text.len()) && is_token(text)
}

/// Whether these are the characters of a nonce.
pub(super) fn is_token(text: impl AsRef<[u8]>) -> bool {
    text.as_ref().iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'-'))
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
