//! Everything that runs: brokers, workers, gateways, and the ways to them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard::{CallError, Peer};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::brokers::{Brokers, address};
use super::history::{Effects, Executed, History};
use super::process::{Process, port};
use super::relay::{Mode, Relay};
use super::worker::{self, SERVICE, Setup};

const WORKERS: usize = 3;
const GATEWAYS: usize = 2;
/// How many connections to brokers callers have.
const DIRECT: usize = 2;

/// The name that signed messages are for.
pub(crate) const AUDIENCE: &str = "https://chaos.example/rpc";

const KEYS: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob\n";

/// How long it may take until calls are answered when everything works.
const PATIENCE: Duration = Duration::from_secs(30);

/// What runs. All of it ends when this is dropped.
pub(crate) struct Fleet {
    pub(crate) brokers: Brokers,
    pub(crate) workers: Vec<Process>,
    pub(crate) gateways: Vec<Process>,
    /// The relays of workers, gateways and callers, each of its own.
    pub(crate) relays: Vec<Relay>,
    pub(crate) ways: Vec<Arc<Way>>,
    records: Vec<PathBuf>,
    folder: Folder,
}

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Fleet {
    pub(crate) async fn start(nodes: usize) -> Fleet {
        let folder = Folder(std::env::temp_dir().join(format!("switchboard-chaos-{:x}", fastrand::u64(..))));
        fs::create_dir_all(&folder.0).unwrap();
        let keys = folder.0.join("keys");
        fs::write(&keys, KEYS).unwrap();
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
        let effects = folder.0.join("effects");
        fs::create_dir_all(&effects).unwrap();
        let brokers = Brokers::start(nodes).await;
        let (mut workers, mut gateways) = (Vec::new(), Vec::new());
        let (mut relays, mut ways, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..WORKERS {
            let relay = brokers.relay(number).await;
            let record = folder.0.join(format!("executed-{number}"));
            let broker = address(&relay).to_owned();
            let setup = Setup { broker, replicas: nodes, record: record.clone(), effects: effects.clone() };
            let log = folder.0.join(format!("worker-{number}.log"));
            let name = format!("worker {number}");
            workers.push(Process::start(name, Setup::command(), setup.environment(), log));
            relays.push(relay);
            records.push(record);
        }
        for number in 0..GATEWAYS {
            let (relay, store) = (brokers.relay(number).await, brokers.relay(number + 1).await);
            let (file, port) = (folder.0.join(format!("gateway-{number}.toml")), port());
            fs::write(&file, configuration(port, &relay, &store, nodes, &keys)).unwrap();
            let program = env!("CARGO_BIN_EXE_switchboard");
            let command = [program, "gateway", "--config", file.to_str().unwrap()].map(str::to_owned);
            let log = folder.0.join(format!("gateway-{number}.log"));
            gateways.push(Process::start(format!("gateway {number}"), command.to_vec(), Vec::new(), log));
            relays.extend([relay, store]);
            ways.push(Arc::new(Way::new("gateway", format!("127.0.0.1:{port}"))));
        }
        for number in 0..DIRECT {
            let relay = brokers.relay(number).await;
            ways.push(Arc::new(Way::new("nats", format!("{}/{SERVICE}", address(&relay)))));
            relays.push(relay);
        }
        Fleet { brokers, workers, gateways, relays, ways, records, folder }
    }

    /// Where signed messages are sent to.
    pub(crate) fn gateways(&self) -> impl Iterator<Item = &Arc<Way>> {
        self.ways.iter().filter(|way| way.is_gateway())
    }

    /// The file with the key that signs.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.0.join("keys")
    }

    pub(crate) fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.workers.iter_mut().chain(&mut self.gateways)
    }

    /// Starts again what has ended. A gateway or a worker may not find its broker; any other end is recorded.
    pub(crate) fn revive(&mut self, history: &History) {
        for process in self.processes() {
            if let Some(status) = process.revive()
                && status.code() != Some(2)
            {
                history.crash(format!("{} ended with {status}", process.name));
            }
        }
    }

    /// Repairs everything, and waits until calls of each kind are answered on each way.
    pub(crate) async fn serves(&mut self) {
        self.brokers.repair();
        self.relays.iter().for_each(|relay| relay.set(Mode::Works));
        let begun = Instant::now();
        for way in self.ways.clone() {
            let mut answered = 0;
            while answered < WORKERS * 4 {
                answered = if way.works().await { answered + 1 } else { 0 };
                self.revive(&History::default());
                assert!(begun.elapsed() < PATIENCE, "{} does not work again:\n{}", way.place, self.logs());
            }
        }
    }

    /// The most memory that each process had, and each of those before it that ended.
    pub(crate) fn memory(&mut self) -> Vec<(String, usize)> {
        let mut memory: Vec<_> =
            self.processes().map(|process| (process.name.clone(), process.memory())).collect();
        memory
            .extend(self.brokers.memory().enumerate().map(|(node, bytes)| (format!("broker {node}"), bytes)));
        memory
    }

    /// The jobs that took effect.
    pub(crate) fn effects(&self) -> Effects {
        worker::effects(&self.folder.0.join("effects"))
    }

    pub(crate) fn executed(&self) -> Executed {
        worker::executed(self.records.iter())
    }

    /// Ends all processes by SIGTERM, gateways first.
    pub(crate) async fn stop(&mut self) {
        let logs = self.logs();
        for process in self.gateways.iter_mut().chain(&mut self.workers) {
            process.signal("TERM");
            let status = process.ended().await;
            assert!(status.is_some_and(|status| status.success()), "{}: {status:?}\n{logs}", process.name);
            assert_eq!(process.panics(), [""; 0], "{}", process.name);
        }
    }

    /// The end of each log.
    fn logs(&self) -> String {
        let mut files: Vec<_> =
            fs::read_dir(&self.folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        files.sort();
        let end = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(8).collect();
            format!("{}:\n{}\n", path.display(), lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        files.iter().map(end).collect()
    }
}

fn configuration(port: u16, relay: &Relay, store: &Relay, replicas: usize, keys: &PathBuf) -> String {
    format!(
        r#"
listen      = "http://127.0.0.1:{port}"
store       = "nats://{}/chaos?replicas={replicas}"
idempotency = "1h"
timeout     = "3s"

[signing]
keys     = {keys:?}
required = "signed"
audience = "{AUDIENCE}"

[upstream.chaos]
url     = "nats://{}/chaos"
prefix  = ""
safe    = "safe"
retry   = 3
timeout = "2s"
"#,
        address(store),
        address(relay)
    )
}

/// A way to the workers.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// Host and port, and what follows.
    pub(crate) place: String,
    peer: Mutex<Option<Peer>>,
}

