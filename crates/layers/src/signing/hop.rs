//! The member `hop`: a gateway that changed the identifier or the method of a call says what they were.

use switchboard_core::{Call, Json};

use super::member::{Form, Malformed, Member, is_visible, string};
use super::text::{Covered, SignedText};
use super::{Key, SigningAlgorithm};

/// The signature of a gateway, and what it changed.
#[derive(Debug)]
pub(super) struct Hop {
    pub(super) member: Member,
    /// The identifier as its caller wrote it; none for a notification.
    id: Option<String>,
    /// The method as its caller wrote it.
    method: String,
    /// The caller that the gateway authenticated.
    pub(super) sub: Option<String>,
}

const HOP: Malformed = Malformed { at: "/hop" };

impl Hop {
    /// Reads the member: that of a request, with `method`, and with `id` and `sub` if there are any.
    pub(super) fn read(json: &Json) -> Result<Hop, Malformed> {
        let mut rest = String::new();
        let (mut id, mut method, mut sub) = (None, None, None);
        for (name, value) in json.members() {
            let is_new = match &*name {
                b"id" => id.replace(text(value).ok_or(HOP)?).is_none(),
                b"method" => {
                    method.replace(string(value).filter(|text| is_visible(text)).ok_or(HOP)?).is_none()
                }
                b"sub" => sub.replace(string(value).filter(|text| is_visible(text)).ok_or(HOP)?).is_none(),
                name => {
                    let comma = if rest.is_empty() { "" } else { "," };
                    let name = std::str::from_utf8(name).map_err(|_| HOP)?;
                    rest.push_str(&format!(
                        "{comma}\"{}\":{}",
                        name.escape_default(),
                        text(value).ok_or(HOP)?
                    ));
                    true
                }
            };
            if !is_new {
                return Err(HOP);
            }
        }
        let member = Json::parse(format!("{{{rest}}}")).map_err(|_| HOP)?;
        Ok(Hop {
            member: Member::parse(&member, Form::Request).map_err(|_| HOP)?,
            id: id.map(str::to_owned),
            method: method.ok_or(HOP)?.to_owned(),
            sub: sub.map(str::to_owned),
        })
    }

    /// What the end-to-end signature covers: the call as its caller wrote it.
    pub(super) fn original<'a>(&'a self, call: &'a Call) -> Result<Covered<'a>, Malformed> {
        Covered::of_call(call)?.with_originals(self.id.as_deref(), &self.method)
    }

    /// The text of the hop. `inner` is the digest of the end-to-end text, if the call has a signature.
    pub(super) fn text(
        &self,
        forwarded: &Covered<'_>,
        inner: &str,
        algorithm: SigningAlgorithm,
    ) -> SignedText {
        forwarded.hop_text(&self.member, algorithm, inner, self.sub.as_deref().unwrap_or(""))
    }

    /// Whether a key may forward this call: the method differs from the original by the key's prefix only.
    pub(super) fn is_allowed(&self, key: &Key, method: &str) -> bool {
        self.method.strip_prefix(key.prefix()) == Some(method)
    }
}

fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok()
}
