//! One notification on its way to one receiver.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, header};
use serde_json::json;
use switchboard_core::{CallError, ErrorObject};
use switchboard_layers::identity::jwt::SigningKey;
use switchboard_transport::http::{Client, HttpClientOptions, HttpUrlError};

use super::Pusher;
use super::places::Place;
use crate::model::{StreamEvent, Version, push, v03};

/// How much of an answer is read, so that its connection can be used again.
const ANSWER: usize = 64 << 10;

/// How many clients are kept.
const CLIENTS: usize = 128;

/// A notification for one receiver.
pub(in super::super) struct Notification<'a> {
    url: &'a str,
    headers: HeaderMap,
    content: Bytes,
}

impl<'a> Notification<'a> {
    /// What is sent to a place about an event. Attempts to send it again have the same identifier and signature.
    pub(super) fn new(
        id: &str,
        place: &'a Place,
        event: &StreamEvent,
        key: Option<&SigningKey>,
    ) -> Result<Notification<'a>, ErrorObject> {
        let internal = |error: serde_json::Error| ErrorObject::internal(&error);
        let config = &place.config;
        let (content, media) = match (place.version(), event) {
            (Version::V0_3, StreamEvent::Task(task)) => {
                let mut value = serde_json::to_value(task).map_err(internal)?;
                v03::lower::task(&mut value);
                (serde_json::to_vec(&value).map_err(internal)?, "application/json")
            }
            _ => (serde_json::to_vec(event).map_err(internal)?, push::MEDIA_TYPE),
        };
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, value: &str| -> Result<(), ErrorObject> {
            let value = HeaderValue::from_str(value).map_err(|error| ErrorObject::internal(&error))?;
            headers.insert(name, value);
            Ok(())
        };
        add(CONTENT_TYPE, media)?;
        add(header::ACCEPT, "*/*")?;
        add(push::ID, id)?;
        if !config.token.is_empty() {
            add(push::TOKEN, &config.token)?;
        }
        if let Some(own) = config.authentication.as_ref().filter(|own| !own.credentials.is_empty()) {
            add(AUTHORIZATION, &format!("{} {}", own.scheme, own.credentials))?;
        }
        if let Some(key) = key {
            let claims = json!({"typ": "JOSE", "jti": id, "aud": config.url, "iat": push::now()});
            let jws = key.sign(claims, &content).map_err(|error| ErrorObject::internal(&error))?;
            add(push::SIGNATURE, &format!("{}..{}", jws.protected, jws.signature))?;
        }
        Ok(Notification { url: &config.url, headers, content: content.into() })
    }
}

/// Clients of receivers, which keep their connections for the next notifications.
pub(super) struct Clients {
    options: HttpClientOptions,
    known: Mutex<HashMap<String, Client>>,
}

impl Clients {
    pub(super) fn new(options: HttpClientOptions) -> Clients {
        Clients { options, known: Mutex::default() }
    }

    fn of(&self, url: &str) -> Result<Client, HttpUrlError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = known.get(url) {
            return Ok(client.clone());
        }
        let client = Client::with_options(url, self.options.clone())?;
        if known.len() >= CLIENTS {
            known.clear();
        }
        known.insert(url.to_owned(), client.clone());
        Ok(client)
    }
}

/// What an attempt has led to.
enum Attempt {
    Taken,
    /// Another attempt may succeed.
    Failed(String),
    /// None will.
    Refused(String),
}

impl Pusher {
    /// Sends a notification up to so many times. Returns whether it was taken.
    pub(super) async fn deliver(&self, notification: &Notification<'_>, attempts: u32) -> bool {
        let mut pause = self.options.pause;
        for attempt in 1..=attempts {
            let why = match self.attempt(notification).await {
                Attempt::Taken => return true,
                Attempt::Failed(why) if attempt < attempts => {
                    tracing::debug!(%why, attempt, "a notification was not taken; it is sent again");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    continue;
                }
                Attempt::Failed(why) | Attempt::Refused(why) => why,
            };
            tracing::warn!(%why, attempt, "a notification was not taken");
            return false;
        }
        false
    }

    async fn attempt(&self, notification: &Notification<'_>) -> Attempt {
        // What was allowed when the place was stored may not be any more.
        if let Some(why) = self.options.refusal(notification.url) {
            return Attempt::Refused(why.to_owned());
        }
        let client = match self.clients.of(notification.url) {
            Ok(client) => client,
            Err(error) => return Attempt::Refused(error.to_string()),
        };
        // Not held while waiting for the next attempt, so that a receiver that does not answer well does not hold up others.
        let Ok(_permit) = self.permits.acquire().await else {
            return Attempt::Refused("the agent has been stopped".to_owned());
        };
        let (headers, content) = (notification.headers.clone(), notification.content.clone());
        let status = match client.post(headers, content, ANSWER, self.options.time).await {
            Ok(response) => response.status(),
            // It has been taken, or not, before the answer became too long.
            Err(CallError::Protocol(_)) => return Attempt::Refused("the answer is too long".to_owned()),
            Err(error) => return Attempt::Failed(error.to_string()),
        };
        match status {
            status if status.is_success() => Attempt::Taken,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                Attempt::Failed(status.to_string())
            }
            status if status.is_server_error() => Attempt::Failed(status.to_string()),
            // Redirects are not followed: they could lead anywhere.
            status => Attempt::Refused(status.to_string()),
        }
    }
}
