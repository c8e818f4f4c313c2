//! Whose cards a client accepts (A2A-C-04).

use serde_json::Value;
use switchboard_layers::identity::jwt::KeySet;
use switchboard_transport::http::Resource;

use crate::signed_card::{is_signed, signatures};

/// Whose cards a [`Client`](super::Client) accepts: those that one of these keys has signed.
#[derive(Clone, Debug, Default)]
pub struct CardTrust {
    keys: Option<KeySet>,
    urls: Vec<String>,
}

impl CardTrust {
    /// Accepts cards that one of these keys has signed.
    #[must_use]
    pub fn keys(keys: KeySet) -> CardTrust {
        CardTrust { keys: Some(keys), urls: Vec::new() }
    }

    /// Also accepts cards that are signed with a key from this `https` URL, if their signature names it (`jku`). Other URLs that
    /// signatures name are not requested.
    #[must_use]
    pub fn and_url(mut self, url: impl Into<String>) -> CardTrust {
        self.urls.push(url.into());
        self
    }

    /// Why a card is not accepted.
    pub(super) async fn refusal(&self, card: &Value) -> Option<String> {
        let signatures = signatures(card);
        if signatures.is_empty() {
            return Some("it is not signed".to_owned());
        }
        let mut why = "no trusted key has signed it".to_owned();
        for signature in signatures {
            if self.keys.as_ref().is_some_and(|keys| is_signed(card, &signature, keys)) {
                return None;
            }
            let header = signature.header().unwrap_or_default();
            let url = header["jku"].as_str().and_then(|url| self.urls.iter().find(|known| *known == url));
            let Some(url) = url else { continue };
            match fetch(url).await {
                Ok(keys) if is_signed(card, &signature, &keys) => return None,
                Ok(_) => {}
                Err(error) => why = error,
            }
        }
        Some(why)
    }
}

async fn fetch(url: &str) -> Result<KeySet, String> {
    let text = Resource::new(url).map_err(|error| error.to_string())?.get().await;
    KeySet::parse(text.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}
