//! The key of a call: calls with equal keys may get the same answer.
//!
//! A key consists of the method, the canonical params, the members that the protocol does not define, the metadata that is forwarded, and who
//! calls unless answers are shared. Two params are equal if they differ only in
//! white space, in the order of object members, or in how the characters of a string are escaped: `{"a": 1, "b": "\u0041"}` equals
//! `{"b":"A","a":1}`. Everything else is different, because a method may treat it differently: `1`, `1.0` and `1e0`; `"é"` as one character
//! or as two; absent params, `[]` and `{}`; the same values by position and by name.

use std::borrow::Cow;

use switchboard_core::{AllowedNames, Call, Context, Json, Kind, Members};

#[cfg(feature = "identity")]
use crate::identity::Identity;

/// Values that are nested deeper than this are compared as they are written. So the depth of the recursion is bounded whatever the limits
/// of the server are.
const DEPTH: usize = 64;

/// Why a call without an identity has no key.
pub(crate) const NO_IDENTITY: &str =
    "answers are kept per caller, and anonymous callers cannot be told apart";

/// The key of a call. None if answers belong to their callers and this caller has no identity: callers without one cannot be told
/// apart, so nothing must be shared between them. `forwarded` names the metadata that the method learns.
pub(crate) fn key_of(call: &Call, is_shared: bool, forwarded: Option<&AllowedNames>) -> Option<Vec<u8>> {
    let params = call.params.as_ref();
    let mut key = Vec::with_capacity(64 + params.map_or(0, |params| params.as_bytes().len()));
    write_part(&mut key, call.method.as_bytes());
    key.push(u8::from(call.cx.wants_stream()));
    match is_shared {
        true => key.push(b'*'),
        false => write_caller(&mut key, &call.cx)?,
    }
    if let Some(names) = forwarded {
        write_metadata(&mut key, &call.cx, names);
    }
    let members = Members::of(&call.cx);
    key.push(u8::from(members.is_some()));
    if let Some(members) = members {
        let mut canonical = Vec::new();
        write_canonical(&mut canonical, members, 0);
        write_part(&mut key, &canonical);
    }
    // What comes last needs no length.
    if let Some(params) = params {
        write_canonical(&mut key, params, 0);
    }
    Some(key)
}

/// The key of the same call by a caller that accepts a stream, if this one does not, or the other way round.
#[cfg(feature = "cache")]
pub(crate) fn in_other_form(mut key: Vec<u8>) -> Vec<u8> {
    let at = size_of::<u32>() + method_of(&key).len();
    key[at] ^= 1;
    key
}

/// The method of the call with this key.
#[cfg(feature = "cache")]
pub(crate) fn method_of(key: &[u8]) -> &[u8] {
    let (length, rest) = key.split_first_chunk().expect("a key begins with the length of the method");
    &rest[..u32::from_le_bytes(*length) as usize]
}

/// Writes a part with its length, so that no two lists of parts look the same.
fn write_part(key: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).expect("a message is shorter than 4 GiB");
    key.extend_from_slice(&length.to_le_bytes());
    key.extend_from_slice(part);
}

/// Writes the metadata of a call that its method learns.
#[inline(never)]
fn write_metadata(key: &mut Vec<u8>, cx: &Context, names: &AllowedNames) {
    let metadata = cx.outgoing_metadata(names);
    let entries = metadata.entries().into_iter().filter(|(name, _)| names.contains(name));
    for (name, value) in entries {
        key.push(1);
        write_part(key, name.to_ascii_lowercase().as_bytes());
        write_part(key, value);
    }
    key.push(0);
}

/// Writes everything that a method may learn about its caller. The same caller with other roles, or with another token that makes other
/// claims, may get other answers. Only when the credential expires does not matter.
#[cfg(feature = "identity")]
fn write_caller(key: &mut Vec<u8>, cx: &Context) -> Option<()> {
    use switchboard_core::FromContext as _;

    let Identity { subject, proof, agent, roles, scopes, claims, expires: _, bound_to } =
        Identity::from_context(cx)?;
    key.push(b'a' + *proof as u8);
    write_part(key, subject.as_bytes());
    for list in [roles, scopes] {
        key.extend_from_slice(&list.len().to_le_bytes());
        list.iter().for_each(|text| write_part(key, text.as_bytes()));
    }
    let claims = claims.as_ref().map(Json::as_str);
    for text in [agent.as_deref(), bound_to.as_deref(), claims] {
        key.push(u8::from(text.is_some()));
        write_part(key, text.unwrap_or_default().as_bytes());
    }
    Some(())
}

