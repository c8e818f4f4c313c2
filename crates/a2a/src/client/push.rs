//! The receiver of notifications (A2A-P-02).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::Value;
use switchboard_layers::identity::jwt::{Jws, KeySet};
use switchboard_transport::http::{Body, Guarded, Route, RouteFuture};

use crate::ids;
use crate::model::{PushConfig, StreamEvent, push, v03};

/// The longest notification.
const LONGEST: usize = 2 << 20;

/// How many places, and how many identifiers of notifications, are remembered.
const REMEMBERED: usize = 10_000;

/// How old a signature may be, in seconds: all attempts to send a notification have the same one.
const OLDEST: u64 = 15 * 60;

type Handled = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Receives the notifications of agents at a path, see [`EndpointOptions::route`](switchboard_transport::http::EndpointOptions::route).
/// Cheap to clone.
///
/// It gives out places for notifications, each with its own token. A notification is passed on if it has such a token, is about the task
/// that the token belongs to, and is signed, if there are [keys](PushRoute::with_keys). One that is sent again is passed on once.
///
/// # Examples
///
/// ```no_run
/// use switchboard_a2a::model::{Message, SendMessage};
/// use switchboard_a2a::{Client, PushRoute};
/// use switchboard_transport::http::EndpointOptions;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let push = PushRoute::new("https://me.example.com/notifications", |event| async move {
///     println!("{:?}", event.state());
///     true
/// });
/// let options = EndpointOptions::default().route("/notifications", push.clone());
/// let agent = Client::connect("https://agent.example.com").await?;
/// agent.send(SendMessage::new(Message::user("plan a trip")).immediately().with_push(push.place())).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PushRoute(Arc<Inner>);

struct Inner {
    url: String,
    keys: Option<KeySet>,
    handle: Box<dyn Fn(StreamEvent) -> Handled + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The task that each token belongs to, as soon as it is known.
    tokens: HashMap<String, Option<String>>,
    /// The tokens, the oldest first.
    order: VecDeque<String>,
    /// Notifications that were passed on, or are being passed on.
    seen: HashMap<String, Seen>,
    seen_order: VecDeque<String>,
}

/// What has become of a notification.
#[derive(Clone, Copy)]
enum Seen {
    /// It is being handled.
    Handled,
    Taken,
}

impl PushRoute {
    /// Passes notifications on to this function, which says whether it has taken them: the agent sends others again. Agents
    /// reach this route at the URL.
    pub fn new<F, R>(url: impl Into<String>, handle: F) -> PushRoute
    where
        F: Fn(StreamEvent) -> R + Send + Sync + 'static,
        R: Future<Output = bool> + Send + 'static,
    {
        let handle = Box::new(move |event| -> Handled { Box::pin(handle(event)) });
        PushRoute(Arc::new(Inner { url: url.into(), keys: None, handle, state: Mutex::default() }))
    }

