//! Where a server keeps what it must not forget.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard::Clock;
use switchboard::idempotency::{Idempotency, IdempotencyOptions};
use switchboard::mcp::StateKeys;
use switchboard::store::{FileStore, MemoryStore, Store, StoreLimits};

use super::Config;
use super::faults::Fault;
use super::reader::Reader;
use super::shared_store::SharedPlace;
use crate::failure::Failure;

/// Where used nonces and kept answers are.
#[derive(Clone, Debug, Default)]
pub(crate) enum StorePlace {
    #[default]
    Memory,
    File(PathBuf),
    Shared(SharedPlace),
}

/// The stores of a server. The same one, or one for each use where they keep entries for different times.
#[derive(Default)]
pub(crate) struct Stores {
    pub(crate) nonces: Option<Arc<dyn Store>>,
    pub(crate) answers: Option<Arc<dyn Store>>,
    /// The sessions of MCP clients, and the key that seals the state of calls without one, where servers share them.
    pub(crate) sessions: Option<Arc<dyn Store>>,
    pub(crate) state_keys: Option<StateKeys>,
    /// For the tasks of an agent; none if they are kept in memory.
    pub(crate) tasks: Option<Arc<dyn Store>>,
}

/// Reads where they are.
pub(crate) fn store(reader: &mut Reader<'_>) -> StorePlace {
    const PATH: &str = "store";
    let written = reader.text(PATH).unwrap_or_default();
    let credentials = reader.path("store_credentials");
    let advice = match written.split_once(':') {
        Some(("memory", "")) => return alone(reader, StorePlace::Memory),
        Some(("file", path)) if !path.is_empty() => {
            let place = StorePlace::File(reader.beside(PATH, path));
            return alone(reader, place);
        }
        Some(("nats" | "nats+tls" | "tls", _)) => match SharedPlace::parse(&written, credentials) {
            Ok(place) => return StorePlace::Shared(place),
            Err(advice) => advice,
        },
        _ => "use \"memory:\", \"file:PATH\" such as \"file:/var/lib/switchboard/state\", or \"nats://HOST:PORT\""
            .to_owned(),
    };
    reader.faults.push(Fault::new(reader.place(PATH), "invalid value for `store`", advice));
    StorePlace::Memory
}

/// A store that no other server uses has no configuration for them.
fn alone(reader: &mut Reader<'_>, place: StorePlace) -> StorePlace {
    if reader.flag("store_config") {
        let advice = "set `store` to nats://HOST:PORT";
        let title = "`store_config` needs a store in a NATS server";
        reader.faults.push(Fault::new(reader.place("store_config"), title, advice));
    }
    place
}

/// Reports caches that are to be shared through a store that no other server has.
pub(crate) fn check_caches(reader: &mut Reader<'_>, config: &Config) {
    let policies = config.upstreams.iter().map(|upstream| &upstream.policy);
    let mut policies = policies.chain(config.routes.iter().map(|route| &route.policy));
    let is_shared = matches!(config.store, StorePlace::Shared(_));
    if !is_shared && policies.any(|policy| policy.cache.iter().flatten().any(|cache| cache.store)) {
        let title = "`cache.store` needs a store in a NATS server";
        let advice = "set `store` to nats://HOST:PORT";
        reader.faults.push(Fault::new(reader.place("store"), title, advice));
    }
}

/// Reads how long answers are kept by idempotency key; none if they are not.
pub(crate) fn idempotency(reader: &mut Reader<'_>) -> Option<Duration> {
    reader.is_set("idempotency").then(|| reader.duration("idempotency"))
}

impl Config {
    /// Opens the stores that this configuration needs, and an agent if there is one.
    pub(crate) async fn stores(&self, has_agent: bool) -> Result<Stores, Failure> {
        if let Some(shared) = &self.shared {
            return shared.open(self, has_agent).await;
        }
        let is_file = matches!(self.store, StorePlace::File(_));
        if self.signing.is_none() && self.idempotency.is_none() && !(has_agent && is_file) {
            return Ok(Stores::default());
        }
        let (clock, limits) = (Clock::system(), StoreLimits::default());
        let store: Arc<dyn Store> = match &self.store {
            StorePlace::Shared(_) => return Err(Failure::usage("the store is not connected")),
            StorePlace::Memory => Arc::new(MemoryStore::with_clock(limits, clock)),
            StorePlace::File(path) => {
                let store = FileStore::open_with(path, limits, clock);
                Arc::new(store.map_err(|error| {
                    Failure::usage(format!("cannot use {} as the store: {error}", path.display()))
                })?)
            }
        };
        let tasks = is_file.then(|| Arc::clone(&store));
        Ok(Stores { nonces: Some(Arc::clone(&store)), answers: Some(store), tasks, ..Stores::default() })
    }
}

impl Config {
    /// The file that remembers what tools of MCP servers say: beside the store, or beside the configuration. None without either.
    pub(crate) fn pins(&self) -> Option<PathBuf> {
        let (path, name) = match &self.store {
            StorePlace::File(path) => (path.as_path(), path.file_name()?),
            StorePlace::Memory | StorePlace::Shared(_) if self.source.has_main() => {
                let path = self.source.main().path.as_path();
                (path, path.file_stem()?)
            }
            StorePlace::Memory | StorePlace::Shared(_) => return None,
        };
        let mut name = name.to_owned();
        name.push(".pins.json");
        Some(path.with_file_name(name))
    }
}

/// The layer that keeps answers for this time, of calls that may take so long.
pub(crate) fn keeping(store: Arc<dyn Store>, retention: Duration, timeout: Duration) -> Idempotency {
    let options = IdempotencyOptions::default().with_retention(retention).with_call_time(timeout);
    Idempotency::new(store).with_options(options)
}
