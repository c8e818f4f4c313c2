//! The services API of NATS: how its tools find workers, and what they do.
//!
//! `$SRV.PING`, `$SRV.INFO` and `$SRV.STATS`, for all services, for one by name, and for one worker by its identifier.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::Message;
use futures_util::StreamExt as _;
use switchboard_core::{Call, Json, ObjectWriter, Outcome, Reply, Service};

use super::link::Link;
use super::subject;
use super::token::Tokens;

/// The types of the responses.
const TYPES: &str = "io.nats.micro.v1.";

/// The most endpoints that are listed, so that the list fits into a message.
const ENDPOINTS: usize = 1000;

/// The version of a service that does not tell its own.
const UNKNOWN: &str = "0.0.0";

/// How long the service may take to describe its methods.
const DISCOVERY: Duration = Duration::from_secs(1);

/// What a worker tells about itself.
pub(super) struct Services {
    link: Arc<Link>,
    service: Arc<dyn Service>,
    /// The worker.
    id: String,
    counted: Arc<Counted>,
    /// Whether callers need no credentials to see the methods.
    is_open: bool,
    /// The version of the service, as far as it describes itself.
    version: Mutex<String>,
    /// When it started, as the API writes times.
    started: String,
}

/// What the methods of a worker did so far. Only methods that the service describes are counted, so callers cannot add to the list.
#[derive(Default)]
pub(super) struct Counted(Mutex<HashMap<Box<str>, Count>>);

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    errors: u64,
    nanoseconds: u64,
}