impl Way {
    fn new(name: &'static str, place: String) -> Way {
        Way { name, place, peer: Mutex::default() }
    }

    pub(crate) fn is_gateway(&self) -> bool {
        self.name == "gateway"
    }

    /// The connection for calls, which all callers share.
    pub(crate) async fn peer(&self) -> Result<Peer, CallError> {
        let mut peer = self.peer.lock().await;
        if let Some(peer) = &*peer {
            return Ok(peer.clone());
        }
        let scheme = if self.is_gateway() { "http" } else { "nats" };
        let made = connect(&format!("{scheme}://{}", self.place)).await?;
        Ok(peer.insert(made).clone())
    }

    /// A connection of its own, for a subscription.
    pub(crate) async fn own(&self) -> Result<Peer, CallError> {
        let scheme = if self.is_gateway() { "ws" } else { "nats" };
        connect(&format!("{scheme}://{}", self.place)).await
    }

    async fn works(&self) -> bool {
        let Ok(peer) = self.peer().await else { return false };
        let key = format!("works-{}", fastrand::u64(..));
        // With a key, so that the store of a gateway has to work as well.
        let call = peer.call::<()>("ping", ()).metadata("idempotency-key", key);
        call.timeout(Duration::from_millis(500)).await.is_ok()
    }
}

async fn connect(url: &str) -> Result<Peer, CallError> {
    let connecting = timeout(Duration::from_secs(2), switchboard::connect(url)).await;
    let connected = connecting.map_err(|_| CallError::Unreachable("no connection within 2 s".into()))?;
    connected.map_err(|error| CallError::Unreachable(error.to_string().into()))
}
