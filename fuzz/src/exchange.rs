//! Sends any bytes to a service, and checks that what comes back is an answer.

#![no_main]

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use switchboard_core::{Answer, Context, Engine, Profile, Router, Settings, Versions};
use switchboard_tests::tree::Tree;
use switchboard_tests::{demo, shape};
use tokio::runtime::{Builder, Runtime};

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    for versions in [Versions::Both, Versions::V1, Versions::V2] {
        check(&body, &answer(&body, versions));
    }
});

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime can be built");
}

/// A panic ends the fuzzer, so nothing here panics on purpose.
static ROUTER: LazyLock<Arc<Router>> =
    LazyLock::new(|| Arc::new(demo::calm().build().expect("the names differ")));

fn answer(body: &Bytes, versions: Versions) -> Answer {
    let settings = Settings::default().with_profile(Profile::default().with_versions(versions));
    let engine = Engine::new(ROUTER.clone(), settings);
    RUNTIME.with(|runtime| runtime.block_on(engine.exchange(body.clone(), &Context::default())))
}

/// Nothing, or responses in a shape of the protocol, each with an identifier that was sent or none.
fn check(body: &Bytes, answer: &Answer) {
    let Some(text) = answer.body() else { return };
    let tree = Tree::of_message(text).expect("the answer is JSON");
    assert_eq!(shape::answer(&tree), Ok(()));
    match (&tree, answer) {
        (Tree::Array(responses), Answer::Batch(_)) => {
            let Ok(Tree::Array(entries)) = Tree::of_message(body) else { panic!("{tree} answers no batch") };
            assert!(responses.len() <= entries.len(), "{tree}");
            responses.iter().for_each(|response| id_was_sent(response, &entries));
        }
        (single, Answer::Single { code, .. }) => {
            let error = single.member("error").filter(|error| !matches!(error, Tree::Null));
            assert_eq!(code.is_some(), error.is_some(), "{tree}");
            id_was_sent(single, &Tree::of_message(body).into_iter().collect::<Vec<_>>());
        }
        _ => panic!("{tree} is not {answer:?}"),
    }
}

fn id_was_sent(response: &Tree, entries: &[Tree]) {
    let id = response.member("id").expect("a response has an id");
    let is_null = matches!(id, Tree::Null);
    let same = |entry: &Tree| entry.member("id").is_some_and(|sent| sent.to_string() == id.to_string());
    assert!(is_null || entries.iter().any(same), "{response}");
}
