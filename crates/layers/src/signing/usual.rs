//! The usual signed call, read and checked without copies: a member `signature` with its six parts, and nothing else that signs the call.
//!
//! Anything else is left to [`Member::parse`](super::Member), which also finds out what is wrong.

use std::sync::Arc;

use switchboard_core::{Call, Members, ReplyFuture, Service};

use super::checks::Failure;
use super::hex;
use super::layer::Inner;
use super::member::{
    CLASSES, Claim, KID, KID_LENGTHS, NONCE_LENGTHS, TOKEN, VISIBLE, VISIBLE_LENGTHS, seconds,
};
use super::text::Covered;
use super::verifier::Reason;

/// The six parts of a member.
struct Usual<'a> {
    kid: &'a [u8],
    aud: &'a [u8],
    ts: u64,
    nonce: &'a [u8],
    sig: [u8; 32],
}

impl<'a> Usual<'a> {
    /// Reads members beside the params, which were checked to be JSON. None if there are others than `signature`, or it has other parts
    /// than usual.
    fn read(members: &'a [u8]) -> Option<Usual<'a>> {
        let mut rest = members.strip_prefix(b"{\"signature\":{")?;
        let (mut v, mut kid, mut aud, mut ts, mut nonce, mut sig) = (None, None, None, None, None, None);
        loop {
            let is_new = match after_space(rest) {
                [b'"', b'v', b'"', b':', value @ ..] => {
                    rest = after_space(value).strip_prefix(b"1")?;
                    v.replace(()).is_none()
                }
                [b'"', b'k', b'i', b'd', b'"', b':', value @ ..] => {
                    kid.replace(text(KID, value, &mut rest)?).is_none()
                }
                [b'"', b'a', b'u', b'd', b'"', b':', value @ ..] => {
                    aud.replace(text(VISIBLE, value, &mut rest)?).is_none()
                }
                [b'"', b't', b's', b'"', b':', value @ ..] => ts.replace(number(value, &mut rest)?).is_none(),
                [b'"', b'n', b'o', b'n', b'c', b'e', b'"', b':', value @ ..] => {
                    nonce.replace(text(TOKEN, value, &mut rest)?).is_none()
                }
                [b'"', b's', b'i', b'g', b'"', b':', value @ ..] => {
                    let (digits, after) = after_space(value).strip_prefix(b"\"")?.split_first_chunk()?;
                    rest = after.strip_prefix(b"\"")?;
                    sig.replace(hex::decode_array(digits)?).is_none()
                }
                _ => return None,
            };
            match after_space(rest) {
                _ if !is_new => return None,
                [b',', after @ ..] => rest = after,
                [b'}', b'}'] => break,
                _ => return None,
            }
        }
        v?;
        let (kid, aud, nonce) = (kid?, aud?, nonce?);
        let is_long_enough = KID_LENGTHS.contains(&kid.len())
            && VISIBLE_LENGTHS.contains(&aud.len())
            && NONCE_LENGTHS.contains(&nonce.len());
        is_long_enough.then_some(Usual { kid, aud, ts: ts?, nonce, sig: sig? })
    }

    fn claim(&self) -> Claim<'_> {
        let Usual { kid, aud, ts, nonce, sig } = self;
        Claim { kid, aud, ts: Some(*ts), exp: None, nonce, session: None, sig }
    }
}

/// A string of characters of this class.
fn text<'a>(class: u8, value: &'a [u8], rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let inside = after_space(value).strip_prefix(b"\"")?;
    let len = inside.iter().position(|byte| CLASSES[usize::from(*byte)] & class == 0)?;
    *rest = inside[len..].strip_prefix(b"\"")?;
    Some(&inside[..len])
}

fn number<'a>(value: &'a [u8], rest: &mut &'a [u8]) -> Option<u64> {
    let value = after_space(value);
    let len = value.iter().position(|byte| !byte.is_ascii_digit())?;
    *rest = &value[len..];
    seconds(&value[..len])
}

/// Without the space that many serialisers write after separators.
fn after_space(text: &[u8]) -> &[u8] {
    text.strip_prefix(b" ").unwrap_or(text)
}

impl Inner {
    /// Answers a call that is signed as usual. None if it is not.
    pub(super) fn answer_usual(
        self: &Arc<Inner>,
        inner: &Arc<dyn Service>,
        call: &Call,
    ) -> Option<ReplyFuture> {
        let usual = Usual::read(call.cx.get::<Members>()?.0.as_bytes())?;
        let (covered, claim) = (Covered::of_call(call).ok()?, usual.claim());
        let now = self.verifier.clock.seconds();
        let verified =
            self.verifier.verify_at(now, &claim, None, |algorithm| covered.claimed_text(&claim, algorithm));
        let checked = verified.and_then(|accepted| {
            self.check_time(claim.ts)?;
            if accepted.key.allows(&call.method) { Ok(accepted) } else { Err(Reason::OutOfScope) }
        });
        Some(match checked {
            Ok(accepted) => self.admit_usual(inner, call, &accepted, &claim, now),
            Err(reason) => {
                let member = Some(Box::new(claim.to_member()));
                ReplyFuture::ready(self.refuse(call, &Failure { reason, member, ..Failure::default() }))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use switchboard_core::Json;

    use super::super::Member;
    use super::*;

    const SIG: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn read(members: &str) -> Option<Member> {
        Usual::read(members.as_bytes()).map(|usual| usual.claim().to_member())
    }

    #[test]
    fn members_as_serialisers_write_them_are_usual() {
        let compact = format!(
            r#"{{"signature":{{"v":1,"kid":"a","aud":"https://b/","ts":1,"nonce":"0123456789abcdef","sig":"{SIG}"}}}}"#
        );
        assert!(read(&compact).is_some());
        // As `json.dumps` writes it; the space after the outer colon is not kept.
        let spaced = compact.replace(",\"", ", \"").replace("\":", "\": ").replacen(": {", ":{", 1);
        assert_eq!(read(&spaced), read(&compact));
        assert_eq!(read(&compact.replace("}}", "},\"hop\":{}}")), None);
        assert_eq!(read(&compact.replace("\"ts\":1", "\"ts\":1,\"exp\":2")), None);
    }

    proptest! {
        /// Whatever is read as usual is what the general way reads.
        #[test]
        fn what_is_usual_is_read_the_same_way(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    r#""v":1"#, r#""v":2"#, r#""v":10"#, r#""kid":"a.b-c_D"#, r#""kid":"a/b""#, r#""kid":"a.b-c_D""#,
                    r#""aud":"https://b/""#, r#""aud":"b c""#, r#""aud": "\u0061""#, r#""ts":17"#, r#""ts":017"#, r#""ts":1e3"#,
                    r#""ts":1234567890123456"#, r#""nonce":"0123456789abcdef""#, r#""nonce":"short""#,
                    r#""sig":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff""#,
                    r#""sig":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeefF""#,
                    r#""exp":1"#, r#" "nonce": "0123456789abcdefg""#, r#""seq":1"#,
                ]),
                4..8,
            ),
            usual in any::<bool>(),
        ) {
            let text = match usual {
                true => format!(r#""v":1,"kid":"a","aud":"b","ts":1,"nonce":"0123456789abcdef","sig":"{SIG}",{}"#, parts[0]),
                false => parts.join(","),
            };
            let members = format!("{{\"signature\":{{{text}}}}}");
            if let (Ok(json), Some(found)) = (Json::parse(members.clone()), read(&members)) {
                let expected = Member::of_request(&json.get("signature").expect("it is there"));
                prop_assert_eq!(Ok(found), expected);
            }
        }
    }
}
