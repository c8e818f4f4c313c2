//! A client for Zoo */ """ API 2.0.0, made by `switchboard generate rust`. Make it again rather than edit it.
//!
//! It calls over a `switchboard::Peer` of any carrier, and needs `serde` and `serde_json` besides.
#![allow(missing_docs)] // The document does not describe everything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard::{BatchBuilder, CallError, Peer, Request, StreamRequest, Subscription};

/// One that lives in the zoo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Animal {
    #[serde(rename = "best friend", default, skip_serializing_if = "Option::is_none")]
    pub best_friend: Option<Box<Animal>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<AnimalHome>,
    pub kind: AnimalKind,
    /// What it is called.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<Animal>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<AnimalType>,
}

impl Animal {
    /// What it must have, and nothing else.
    #[must_use]
    pub fn new(kind: AnimalKind, name: String) -> Animal {
        Animal { kind, name, best_friend: None, home: None, parents: None, tags: None, type_: None }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnimalHome {
    pub x: f64,
    pub y: f64,
}

pub type AnimalId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnimalKind {
    #[serde(rename = "bird")]
    Bird,
    #[serde(rename = "big-cat")]
    BigCat,
    #[serde(rename = "fish")]
    Fish,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnimalType {
    String(String),
    Integer(i64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    #[serde(rename = "born")]
    Born(EventBorn),
    #[serde(rename = "closed")]
    Closed(EventClosed),
    #[serde(rename = "fed")]
    Fed(Event3),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event3 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventBorn {
    pub animal: Animal,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventClosed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path(pub Vec<Path>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    pub left: Box<TreeLeft>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TreeLeft {
    Tree(Box<Tree>),
    Integer(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZooFindKind {
    #[serde(rename = "bird")]
    Bird,
    #[serde(rename = "big-cat")]
    BigCat,
    #[serde(rename = "fish")]
    Fish,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZooTellAbout {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub animal: Option<String>,
}

/// Calls the methods of the API.
#[derive(Clone, Debug)]
pub struct Client {
    peer: Peer,
}

impl Client {
    /// Calls over this peer.
    #[must_use]
    pub fn new(peer: Peer) -> Client {
        Client { peer }
    }

    /// Collects calls to send as one batch: `let one = batch.add(client.one())`. After [`BatchBuilder::send`],
    /// `one.read(&outcomes)` gives the result.
    pub fn batch(&self) -> BatchBuilder {
        self.peer.batch()
    }

    /// The methods of `zoo`.
    #[must_use]
    pub fn zoo(&self) -> ZooMethods {
        ZooMethods { peer: self.peer.clone() }
    }

    /// Calls `Delete`.
    pub fn delete(&self) -> Request<()> {
        self.peer.call("Delete", ())
    }

    /// Calls `batch`.
    pub fn batch2(&self) -> Request<bool> {
        self.peer.call("batch", ())
    }

    /// Calls `delete`.
    pub fn delete2(&self, params: impl Serialize) -> Request<Value> {
        self.peer.call("delete", params)
    }

    /// Calls `zoo_subscribe`.
    pub fn zoo_subscribe(&self) -> StreamRequest<String> {
        self.peer.subscribe("zoo_subscribe", (), Subscription::named("zoo_subscription", "zoo_unsubscribe"))
    }
}

/// The methods of `zoo`.
#[derive(Clone, Debug)]
pub struct ZooMethods {
    peer: Peer,
}

impl ZooMethods {
    /// Calls `zoo.open`.
    pub async fn open(&self, at: &str) -> Result<(), CallError> {
        #[derive(Serialize)]
        struct Params<'a> {
            at: &'a str,
        }
        self.peer.notify("zoo.open", Params { at }).await
    }

    /// ````text
    /// Adds an animal. */ """ \
    ///
    /// It gets an identifier.
    ///
    /// ```
    /// not a test
    /// ```
    ///
    /// - `animal`: What to add.
    /// - `notify_keeper`: Whether to tell the keeper.
    ///
    /// # Errors
    ///
    /// - 100: The zoo is full
    /// - 101: No such keeper
    /// ````
    pub fn add_animal(&self, animal: &Animal, notify_keeper: Option<bool>) -> Request<AnimalId> {
        #[derive(Serialize)]
        struct Params<'a> {
            animal: &'a Animal,
            #[serde(rename = "notify-keeper", skip_serializing_if = "Option::is_none")]
            notify_keeper: Option<bool>,
        }
        self.peer.call("zoo/add_animal", Params { animal, notify_keeper })
    }

    /// Calls `zoo/find`.
    ///
    /// - `limit`: How many */ at most.
    pub fn find(&self, kind: &ZooFindKind, limit: Option<u64>, class: Option<&str>) -> Request<Vec<Animal>> {
        self.peer.call("zoo/find", positions([serde_json::json!(kind), serde_json::json!(limit), serde_json::json!(class)], 1))
    }

    /// Calls `zoo/path`.
    #[deprecated(note = "Use zoo/tree.")]
    pub fn path(&self) -> Request<Path> {
        self.peer.call("zoo/path", ())
    }

    /// Calls `zoo/tell`.
    pub fn tell(&self, about: &ZooTellAbout) -> Request<String> {
        #[derive(Serialize)]
        struct Params<'a> {
            about: &'a ZooTellAbout,
        }
        self.peer.call("zoo/tell", Params { about })
    }

    /// Calls `zoo/tell`.
    pub fn tell_stream2(&self, about: &ZooTellAbout) -> StreamRequest<String> {
        #[derive(Serialize)]
        struct Params<'a> {
            about: &'a ZooTellAbout,
        }
        self.peer.stream("zoo/tell", Params { about })
    }

    /// Calls `zoo/tell_stream`.
    pub fn tell_stream(&self) -> Request<bool> {
        self.peer.call("zoo/tell_stream", ())
    }

    /// Calls `zoo/tree`.
    pub fn tree(&self) -> Request<Tree> {
        self.peer.call("zoo/tree", ())
    }

    /// Calls `zoo/watch`.
    pub fn watch(&self) -> StreamRequest<Event> {
        self.peer.stream("zoo/watch", ())
    }
}

/// Parameters by position, without those at the end that are left out.
fn positions<const N: usize>(values: [Value; N], required: usize) -> Vec<Value> {
    let mut values = Vec::from(values);
    while values.len() > required && values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    values
}
