//! Answers to a batch stand in the order of its entries, whatever ends first.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use switchboard_core::{ErrorObject, Limits, Router, Settings};
use switchboard_tests::paused::takes;

use crate::{ask, config};

/// A router whose `wait` answers after so many milliseconds, or fails if they are odd.
fn router() -> Router {
    let finish =
        |millis: u64| if millis.is_multiple_of(2) { Ok(millis) } else { Err(ErrorObject::new(1, "odd")) };
    Router::builder()
        .method("now", move |(millis,): (u64,), _| finish(millis))
        .async_method("wait", move |(millis,): (u64,), _| async move {
            takes(Duration::from_millis(millis)).await;
            finish(millis)
        })
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn answers_stand_in_the_order_of_the_entries(
        entries in vec((0..100_u64, any::<bool>(), prop_oneof![3 => Just(true), 1 => Just(false)]), 1..30),
        batch_concurrency in 1..20_usize,
        ordered_notifications in any::<bool>(),
    ) {
        // J2-42, J2-43, J2-44
        let entry = |(n, (millis, waits, is_call)): (usize, &(u64, bool, bool))| {
            let method = if *waits { "wait" } else { "now" };
            let id = if *is_call { format!(",\"id\":{n}") } else { String::new() };
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[{millis}]{id}}}"#)
        };
        let answered = |(n, (millis, _, is_call)): (usize, &(u64, bool, bool))| {
            let outcome = match millis % 2 {
                0 => format!("\"result\":{millis}"),
                _ => r#""error":{"code":1,"message":"odd"}"#.to_owned(),
            };
            is_call.then(|| format!(r#"{{"jsonrpc":"2.0",{outcome},"id":{n}}}"#))
        };
        let body: Vec<_> = entries.iter().enumerate().map(entry).collect();
        let expected: Vec<_> = entries.iter().enumerate().filter_map(answered).collect();

        let limits = Limits::default().with_batch_concurrency(batch_concurrency);
        let mut settings = Settings::default().with_limits(limits);
        settings.profile.ordered_notifications = ordered_notifications;
        let answer = ask(router(), format!("[{}]", body.join(",")), &settings);
        let expected = (!expected.is_empty()).then(|| format!("[{}]", expected.join(",")));
        prop_assert_eq!(answer, expected);
    }
}