/// Without the feature no caller has an identity.
#[cfg(not(feature = "identity"))]
fn write_caller(_: &mut Vec<u8>, _: &Context) -> Option<()> {
    None
}

/// Writes a value in the one form that all equal values have: without white space, with the members of objects sorted by their names, and with
/// no more escapes than needed. Members with the same name keep their order, which may matter.
fn write_canonical(out: &mut Vec<u8>, json: &Json, depth: usize) {
    let text = json.as_bytes();
    if is_canonical(text) || depth == DEPTH {
        return out.extend_from_slice(text);
    }
    match json.kind() {
        Kind::Object => {
            let mut members: Vec<(Cow<'_, str>, Json)> = json.entries().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            write_list(out, [b'{', b'}'], members.iter(), |out, (name, value)| {
                write_string(out, name);
                out.push(b':');
                write_canonical(out, value, depth + 1);
            });
        }
        Kind::Array => {
            write_list(out, [b'[', b']'], json.elements(), |out, value| {
                write_canonical(out, &value, depth + 1);
            });
        }
        Kind::String if text.contains(&b'\\') => {
            write_string(out, &json.decode::<String>().expect("it was checked to be a string"));
        }
        _ => out.extend_from_slice(text),
    }
}

/// Params in the form that all equal ones have, as text.
#[cfg(feature = "cache")]
pub(crate) fn canonical(params: Option<&Json>) -> String {
    let mut out = Vec::new();
    if let Some(params) = params {
        write_canonical(&mut out, params, 0);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether the text is surely canonical: most params are short lists without white space and escapes.
fn is_canonical(text: &[u8]) -> bool {
    !text.iter().fold(false, |found, byte| found | (*byte <= b' ') | (*byte == b'{') | (*byte == b'\\'))
}

fn write_list<T>(
    out: &mut Vec<u8>,
    [open, close]: [u8; 2],
    values: impl Iterator<Item = T>,
    write: impl Fn(&mut Vec<u8>, T),
) {
    out.push(open);
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(close);
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a string can be written to memory");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        let mut out = Vec::new();
        write_canonical(&mut out, &Json::parse(text.to_owned()).unwrap(), 0);
        String::from_utf8(out).unwrap()
    }

    fn shared_key(params: Option<&str>) -> Vec<u8> {
        let params = params.map(|params| Json::parse(params.to_owned()).unwrap());
        key_of(&Call::new("m", params), true, None).unwrap()
    }

    #[test]
    fn only_spelling_does_not_matter() {
        let same = |one: &str, other: &str| assert_eq!(canonical(one), canonical(other));
        let different = |one: &str, other: &str| assert_ne!(canonical(one), canonical(other));
        same(r#"{"b": [1, 2], "a": {"d": null, "c": true}}"#, r#"{"a":{"c":true,"d":null},"b":[1,2]}"#);
        same(r#"["\u0041\/\ud83d\ude00\u000a"]"#, "[\"A/😀\\n\"]");
        same(r#"{"\u0061": 1, "B": 2}"#, r#"{"B":2,"a":1}"#);
        same(r#"["a b"]"#, r#"[ "a b" ]"#);
        for (one, other) in [
            ("[1]", "[1.0]"),
            ("[1]", "[1e0]"),
            ("[1]", r#"["1"]"#),
            ("[1,2]", "[2,1]"),
            ("[0]", "[-0]"),
            ("[12]", "[1,2]"),
            ("[]", "{}"),
            ("[null]", "[]"),
            (r#"["a b"]"#, r#"["ab"]"#),
            (r#"["\u00e9"]"#, r#"["e\u0301"]"#),
            (r#"["A"]"#, r#"["a"]"#),
            (r#"["\\u0041"]"#, r#"["\u0041"]"#),
            // Methods may take the first or the last.
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
        ] {
            different(one, other);
        }
    }

    #[test]
    fn methods_params_and_wishes_are_kept_apart() {
        let keys = [
            shared_key(None),
            shared_key(Some("[]")),
            shared_key(Some("{}")),
            key_of(&Call::new("m[]", None), true, None).unwrap(),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(keys[at + 1..].iter().all(|other| other != key), "{at}");
        }
        #[cfg(feature = "cache")]
        assert_eq!(method_of(&keys[1]), b"m");
        let mut streaming = Call::new("m", None);
        streaming.cx.insert(switchboard_core::StreamWanted);
        assert_ne!(key_of(&streaming, true, None).unwrap(), keys[0]);
    }

    #[test]
    fn what_is_forwarded_is_kept_apart() {
        use switchboard_core::Metadata;

        let names: AllowedNames = ["X-Tenant"].into_iter().collect();
        let key = |entries: &[(&str, &str)], members: Option<&str>| {
            let mut call = Call::new("m", None);
            let metadata: Metadata =
                entries.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect();
            call.cx = call.cx.with_metadata(metadata);
            if let Some(members) = members {
                call.cx.insert(Members(Json::parse(members.to_owned()).unwrap()));
            }
            key_of(&call, true, Some(&names)).unwrap()
        };
        let traced = |tenant| key(&[("traceparent", "00-1"), ("x-tenant", tenant)], None);
        assert_eq!(traced("a"), key(&[("x-tenant", "a"), ("cookie", "c")], None), "others are not forwarded");
        assert_ne!(traced("a"), traced("b"));
        assert_ne!(traced("a"), key(&[], None));
        assert_ne!(key(&[], Some(r#"{"a":1}"#)), key(&[], Some(r#"{"a":2}"#)));
        assert_ne!(key(&[], Some(r#"{"a":1}"#)), key(&[], None));
        assert_eq!(key(&[], Some(r#"{"a":1,"b":2}"#)), key(&[], Some(r#"{"b":2, "a":1}"#)));
    }

    #[test]
    fn deep_values_are_compared_as_they_are_written() {
        let nested = |inside: &str| format!("{}{inside}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(canonical(&nested("{}")), canonical(&nested("{}")));
        assert_ne!(canonical(&nested("{}")), canonical(&nested("{ }")));
    }

    #[test]
    fn callers_without_an_identity_have_no_private_key() {
        assert!(key_of(&Call::new("m", None), false, None).is_none());
    }

    #[cfg(feature = "identity")]
    #[test]
    fn callers_are_kept_apart_by_all_that_is_known_about_them() {
        use crate::identity::Proof;

        let ann = || Identity::new("ann", Proof::Token);
        let mut claiming = ann();
        claiming.claims = Some(Json::TRUE);
        let identities = [
            ann(),
            Identity::new("ann", Proof::Jwt),
            Identity::new("bob", Proof::Token),
            ann().with_roles(["a", "b"]),
            ann().with_roles(["ab"]),
            ann().with_roles(["a"]).with_scopes(["b"]),
            ann().with_scopes(["a", "b"]),
            ann().with_agent("a"),
            ann().with_certificate("a"),
            claiming,
        ];
        let key = |identity: &Identity| {
            let mut call = Call::new("m", None);
            identity.clone().attach(&mut call.cx);
            key_of(&call, false, None).unwrap()
        };
        for (at, identity) in identities.iter().enumerate() {
            assert_eq!(key(identity), key(identity));
            assert!(identities[at + 1..].iter().all(|other| key(other) != key(identity)), "{identity:?}");
            assert_ne!(key(identity), shared_key(None));
        }
    }

    /// A value, and how it is written.
    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::{Value, json};

        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(|flag| json!(flag)),
            (-20_i64..20).prop_map(|number| json!(number)),
            "[a-c \\\\\"/\n\u{e9}]{0,3}".prop_map(|text| json!(text)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|list| json!(list)),
                prop::collection::btree_map("[a-c\"]{0,2}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    /// Writes a value with white space, members in reverse order and every character escaped.
    fn write_oddly(value: &serde_json::Value, out: &mut String) {
        use serde_json::Value;

        let string = |text: &str, out: &mut String| {
            out.push('"');
            text.encode_utf16().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
            out.push('"');
        };
        match value {
            Value::String(text) => string(text, out),
            Value::Array(list) => {
                out.push_str("[ ");
                for (index, value) in list.iter().enumerate() {
                    out.push_str(if index > 0 { "\n,\t" } else { "" });
                    write_oddly(value, out);
                }
                out.push_str(" ]");
            }
            Value::Object(map) => {
                out.push_str("{ ");
                for (index, (name, value)) in map.iter().rev().enumerate() {
                    out.push_str(if index > 0 { " , " } else { "" });
                    string(name, out);
                    out.push_str(" :\r");
                    write_oddly(value, out);
                }
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }

    proptest! {
        #[test]
        fn equal_values_have_equal_forms_and_others_have_others(one in any_value(), other in any_value()) {
            let mut odd = String::new();
            write_oddly(&one, &mut odd);
            let form = canonical(&odd);
            prop_assert_eq!(&form, &canonical(&one.to_string()));
            prop_assert_eq!(&form, &canonical(&form));
            prop_assert_eq!(one == other, form == canonical(&other.to_string()));
        }
    }
}
