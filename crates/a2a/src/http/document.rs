//! The card of an agent as it is sent: complete, and signed if there is a key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_layers::identity::jwt::SigningKey;

use super::base::{Base, complete};
use crate::model::AgentCard;
use crate::server::Shared;
use crate::signed_card::sign;

/// How many cards are kept. A route may take many paths.
const KEPT: usize = 64;

/// What signs cards, and the signed cards: a signature takes time, and is different each time.
pub(crate) struct CardSigner {
    key: SigningKey,
    /// Where clients find the public key.
    url: Option<String>,
    kept: Mutex<HashMap<Which, Value>>,
}

/// Which card: where it is served, for whom, and in which form.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Which {
    base: Option<Base>,
    is_extended: bool,
    is_for_old: bool,
}

impl CardSigner {
    pub(crate) fn new(key: SigningKey, url: Option<String>) -> CardSigner {
        CardSigner { key, url, kept: Mutex::default() }
    }

    fn signed(&self, which: &Which, card: Value) -> Value {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(card) = kept.get(which) {
            return card.clone();
        }
        let mut card = card;
        if let Err(error) = sign(&mut card, &self.key, self.url.as_deref()) {
            tracing::warn!(%error, "a card is sent without a signature");
            return card;
        }
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(which.clone(), card.clone());
        card
    }
}

impl Shared {
    /// The card, for a client that uses this base.
    pub(crate) fn document(&self, base: Option<&Base>, is_for_old: bool) -> Value {
        self.written(&self.card, false, base, is_for_old)
    }

    /// The card for authenticated clients, if there is one.
    pub(crate) fn extended_document(&self, base: Option<&Base>, is_for_old: bool) -> Option<Value> {
        Some(self.written(self.extended.as_ref()?, true, base, is_for_old))
    }

    fn written(&self, card: &AgentCard, is_extended: bool, base: Option<&Base>, is_for_old: bool) -> Value {
        let has_places = [card, &self.card].iter().any(|card| !card.supported_interfaces.is_empty());
        let base = base.filter(|_| !has_places);
        let own = self.origin.as_deref().and_then(|origin| Some(base?.at(origin)));
        let card = complete(card, &self.card, own.as_ref().or(base), is_for_old);
        match &self.signer {
            // An origin that a request names may be anyone's, so it is not signed.
            Some(signer) if has_places || own.is_some() => {
                signer.signed(&Which { base: own, is_extended, is_for_old }, card)
            }
            _ => card,
        }
    }
}
