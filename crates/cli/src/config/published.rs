//! Configuration that an operator publishes for all servers that share a store.
//!
//! It is a text like an included file, with keys that running servers can change. The store keeps it under one key, which every server watches.
//! A server that was down reads it when it starts, and does not start without.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use switchboard::store::{JetStreamStore, Store as _, StoreError, put};

use super::faults::Fault;
use super::in_use::InUse;
use super::include;
use super::key::find_in;
use super::keys::KEYS;
use super::source::Source;
use super::tree::{Table, Value};
use crate::failure::Failure;

/// The key of the text.
const KEY: &[u8] = b"configuration";

/// For how long it is kept: for good, as far as the store can.
pub(super) const KEPT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// What it is called in errors.
const NAME: &str = "published configuration";

/// The published configuration as this server knows it. Clones see the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published(Arc<State>);

#[derive(Debug, Default)]
struct State {
    store: OnceLock<JetStreamStore>,
    text: Mutex<Option<String>>,
}

impl Published {
    /// Reads what is published in this store.
    pub(super) async fn read_from(&self, store: JetStreamStore) -> Result<(), Failure> {
        let text = read(&store).await.map_err(|error| {
            let what = format!("cannot read the published configuration: {error}");
            Failure::usage(what).advise("start the NATS server, or remove `store_config`")
        })?;
        self.replace(text);
        let _ = self.0.store.set(store);
        Ok(())
    }

    /// Uses another text when the configuration is read next. Returns the one before.
    pub(super) fn replace(&self, text: Option<String>) -> Option<String> {
        std::mem::replace(&mut *self.0.text.lock().unwrap_or_else(PoisonError::into_inner), text)
    }

    fn text(&self) -> Option<String> {
        self.0.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what is published to what the files set.
    pub(super) fn include(&self, source: &mut Source, table: &mut Table, faults: &mut Vec<Fault>) {
        let Some(text) = self.text() else { return };
        // Relative paths start where those of the main file do.
        let path =
            source.main().path.parent().map_or_else(|| PathBuf::from(NAME), |folder| folder.join(NAME));
        let published = source.add(path, text).parse(faults);
        check(&published, "", faults);
        include::merge(table, published, "", faults);
    }

    /// Tells all servers to use this text, and those that are down to use it when they start.
    pub(super) async fn publish(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: StoreError| Failure::usage(format!("cannot publish the configuration: {error}"));
        let store = self.0.store.get().ok_or_else(|| {
            Failure::usage("this server does not follow a published configuration")
                .advise("set `store_config = true` and a `store` in a NATS server")
        })?;
        put(store, KEY, text.as_bytes(), KEPT).await.map_err(failed)
    }

    /// Reloads whenever another text is published, until this is dropped.
    pub(crate) async fn follow(self, in_use: InUse) {
        let Some(store) = self.0.store.get() else { return };
        let Ok(mut watch) = store.watch(KEY).await else { return };
        let mut is_failing = false;
        loop {
            // Once at the beginning, for what was published before the server watched.
            match read(store).await {
                Ok(text) => {
                    is_failing = false;
                    if text.is_none() && self.text().is_some() {
                        // What is withdrawn is replaced by an empty text, so the store has lost it.
                        tracing::error!(
                            "the published configuration is gone from the store; the one in use stays"
                        );
                    } else if text != self.text() {
                        self.replace(text);
                        let _ = in_use.reload(false).await;
                    }
                }
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::error!(%error, "cannot read the published configuration; the one in use stays");
                }
                Err(_) => {}
            }
            watch.changed().await;
        }
    }
}

async fn read(store: &JetStreamStore) -> Result<Option<String>, StoreError> {
    let found = store.read(KEY).await?;
    Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reports keys that running servers cannot change: they would apply only to servers that start later.
fn check(table: &Table, prefix: &str, faults: &mut Vec<Fault>) {
    for entry in &table.0 {
        let path = format!("{prefix}{}", entry.name);
        match (find_in(KEYS, &path), &entry.node.value) {
            (Some(key), _) if !key.is_live => {
                let title = format!("`{path}` cannot be published");
                let advice = "set it in the file of each server, which has to be restarted";
                faults.push(Fault::new(entry.name_place.clone(), title, advice));
            }
            (None, Value::Table(inner)) => check(inner, &format!("{path}."), faults),
            _ => {}
        }
    }
}
