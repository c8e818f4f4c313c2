//! What happens when one character of a signed message changes.

use proptest::prelude::*;
use switchboard_layers::Clock;
use switchboard_layers::signing::{SignedMessage, Verifier};

use crate::rig::{AUDIENCE, vectors};

/// The accepted requests and batches among the vectors, and what verifies them.
fn accepted() -> Vec<(String, Verifier, Option<String>)> {
    let vectors = vectors();
    let is_request = |form: &str| ["request", "batch"].contains(&form);
    let accepted = vectors
        .all
        .iter()
        .filter(|vector| vector["expect"] == "ok" && is_request(vector["form"].as_str().unwrap()));
    accepted
        .map(|vector| {
            let clock = Clock::manual(vector["now"].as_u64().unwrap());
            let verifier = Verifier::new(vectors.keys.clone(), [AUDIENCE]).with_clock(clock);
            let session = vector["session"].as_str().map(str::to_owned);
            (vector["raw"].as_str().unwrap().to_owned(), verifier, session)
        })
        .collect()
}

fn is_accepted(message: &str, verifier: &Verifier, session: Option<&str>) -> bool {
    SignedMessage::parse(message.as_bytes()).is_ok_and(|message| message.verify(verifier, session).is_ok())
}

/// What a message says, whatever its whitespace and the order of its members.
fn meaning(message: &str) -> serde_json::Value {
    serde_json::from_str(message).unwrap()
}

proptest! {
    /// A message that is still accepted after a change means the same.
    #[test]
    fn a_change_is_refused_or_changes_nothing(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        kind in 0..3,
        character in "[ -~\u{e4}\u{0}\n]",
    ) {
        let accepted = accepted();
        let (message, verifier, session) = which.get(&accepted);
        prop_assert!(is_accepted(message, verifier, session.as_deref()));
        let mut characters: Vec<char> = message.chars().collect();
        let at = place.index(characters.len());
        let new = character.chars().next().unwrap();
        match kind {
            0 => characters[at] = new,
            1 => characters.insert(at, new),
            _ => drop(characters.remove(at)),
        }
        let changed: String = characters.into_iter().collect();
        if is_accepted(&changed, verifier, session.as_deref()) {
            prop_assert_eq!(meaning(&changed), meaning(message));
        }
    }
}

// SEC-R-01, SEC-S-02
/// Every place of every accepted message, with a few characters that matter to JSON.
#[test]
fn no_single_character_can_be_replaced() {
    let mut tried = 0;
    for (message, verifier, session) in accepted() {
        for (at, old) in message.char_indices() {
            for new in ['0', '1', 'a', '"', ',', '}', ' '] {
                if new == old {
                    continue;
                }
                let rest = &message[at + old.len_utf8()..];
                let changed = format!("{}{new}{rest}", &message[..at]);
                if is_accepted(&changed, &verifier, session.as_deref()) {
                    assert_eq!(meaning(&changed), meaning(&message), "{changed}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 20_000, "{tried}");
}
