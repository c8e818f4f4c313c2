//! The requests of typed clients.

use serde::ser::Error;
use serde::{Serialize, Serializer};
use switchboard_core::{Json, Name, Peer, Request, StreamRequest};

use super::{Readable, Writable};

/// The arguments of a call by name. An argument that cannot be written as JSON fails the request.
#[derive(Default)]
pub struct Named(Vec<(&'static str, Encoded)>);

impl Named {
    pub fn insert<T: Writable>(&mut self, name: &'static str, value: &T) {
        self.0.push((name, Encoded::new(value)));
    }

    pub fn insert_some<T: Writable>(&mut self, name: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            self.insert(name, value);
        }
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The arguments of a call by position. An argument that cannot be written as JSON fails the request.
#[derive(Default)]
pub struct Positional(Vec<Encoded>);

impl Positional {
    pub fn push<T: Writable>(&mut self, value: &T) {
        self.0.push(Encoded::new(value));
    }
}

impl Serialize for Positional {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

struct Encoded(Result<Json, serde_json::Error>);

impl Encoded {
    fn new<T: Writable>(value: &T) -> Encoded {
        Encoded(Json::encode(value))
    }
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(json) => json.serialize(serializer),
            Err(error) => Err(S::Error::custom(error)),
        }
    }
}

pub fn request<T: Readable>(
    peer: &Peer,
    method: &'static str,
    params: impl Serialize,
    is_repeatable: bool,
) -> Request<T> {
    let request = peer.call(Name::from_static(method), params);
    if is_repeatable { request.repeatable() } else { request }
}

pub fn stream_request<T: Readable>(
    peer: &Peer,
    method: &'static str,
    params: impl Serialize,
    is_repeatable: bool,
) -> StreamRequest<T> {
    let request = peer.stream(Name::from_static(method), params);
    if is_repeatable { request.repeatable() } else { request }
}
