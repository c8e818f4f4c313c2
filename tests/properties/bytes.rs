//! Any bytes are answered with something valid, or not at all.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use switchboard_core::{Settings, Versions};
use switchboard_tests::tree::Tree;
use switchboard_tests::{demo, shape};

use crate::{ask, config, text};

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let router = Arc::new(demo::calm().build().unwrap());
    for versions in [Versions::Both, Versions::V1, Versions::V2] {
        let mut settings = Settings::default();
        settings.profile.versions = versions;
        if let Some(answer) = ask(Arc::clone(&router), bytes.to_vec(), &settings) {
            let valid = Tree::read(&answer).map_err(|error| error.to_string());
            let valid = valid.and_then(|answer| shape::answer(&answer));
            prop_assert_eq!(valid, Ok(()), "{}", answer);
        }
    }
    Ok(())
}

/// An envelope whose members are there or not, in any order, with values that fit or do not.
fn message() -> impl Strategy<Value = String> {
    let names = ["jsonrpc", "method", "params", "id", "result", "error", "stream", "x"];
    let methods = ["echo", "add", "sum", "subtract", "count", "fail", "later", "text", "get_data", "rpc.x"];
    let member = (proptest::sample::select(names.to_vec()), text::value(), any::<bool>(), 0..methods.len());
    vec(member, 0..8).prop_map(move |members| {
        let member = |(name, value, fits, n): (&str, String, bool, usize)| match (name, fits) {
            ("jsonrpc", true) => r#""jsonrpc":"2.0""#.to_owned(),
            ("method", true) => format!(r#""method":"{}""#, methods[n]),
            ("params", true) => format!(r#""params":[{n},{value}]"#),
            ("id", true) => format!(r#""id":{n}"#),
            _ => format!("\"{name}\":{value}"),
        };
        format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
    })
}

fn batch() -> impl Strategy<Value = String> {
    vec(prop_oneof![4 => message(), 1 => text::value()], 0..12).prop_map(|all| format!("[{}]", all.join(",")))
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn bytes_of_any_kind_are_answered_well(bytes in vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn messages_of_any_kind_are_answered_well(message in message()) {
        check(message.as_bytes())?;
    }

    #[test]
    fn spoiled_batches_of_any_kind_are_answered_well(batch in text::spoiled(batch())) {
        check(&batch)?;
    }
}
