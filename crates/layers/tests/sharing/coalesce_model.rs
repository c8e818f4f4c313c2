//! Coalescing against a plain model, for random sequences of calls, answers and callers that leave.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use proptest::prelude::*;
use switchboard_core::{Layer as _, ReplyFuture, Service};
use switchboard_layers::coalesce::Coalesce;

use crate::upstream::{Upstream, call, shown, value};

const WHO: [&str; 2] = ["ann", "bob"];
/// The first two are equal.
const PARAMS: [&str; 4] = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, "[1]", "[1.0]"];

#[derive(Clone, Debug)]
enum Step {
    Call { who: usize, params: usize },
    Answer(prop::sample::Index),
    Leave(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..WHO.len(), 0..PARAMS.len()).prop_map(|(who, params)| Step::Call { who, params }),
        2 => any::<prop::sample::Index>().prop_map(Step::Answer),
        2 => any::<prop::sample::Index>().prop_map(Step::Leave),
    ];
    prop::collection::vec(step, 1..80)
}

/// A caller that waits for the answer to this upstream call.
struct Waiting {
    number: usize,
    reply: ReplyFuture,
}

/// Who calls, and the number of its params; equal ones have the same.
type Key = (usize, usize);

async fn check(steps: Vec<Step>) {
    let upstream = Upstream::default();
    let service = Coalesce::new(["get".parse().unwrap()]).layer(std::sync::Arc::new(upstream.clone()));
    let (mut in_flight, mut callers) = (BTreeMap::<Key, usize>::new(), Vec::<Waiting>::new());
    for step in steps {
        match step {
            Step::Call { who, params } => {
                let made = upstream.count();
                let reply = service.call(&call(WHO[who], "get", PARAMS[params]));
                let number = *in_flight.entry((who, params.max(1))).or_insert(made);
                assert_eq!(
                    upstream.count(),
                    made + usize::from(number == made),
                    "one call for all that are equal"
                );
                callers.push(Waiting { number, reply });
            }
            Step::Answer(which) if !in_flight.is_empty() => {
                let key = *in_flight.keys().nth(which.index(in_flight.len())).unwrap();
                let number = in_flight.remove(&key).unwrap();
                assert!(upstream.answer(number, value(&number.to_string())), "the call was not cancelled");
                let (told, waiting) = callers.into_iter().partition(|caller| caller.number == number);
                callers = waiting;
                let told: Vec<Waiting> = told;
                for caller in told {
                    assert_eq!(shown(&caller.reply.await), number.to_string());
                }
            }
            Step::Leave(which) if !callers.is_empty() => {
                let number = callers.swap_remove(which.index(callers.len())).number;
                if callers.iter().all(|caller| caller.number != number) {
                    in_flight.retain(|_, call| *call != number);
                    upstream.cancelled(number).await;
                }
            }
            Step::Answer(_) | Step::Leave(_) => {}
        }
        for caller in &mut callers {
            assert!((&mut caller.reply).now_or_never().is_none(), "nobody has the answer to another call");
        }
    }
}

proptest! {
    #[test]
    fn each_caller_gets_the_answer_to_one_call_that_was_made_for_its_equals(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(check(steps));
    }
}
