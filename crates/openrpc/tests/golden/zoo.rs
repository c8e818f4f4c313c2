//! A client for Zoo */ """ API 2.0.0, made by `switchboard generate rust`. Make it again rather than edit it.
//!
//! It calls over a `switchboard::Peer` of any carrier, and needs `serde` and `serde_json` besides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard::{CallError, Peer, Subscription, Values};

/// One that lives in the zoo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Animal {
    /// `best friend`.
    #[serde(rename = "best friend", default, skip_serializing_if = "Option::is_none")]
    pub best_friend: Option<Box<Animal>>,
    /// `home`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<AnimalHome>,
    /// `kind`.
    pub kind: AnimalKind,
    /// What it is called.
    pub name: String,
    /// `parents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<Animal>>,
    /// `tags`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// `type`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<AnimalType>,
}

/// `AnimalHome`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnimalHome {
    /// `x`.
    pub x: f64,
    /// `y`.
    pub y: f64,
}

/// `AnimalId`.
pub type AnimalId = u64;

/// `AnimalKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnimalKind {
    /// `bird`.
    #[serde(rename = "bird")]
    Bird,
    /// `big-cat`.
    #[serde(rename = "big-cat")]
    BigCat,
    /// `fish`.
    #[serde(rename = "fish")]
    Fish,
}

/// `AnimalType`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnimalType {
    /// A string.
    String(String),
    /// An integer.
    Integer(i64),
}

/// `Event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Event {
    /// `EventBorn`.
    EventBorn(EventBorn),
    /// `EventClosed`.
    EventClosed(EventClosed),
    /// `Event3`.
    Event3(Event3),
}

/// `Event3`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event3 {
    /// `event`.
    pub event: Event3Event,
    /// `when`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<i64>,
}

/// `Event3Event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event3Event {
    /// `fed`.
    #[serde(rename = "fed")]
    Fed,
}

/// `EventBorn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventBorn {
    /// `animal`.
    pub animal: Animal,
    /// `event`.
    pub event: EventBornEvent,
}

/// `EventBornEvent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventBornEvent {
    /// `born`.
    #[serde(rename = "born")]
    Born,
}

/// `EventClosed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventClosed {
    /// `event`.
    pub event: EventClosedEvent,
    /// `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// `EventClosedEvent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventClosedEvent {
    /// `closed`.
    #[serde(rename = "closed")]
    Closed,
}

/// `Path`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path(pub Vec<Path>);

/// `Tree`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// `left`.
    pub left: Box<TreeLeft>,
}

/// `TreeLeft`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TreeLeft {
    /// `Tree`.
    Tree(Box<Tree>),
    /// An integer.
    Integer(i64),
}

/// `ZooFindKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZooFindKind {
    /// `bird`.
    #[serde(rename = "bird")]
    Bird,
    /// `big-cat`.
    #[serde(rename = "big-cat")]
    BigCat,
    /// `fish`.
    #[serde(rename = "fish")]
    Fish,
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

    /// The methods of `zoo`.
    #[must_use]
    pub fn zoo(&self) -> ZooMethods {
        ZooMethods { peer: self.peer.clone() }
    }

    /// Calls `Delete`.
    pub async fn delete(&self) -> Result<(), CallError> {
        self.peer.call("Delete", ()).await
    }

    /// Calls `delete`.
    pub async fn delete2(&self, params: impl Serialize) -> Result<Value, CallError> {
        self.peer.call("delete", params).await
    }

    /// Calls `zoo_subscribe`.
    pub async fn zoo_subscribe(&self) -> Result<Values<String>, CallError> {
        self.peer.subscribe("zoo_subscribe", (), Subscription::named("zoo_subscription", "zoo_unsubscribe")).await
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
    ///
    /// # Errors
    ///
    /// - 100: The zoo is full
    /// - 101: No such keeper
    /// ````
    pub async fn add_animal(&self, animal: &Animal, notify_keeper: Option<bool>) -> Result<AnimalId, CallError> {
        #[derive(Serialize)]
        struct Params<'a> {
            animal: &'a Animal,
            #[serde(rename = "notify-keeper", skip_serializing_if = "Option::is_none")]
            notify_keeper: Option<bool>,
        }
        self.peer.call("zoo/add_animal", Params { animal, notify_keeper }).await
    }

    /// Calls `zoo/find`.
    pub async fn find(&self, kind: &ZooFindKind, limit: Option<u64>, class: Option<&str>) -> Result<Vec<Animal>, CallError> {
        self.peer.call("zoo/find", positions([serde_json::json!(kind), serde_json::json!(limit), serde_json::json!(class)], 1)).await
    }

    /// Calls `zoo/path`.
    #[deprecated(note = "Use zoo/tree.")]
    pub async fn path(&self) -> Result<Path, CallError> {
        self.peer.call("zoo/path", ()).await
    }

    /// Calls `zoo/tree`.
    pub async fn tree(&self) -> Result<Tree, CallError> {
        self.peer.call("zoo/tree", ()).await
    }

    /// Calls `zoo/watch`.
    pub async fn watch(&self) -> Result<Values<Event>, CallError> {
        self.peer.stream("zoo/watch", ()).await
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
