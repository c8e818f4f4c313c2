//! Every vector, over every carrier that can carry it.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use switchboard_core::{Profile, Settings, Versions};
use switchboard_tests::carrier::{Carrier, Heard, Kind};
use switchboard_tests::client::{Verdict, clients};
use switchboard_tests::tree::Tree;
use switchboard_tests::vector::{Expect, Mode, Vector};
use switchboard_tests::{demo, over_every_carrier};

const V2: &str = include_str!("vectors/jsonrpc2.json");
const V1: &str = include_str!("vectors/jsonrpc1.json");

/// Vectors of 2.0 that demand a refusal where a server of both versions sees a call of 1.0.
const STRICT: [&str; 2] = ["jsonrpc member missing", "jsonrpc member wrong case"];

/// Vectors whose answer depends on the version in which the call reaches the service.
const BY_VERSION: [&str; 1] = ["same call on a mixed server"];

/// Where the rules tolerate several answers and ours is not the first of them.
struct Choice {
    vector: &'static str,
    /// Whether it is the choice of duplex carriers only.
    duplex_only: bool,
    option: usize,
    why: &'static str,
}

const CHOICES: [Choice; 6] = [
    Choice {
        vector: "params is null",
        duplex_only: false,
        option: 1,
        why: "null counts as absent, as widely used servers have it; `Profile::null_params` turns that off",
    },
    Choice {
        vector: "id missing",
        duplex_only: false,
        option: 1,
        why: "an error tells the client what is wrong, a closed connection does not",
    },
    Choice {
        vector: "batch array is not 1.0",
        duplex_only: false,
        option: 1,
        why: "an error tells the client what is wrong, a closed connection does not",
    },
    Choice {
        vector: "nesting depth 100000 refused without crash",
        duplex_only: false,
        option: 1,
        why: "the text may well be JSON: like every limit of ours it is -32600 and names itself",
    },
    Choice {
        vector: "unsolicited Response object",
        duplex_only: true,
        option: 2,
        why: "a peer takes it for the late answer to a call of its own, and drops it",
    },
    Choice {
        vector: "batch containing a Response object",
        duplex_only: true,
        option: 2,
        why: "a peer takes it for the late answer to a call of its own, and drops it",
    },
];

over_every_carrier!(every_vector_is_answered_as_it_demands);

async fn every_vector_is_answered_as_it_demands(carrier: &dyn Carrier) {
    let mut failures = Vec::new();
    let mut counted = 0;
    for vector in all().iter().filter(|vector| vector.mode != Some(Mode::Client)) {
        if !carrier.keeps_version() && BY_VERSION.contains(&&*vector.name) {
            continue;
        }
        let heard = send(carrier, vector, versions(vector)).await;
        if matches!(heard, Heard::Unable(_)) {
            continue;
        }
        counted += 1;
        match vector.expect.check(&heard) {
            Err(reason) => failures.push(format!("{}: {reason}", vector.name)),
            Ok(option) if option != choice(carrier, vector) => {
                failures.push(format!("{}: option {option} is not what CHOICES says", vector.name));
            }
            Ok(_) => {}
        }
    }
    assert!(failures.is_empty(), "over {}:\n{}", carrier.name(), failures.join("\n"));
    assert!(counted > 50, "{} carried {counted} vectors only", carrier.name());
}

#[test]
fn every_client_takes_replies_as_the_vectors_demand() {
    for client in clients() {
        for vector in all().iter().filter(|vector| vector.mode == Some(Mode::Client)) {
            let verdict = client.time().runtime().block_on(client.hear(vector.input()));
            let fits = match (&vector.expect, &verdict) {
                (Expect::ClientAccepts { value }, Verdict::Accepted(json)) => {
                    Tree::read(json.as_str()).unwrap().matches(value)
                }
                (Expect::ClientError { value }, Verdict::Failed(error)) => {
                    let data = error.data.as_ref().expect("what the server said is kept");
                    Tree::read(data.as_str()).unwrap().matches(value)
                }
                (Expect::ClientIgnoresOrCloses, Verdict::Ignored | Verdict::Closed) => true,
                _ => false,
            };
            assert!(fits, "{}: {}: {verdict:?}", client.name(), vector.name);
        }
    }
}

#[tokio::test]
async fn only_vectors_that_need_it_run_on_a_strict_server() {
    let vectors = Vector::read_all(V2);
    for name in STRICT {
        let vector = vectors.iter().find(|vector| vector.name == name).expect(name);
        let heard = send(&switchboard_tests::carriers::Exchange, vector, Versions::Both).await;
        assert!(vector.expect.check(&heard).is_err(), "{name} need not be strict");
    }
}

#[test]
fn every_choice_names_one_vector_and_another_option_than_the_first() {
    let vectors = all();
    for Choice { vector: name, option, why, .. } in CHOICES {
        let named: Vec<_> = vectors.iter().filter(|vector| vector.name == name).collect();
        let [Vector { expect: Expect::OneOf { options }, .. }] = named[..] else {
            panic!("{name} is not one vector with options");
        };
        assert!((1..options.len()).contains(&option), "{name}: option {option}");
        assert!(!why.is_empty(), "{name}");
    }
}

fn all() -> Vec<Vector> {
    let mut vectors = Vector::read_all(V2);
    vectors.extend(Vector::read_all(V1));
    vectors
}

fn versions(vector: &Vector) -> Versions {
    match vector.mode {
        Some(Mode::V1) => Versions::V1,
        Some(Mode::Strict2) => Versions::V2,
        None if STRICT.contains(&&*vector.name) => Versions::V2,
        _ => Versions::Both,
    }
}

fn choice(carrier: &dyn Carrier, vector: &Vector) -> usize {
    let applies = |choice: &&Choice| {
        choice.vector == vector.name && (!choice.duplex_only || carrier.kind() == Kind::Duplex)
    };
    CHOICES.iter().find(applies).map_or(0, |choice| choice.option)
}

async fn send(carrier: &dyn Carrier, vector: &Vector, versions: Versions) -> Heard {
    let profile = Profile::default().with_versions(versions);
    let settings = Settings::default().with_profile(profile);
    let mut line = carrier.open(Arc::new(demo::router()), settings).await;
    line.send(vector.input()).await
}
