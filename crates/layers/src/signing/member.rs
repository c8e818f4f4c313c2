//! The member `signature` of a message.

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
                b"kid" => kid.replace(string(value)).is_none(),
                b"aud" => aud.replace(string(value)).is_none(),
                b"ts" => ts.replace(seconds(value)).is_none(),
                b"exp" => exp.replace(seconds(value)).is_none(),
                b"nonce" => nonce.replace(string(value)).is_none(),
                b"session" => session.replace(string(value)).is_none(),
                b"sig" => sig.replace(string(value).and_then(signature)).is_none(),
                b"seq" if form == Form::Item => seq.replace(seconds(value)).is_none(),
                b"items" if form == Form::Response => items.replace(seconds(value)).is_none(),
                // Nothing would cover it.
                _ => false,
            };
            if !is_new {
                return wrong("/signature");
            }
        }
        let text = |value: Option<Option<&str>>, is_valid: fn(&str) -> bool, at| {
            let text = value.flatten().filter(|text| is_valid(text)).ok_or(Malformed { at })?;
            Ok::<_, Malformed>(text.to_owned())
        };
        let number = |value: Option<Option<u64>>, at| match value {
            Some(None) => Err(Malformed { at }),
            other => Ok(other.flatten()),
        };
        if v != Some(true) {
            return wrong("/signature/v");
        }
        let member = Member {
            kid: text(kid, is_kid, "/signature/kid")?,
            aud: text(aud, is_visible, "/signature/aud")?,
            ts: number(ts, "/signature/ts")?,
            exp: number(exp, "/signature/exp")?,
            nonce: text(nonce, is_nonce, "/signature/nonce")?,
            session: match session {
                None => None,
                session => Some(text(session, is_visible, "/signature/session")?),
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
        let Member { kid, aud, nonce, .. } = self;
        let mut text = format!(r#"{{"v":1,"kid":"{kid}","aud":"{aud}""#);
        let mut number = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                text.push_str(&format!(r#","{name}":{value}"#));
            }
        };
        number("ts", self.ts);
        number("exp", self.exp);
        number("seq", self.seq);
        number("items", self.items);
        text.push_str(&format!(r#","nonce":"{nonce}""#));
        if let Some(session) = &self.session {
            text.push_str(&format!(r#","session":"{session}""#));
        }
        text.push_str(&format!(r#","sig":"{}"}}"#, hex::encode(&self.sig)));
        Json::parse(text).expect("the parts have no characters to escape")
    }

    /// The algorithm that makes signatures of this length.
    pub(super) fn implied_algorithm(&self) -> SigningAlgorithm {
        match self.sig.len() {
            32 => SigningAlgorithm::HmacSha256,
            _ => SigningAlgorithm::Ed25519,
        }
    }
}

/// The content of a string without escapes.
pub(super) fn string(value: &[u8]) -> Option<&str> {
    let [b'"', inside @ .., b'"'] = value else { return None };
    std::str::from_utf8(inside).ok().filter(|inside| !inside.contains('\\'))
}

/// A whole number without sign, fraction, exponent or leading zeros.
pub(super) fn seconds(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let is_plain = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    let has_zeros = text.len() > 1 && text.starts_with('0');
    if is_plain && !has_zeros { text.parse().ok() } else { None }
}

/// The bytes of a signature: 32 or 64.
pub(super) fn signature(text: &str) -> Option<Vec<u8>> {
    hex::decode(text).filter(|bytes| matches!(bytes.len(), 32 | 64))
}

/// Whether this is 1 to 256 visible ASCII characters that need no escapes.
pub(super) fn is_visible(text: &str) -> bool {
    (1..=256).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

pub(super) fn is_nonce(text: &str) -> bool {
    (16..=64).contains(&text.len()) && is_token(text)
}

/// Whether these are the characters of a nonce.
pub(super) fn is_token(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
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
