//! Decodes any bytes, and compares what comes of it with what serde_json reads.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_core::codec::{Incoming, Message, RequestObject, decode};
use switchboard_core::{Code, Json, Limits, Settings};
use switchboard_tests::tree::Tree;

fuzz_target!(|bytes: &[u8]| check(&Bytes::copy_from_slice(bytes)));

fn check(frame: &Bytes) {
    // Half a surrogate pair is no JSON to this oracle as to us, and it knows numbers of any size and any depth.
    let tree = std::str::from_utf8(frame).ok().and_then(|text| Tree::read(text).ok());
    let found = decode(frame, &unlimited());
    let refused = matches!(&found, Err(error) if error.code == Code::PARSE_ERROR);
    assert_eq!(refused, tree.is_none(), "{found:?}");
    if let Some(tree) = tree {
        agree(&found, &tree);
    }
    limits_only_refuse(frame, refused);
}

/// Nothing but the length of the frame, which is the fuzzer's to limit.
fn unlimited() -> Settings {
    let most = usize::MAX;
    let limits = Limits::default()
        .with_depth(most)
        .with_members(most)
        .with_number(most)
        .with_name(most)
        .with_id(most)
        .with_batch(most);
    Settings::default().with_limits(limits)
}

/// With the default limits nothing is taken that is refused without, and what is refused beside is no syntax error.
fn limits_only_refuse(frame: &Bytes, refused: bool) {
    match decode(frame, &Settings::default()) {
        Ok(_) => assert!(!refused),
        Err(error) if !refused => assert_eq!(error.code, Code::INVALID_REQUEST),
        Err(_) => {}
    }
    if let Ok(json) = Json::parse(frame.clone()) {
        assert!(!refused);
        assert!(frame.windows(json.as_bytes().len()).any(|part| part == json.as_bytes()));
    }
}

fn agree(found: &Result<Incoming, impl std::fmt::Debug>, tree: &Tree) {
    match (found, tree) {
        (Ok(Incoming::Batch(entries)), Tree::Array(trees)) => {
            assert_eq!(entries.len(), trees.len());
            entries.iter().zip(trees).for_each(|(entry, tree)| agree_on_one(&entry, tree));
        }
        (Ok(Incoming::Single(message)), tree) => agree_on_one(message, tree),
        (Err(_), Tree::Array(entries)) => assert!(entries.is_empty()),
        _ => panic!("{found:?} for {tree}"),
    }
}

fn agree_on_one(message: &Message, tree: &Tree) {
    match message {
        Message::Request(request) => {
            assert!(!tree.has_duplicate(), "{tree}");
            same_parts(request, tree);
        }
        Message::Response(response) => {
            assert!(tree.member("method").is_none(), "{tree}");
            // An identifier that is missing or cannot be used is read as null.
            assert!(response.id.is_null() || same(Some(response.id.as_str()), tree.member("id")), "{tree}");
        }
        Message::Invalid(invalid) => {
            assert!(!is_call(tree), "{tree} is refused: {:?}", invalid.error);
        }
    }
}

fn same_parts(request: &RequestObject, tree: &Tree) {
    assert!(matches!(tree.member("method"), Some(Tree::String(name)) if *name == request.method.as_str()));
    let params = tree.member("params").filter(|params| !matches!(params, Tree::Null));
    assert!(same(request.params.as_ref().map(Json::as_str), params), "{tree}");
    if let Some(id) = &request.id {
        assert!(same(Some(id.as_str()), tree.member("id")), "{tree}");
    }
}

/// Whether the raw text is this value, or both are absent.
fn same(raw: Option<&str>, tree: Option<&Tree>) -> bool {
    match (raw, tree) {
        (Some(raw), Some(tree)) => Tree::read(raw).is_ok_and(|raw| raw.to_string() == tree.to_string()),
        (raw, tree) => raw.is_none() && tree.is_none(),
    }
}

/// Whether this is a request of 2.0 without any fault.
fn is_call(tree: &Tree) -> bool {
    let is_v2 = matches!(tree.member("jsonrpc"), Some(Tree::String(version)) if version == "2.0");
    let has_method = matches!(tree.member("method"), Some(Tree::String(_)));
    let params = matches!(tree.member("params"), None | Some(Tree::Null | Tree::Array(_) | Tree::Object(_)));
    let id = matches!(tree.member("id"), None | Some(Tree::Null | Tree::Number(_) | Tree::String(_)));
    let answers = tree.member("result").is_some() || tree.member("error").is_some();
    is_v2 && has_method && params && id && !answers && !tree.has_duplicate()
}
