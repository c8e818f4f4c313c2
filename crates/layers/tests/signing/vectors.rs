//! The vectors of the format.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::Value;
use switchboard_core::{Context, Input, Origin, RequestHead};
use switchboard_layers::Clock;
use switchboard_layers::signing::{MessageError, ParamsForm, Reason, SignedMessage, Verifier, Verify};
use switchboard_layers::store::{Store as _, StoreLimits};

use crate::rig::{AUDIENCE, Server, code, store, vectors};

fn text<'a>(vector: &'a Value, name: &str) -> &'a str {
    vector[name].as_str().unwrap_or_default()
}

/// What a text comes to: the signed text, or the name of a reason.
fn named(result: Result<String, Reason>) -> Result<String, &'static str> {
    result.map_err(Reason::name)
}

fn check(vector: &Value, found: Result<String, &'static str>) {
    let name = text(vector, "name");
    match found {
        Ok(signed) => {
            assert_eq!(text(vector, "expect"), "ok", "{name}");
            if let Some(expected) = vector["text"].as_str() {
                assert_eq!(signed, expected, "{name}");
            }
        }
        Err(reason) => assert_eq!(reason, text(vector, "expect"), "{name}"),
    }
}

// SEC-R-01, SEC-S-01, SEC-S-02: among them params that were serialised again, a line break in a method, a short nonce and a fractional time.
#[test]
fn requests_and_batches_are_accepted_or_refused_for_the_stated_reason() {
    let vectors = vectors();
    let mut count = 0;
    for vector in vectors.all.iter().filter(|vector| ["request", "batch"].contains(&text(vector, "form"))) {
        let clock = Clock::manual(vector["now"].as_u64().unwrap());
        let verifier = Verifier::new(vectors.keys.clone(), [AUDIENCE]).with_clock(clock);
        let found = match SignedMessage::parse(text(vector, "raw").as_bytes()) {
            Ok(message) => {
                let verified = message.verify(&verifier, vector["session"].as_str());
                named(verified.map(|accepted| accepted.text.as_str().to_owned()))
            }
            Err(MessageError::Invalid(_) | MessageError::Malformed(_)) => Err("malformed"),
            Err(other) => panic!("{other}"),
        };
        check(vector, found);
        count += 1;
    }
    assert_eq!(count, 34);
}

#[test]
fn responses_and_items_are_accepted_or_refused_for_the_stated_reason() {
    let vectors = vectors();
    let mut count = 0;
    for vector in vectors.all.iter().filter(|vector| ["response", "item"].contains(&text(vector, "form"))) {
        let request = text(vector, "request_text");
        let line = |name: &str| request.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let digest: String =
            digest(&SHA256, request.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let found = match SignedMessage::parse(text(vector, "raw").as_bytes()) {
            Ok(message) => {
                let kid = vector["audiences"][0].as_str().unwrap();
                let verified = message.verify_reply(&vectors.keys, kid, line("nonce="), &digest);
                named(verified.map(|accepted| accepted.text.as_str().to_owned()))
            }
            // Its `error` is not an error object, so it is refused before its signature is looked at.
            Err(_) if text(vector, "name") == "result-becomes-error" => Err("bad_signature"),
            Err(_) => Err("malformed"),
        };
        check(vector, found);
        count += 1;
    }
    assert_eq!(count, 9);
}

/// The same over the wire, where callers do not learn the reason (SEC-S-06).
#[tokio::test]
async fn a_server_accepts_and_refuses_the_same_messages() {
    let vectors = vectors();
    let mut count = 0;
    let forms = ["request", "params", "hop", "batch", "http"];
    for vector in vectors.all.iter().filter(|vector| forms.contains(&text(vector, "form"))) {
        let clock = Clock::manual(vector["now"].as_u64().unwrap());
        let store = store(&clock, StoreLimits::default());
        for seen in vector["seen"].as_array().into_iter().flatten() {
            let key = format!("\n{}", seen.as_str().unwrap().replace(' ', "\n"));
            store.insert(key.as_bytes(), b"", std::time::Duration::from_secs(400)).await.unwrap();
        }
        let mut verify = Verify::new(vectors.keys.clone(), [AUDIENCE], store).with_clock(clock);
        if let Some(kid) = vector["kid"].as_str() {
            let form = ParamsForm::signed(["**".parse().unwrap()], kid);
            let is_required = vector["nonce_required"] != Value::Bool(false);
            verify = verify.with_params_form(if is_required { form } else { form.without_nonce() });
        }
        let server = Server::new(&verify);
        let mut cx = Context::new(Origin::default());
        if let Some(session) = vector["session"].as_str() {
            cx.session().set_id(session);
        }
        let input = vector.get("request").map(|request| attach(request, &mut cx));
        let message = vector["request"]["body"].as_str().unwrap_or(text(vector, "raw"));
        let answers = match server.ask_in(message, &cx).await {
            Value::Array(answers) => answers,
            answer => vec![answer],
        };
        let name = text(vector, "name");
        match text(vector, "expect") {
            "ok" => {
                assert!(server.count() >= answers.len(), "{name}: {answers:?}");
                assert!(answers.iter().all(|answer| code(answer).is_none()), "{name}: {answers:?}");
            }
            expect => {
                assert_eq!(server.count(), 0, "{name}: {answers:?}");
                let codes: &[i64] = if expect == "malformed" { &[-32600, -32602] } else { &[-32002] };
                let is_refusal = |answer: &Value| answer.is_null() || codes.contains(&code(answer).unwrap());
                assert!(answers.iter().all(is_refusal), "{name}: {answers:?}");
            }
        }
        drop(input);
        count += 1;
    }
    assert_eq!(count, 46);
}

/// Lets calls see the HTTP request of a vector.
fn attach(request: &Value, cx: &mut Context) -> Arc<Input> {
    let target = text(request, "target");
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let head = RequestHead::new(text(request, "method"), "https", text(request, "authority"), path, query);
    let headers = request["headers"].as_object().unwrap();
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap().to_owned()));
    *cx.metadata_mut() = headers.collect();
    let input = Input::new(text(request, "body").to_owned().into(), Some(head));
    input.attach(cx);
    input
}