impl Counted {
    fn locked<T>(&self, act: impl FnOnce(&mut HashMap<Box<str>, Count>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a call that has ended.
    pub(super) fn count(&self, method: &str, reply: &Reply, took: Duration) {
        self.locked(|counts| {
            let Some(count) = counts.get_mut(method) else { return };
            count.requests += 1;
            count.errors += u64::from(matches!(reply.outcome, Outcome::Error(_)));
            count.nanoseconds += u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        });
    }

    /// Counts these methods from now on, and no others.
    fn only(&self, methods: &[String]) {
        self.locked(|counts| {
            let kept = methods.iter().map(|method| {
                let count = counts.get(&**method).copied().unwrap_or_default();
                (method.as_str().into(), count)
            });
            *counts = kept.collect();
        });
    }
}

impl Services {
    pub(super) fn new(
        link: Arc<Link>,
        service: Arc<dyn Service>,
        counted: Arc<Counted>,
        is_open: bool,
    ) -> Arc<Services> {
        let mut id = String::new();
        Tokens::default().next().write(&mut id);
        let version = Mutex::new(UNKNOWN.to_owned());
        Arc::new(Services { link, service, id, counted, is_open, version, started: now() })
    }

    /// Answers requests. Without permission for the subjects nothing arrives, and calls are served all the same.
    pub(super) async fn run(&self) {
        let name = &self.link.address.service;
        let subjects = ["$SRV.*".to_owned(), format!("$SRV.*.{name}"), format!("$SRV.*.{name}.{}", self.id)];
        self.methods().await;
        let mut requests = futures_util::stream::SelectAll::new();
        for subject in subjects {
            if let Ok(subscription) = self.link.client().subscribe(subject).await {
                requests.push(subscription);
            }
        }
        while let Some(Message { subject, reply, .. }) = requests.next().await {
            let Some(reply) = reply.filter(|reply| !reply.starts_with('$')) else { continue };
            let answer = match subject.split('.').nth(1) {
                Some("PING") => self.head("ping_response").finish(),
                Some("INFO") => self.info().await,
                Some("STATS") => self.stats(),
                _ => continue,
            };
            drop(self.link.client().publish(reply, answer.as_bytes().to_vec().into()).await);
        }
    }

    fn head(&self, kind: &str) -> ObjectWriter {
        let kind = format!("{TYPES}{kind}");
        let metadata = |metadata: ObjectWriter| metadata.text("switchboard", env!("CARGO_PKG_VERSION"));
        ObjectWriter::with_capacity(256)
            .text("type", &kind)
            .text("name", &self.link.address.service)
            .text("id", &self.id)
            .text("version", &self.version.lock().unwrap_or_else(PoisonError::into_inner))
            .object("metadata", metadata)
    }

    async fn info(&self) -> Json {
        let head = self.head("info_response").text("description", "JSON-RPC, served by Switchboard").finish();
        let name = &self.link.address.service;
        let endpoints = self.methods().await.into_iter().filter_map(|method| {
            let subject = subject::encode(name, &method)?;
            let endpoint = ObjectWriter::with_capacity(128)
                .text("name", &plain(&method))
                .text("subject", &subject)
                .text("queue_group", name)
                .object("metadata", |metadata| metadata.text("method", &method));
            Some(endpoint.finish())
        });
        with_endpoints(&head, endpoints)
    }

    fn stats(&self) -> Json {
        let name = &self.link.address.service;
        let counts: BTreeMap<_, _> = self
            .counted
            .locked(|counts| counts.iter().map(|(method, count)| (method.clone(), *count)).collect());
        let endpoints = counts.into_iter().filter_map(|(method, count)| {
            let endpoint = ObjectWriter::with_capacity(256)
                .text("name", &plain(&method))
                .text("subject", &subject::encode(name, &method)?)
                .text("queue_group", name)
                .number("num_requests", count.requests)
                .number("num_errors", count.errors)
                .number("processing_time", count.nanoseconds)
                .number("average_processing_time", count.nanoseconds / count.requests.max(1));
            Some(endpoint.finish())
        });
        with_endpoints(&self.head("stats_response").text("started", &self.started).finish(), endpoints)
    }

    /// The methods that the service describes.
    async fn methods(&self) -> Vec<String> {
        if !self.is_open {
            return Vec::new();
        }
        let discovering = self.service.call(&Call::new("rpc.discover", None));
        let Ok(reply) = tokio::time::timeout(DISCOVERY, discovering).await else { return Vec::new() };
        let described = match &reply.outcome {
            Outcome::Value(document) => described(document).unwrap_or_default(),
            _ => Described::default(),
        };
        self.counted.only(&described.methods);
        let version = described.version.filter(|version| is_semantic(version));
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) =
            version.unwrap_or_else(|| UNKNOWN.to_owned());
        described.methods
    }
}

/// What an OpenRPC document says.
#[derive(Default)]
struct Described {
    methods: Vec<String>,
    version: Option<String>,
}

fn described(document: &Json) -> Option<Described> {
    type Object = BTreeMap<String, Json>;
    let document: Object = document.decode().ok()?;
    let methods: Vec<Object> = document.get("methods")?.decode().ok()?;
    let names = methods.iter().filter_map(|method| method.get("name")?.decode().ok());
    let info: Option<Object> = document.get("info").and_then(|info| info.decode().ok());
    let version = info.and_then(|info| info.get("version")?.decode().ok());
    Some(Described { methods: names.take(ENDPOINTS).collect(), version })
}

/// Whether tools of NATS accept it as a version: three numbers, and what may follow them.
fn is_semantic(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let rest = &version[core.len()..];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && rest.len() != 1
        && rest.len() <= 64
        && rest.bytes().all(is_plain)
}

/// An object with the list of endpoints as its last member.
fn with_endpoints(head: &Json, endpoints: impl Iterator<Item = Json>) -> Json {
    let endpoints: Vec<String> = endpoints.map(|endpoint| endpoint.as_str().to_owned()).collect();
    let head = head.as_str().strip_suffix('}').expect("it is an object");
    Json::parse(format!("{head},\"endpoints\":[{}]}}", endpoints.join(","))).expect("its parts are JSON")
}

/// A method as the name of an endpoint.
fn plain(method: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    method.chars().map(plain).collect()
}

/// The time, as in `2026-01-31T12:00:00Z`.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", time / 3600, time / 60 % 60, time % 60)
}

/// The date this many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut rest) = (1970, days);
    while rest >= 365 + u64::from(is_leap(year)) {
        rest -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_three_numbers() {
        for version in ["0.1.0", "10.20.30", "1.0.0-rc.1", "1.0.0+build", "0.0.0"] {
            assert!(is_semantic(version), "{version}");
        }
        for version in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0 ", "1..0", "1.0.0-\n"]
        {
            assert!(!is_semantic(version), "{version}");
        }
    }

    #[test]
    fn a_day_has_a_date() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_454), (2026, 1, 1));
        assert_eq!(date(20_818), (2026, 12, 31));
    }

    #[test]
    fn only_methods_that_are_described_are_counted() {
        let counted = Counted::default();
        counted.only(&["add".to_owned()]);
        counted.count("add", &Reply::value(Json::NULL), Duration::from_nanos(7));
        counted.count("made-up", &Reply::value(Json::NULL), Duration::from_nanos(7));
        counted.only(&["add".to_owned(), "sub".to_owned()]);
        let counts = counted.locked(|counts| counts.clone());
        assert_eq!(counts.len(), 2);
        assert_eq!((counts["add"].requests, counts["add"].nanoseconds, counts["sub"].requests), (1, 7, 0));
    }
}