    /// Takes only notifications that one of these keys has signed. Call this before the route is cloned.
    #[must_use]
    pub fn with_keys(mut self, keys: KeySet) -> PushRoute {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.keys = Some(keys);
        }
        self
    }

    /// A new place for notifications about one task: the first one that an agent sends a notification about.
    #[must_use]
    pub fn place(&self) -> PushConfig {
        self.add(None)
    }

    /// A new place for notifications about this task.
    #[must_use]
    pub fn place_for(&self, task_id: impl Into<String>) -> PushConfig {
        let task_id = task_id.into();
        self.add(Some(task_id.clone())).for_task(task_id)
    }

    fn add(&self, task_id: Option<String>) -> PushConfig {
        let token = ids::random();
        let mut state = self.0.state();
        state.tokens.insert(token.clone(), task_id);
        state.order.push_back(token.clone());
        if state.order.len() > REMEMBERED
            && let Some(oldest) = state.order.pop_front()
        {
            state.tokens.remove(&oldest);
        }
        PushConfig::new(&self.0.url).with_token(token)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn receive(&self, headers: &HeaderMap, text: &Bytes) -> StatusCode {
        let Some(token) = header(headers, &push::TOKEN) else { return StatusCode::UNAUTHORIZED };
        if !self.state().tokens.contains_key(token) || !self.is_signed(headers, text) {
            return StatusCode::UNAUTHORIZED;
        }
        let Some(event) = read(text) else { return StatusCode::BAD_REQUEST };
        let Some(task) = event.task_id() else { return StatusCode::BAD_REQUEST };
        let id = identify(headers, token, &event, text);
        {
            let mut state = self.state();
            match state.tokens.get_mut(token) {
                Some(Some(known)) if known != task => return StatusCode::FORBIDDEN,
                Some(known) => *known = Some(task.to_owned()),
                None => return StatusCode::UNAUTHORIZED,
            }
            match id.as_ref().and_then(|id| state.remember(id)) {
                // It may still fail, so it has to be sent again.
                Some(Seen::Handled) => return StatusCode::SERVICE_UNAVAILABLE,
                Some(Seen::Taken) => return StatusCode::NO_CONTENT,
                None => {}
            }
        }
        // A handler that is dropped or fails has not taken it.
        let mut taking = Taking { inner: self, id };
        match (self.handle)(event).await {
            true => {
                if let Some(id) = taking.id.take()
                    && let Some(seen) = self.state().seen.get_mut(&id)
                {
                    *seen = Seen::Taken;
                }
                StatusCode::NO_CONTENT
            }
            false => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Whether the agent has signed this, for us, and not long ago.
    fn is_signed(&self, headers: &HeaderMap, text: &[u8]) -> bool {
        let Some(keys) = &self.keys else { return true };
        let Some((protected, signature)) =
            header(headers, &push::SIGNATURE).and_then(|signature| signature.split_once(".."))
        else {
            return false;
        };
        let jws = Jws::new(protected, signature);
        let Some(claims) = jws.header().filter(|_| jws.is_of(keys, text)) else { return false };
        let is_recent = claims["iat"].as_u64().is_some_and(|time| push::now().abs_diff(time) <= OLDEST);
        let is_same = claims["jti"].as_str() == header(headers, &push::ID);
        is_recent && is_same && claims["aud"].as_str() == Some(&self.url)
    }
}

impl State {
    /// Remembers a notification that is about to be handled. Returns what has become of it if it is not new.
    fn remember(&mut self, id: &str) -> Option<Seen> {
        match self.seen.entry(id.to_owned()) {
            Entry::Occupied(known) => return Some(*known.get()),
            Entry::Vacant(new) => new.insert(Seen::Handled),
        };
        self.seen_order.push_back(id.to_owned());
        if self.seen_order.len() > REMEMBERED
            && let Some(oldest) = self.seen_order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        None
    }
}

/// A notification that the handler has not taken yet.
struct Taking<'a> {
    inner: &'a Inner,
    id: Option<String>,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            let mut state = self.inner.state();
            state.seen.remove(id);
            state.seen_order.retain(|known| known != id);
        }
    }
}

/// Reads a notification of any version.
fn read(text: &[u8]) -> Option<StreamEvent> {
    let mut value: Value = serde_json::from_slice(text).ok()?;
    if value.get("kind").is_some() {
        v03::raise::event(&mut value);
    }
    serde_json::from_value(value).ok()
}

/// What a notification is known by: its identifier, or its text, if it says the same thing however often it is sent.
fn identify(headers: &HeaderMap, token: &str, event: &StreamEvent, text: &[u8]) -> Option<String> {
    let is_addition = matches!(event, StreamEvent::ArtifactUpdate(update) if update.append);
    match header(headers, &push::ID) {
        Some(id) => Some(format!("{token} {id}")),
        None if is_addition => None,
        None => {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text);
            Some(format!("{token} {digest:?}"))
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let essence =
        header(headers, &CONTENT_TYPE).and_then(|media| media.split(';').next()).unwrap_or_default();
    [push::MEDIA_TYPE, "application/json"].iter().any(|known| essence.trim().eq_ignore_ascii_case(known))
}

impl Route for PushRoute {
    fn takes(&self, head: &Parts) -> bool {
        head.method == Method::POST
    }

    fn answer(&self, mut request: Guarded) -> RouteFuture {
        let this = self.clone();
        RouteFuture::new(async move {
            let headers = std::mem::take(&mut request.head.headers);
            if !is_json(&headers) {
                return respond(StatusCode::UNSUPPORTED_MEDIA_TYPE);
            }
            match request.read(LONGEST).await {
                Ok(text) => respond(this.0.receive(&headers, &text).await),
                Err(unread) => unread.response(),
            }
        })
    }
}

fn respond(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

impl fmt::Debug for PushRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushRoute").field("url", &self.0.url).finish_non_exhaustive()
    }
}
