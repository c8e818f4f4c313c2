//! The configuration of a server: defaults, a file, the environment and flags, later ones winning.
//!
//! [`keys`] is the table of all keys. A file, and those that it includes, are read into a [`tree`] of values with their places, the
//! environment and the flags are laid over it, and [`Config`] is read from the result. All faults are reported at once, each with its
//! line.

mod arguments;
pub(crate) mod command;
mod credentials;
mod expand;
mod faults;
mod forms;
#[cfg(test)]
mod gateway_examples;
#[cfg(test)]
mod gateway_files;
mod health;
mod in_use;
mod include;
mod jobs;
mod key;
mod keys;
mod limits;
mod list_keys;
mod live;
mod log;
mod mcp;
mod names;
mod nodes;
mod otel;
mod overlay;
mod policies;
mod policy_keys;
#[cfg(test)]
mod properties;
mod published;
mod reader;
mod routes;
mod rules;
mod schema;
mod serving_keys;
mod shared_store;
mod show;
mod signing;
mod source;
mod store;
mod tree;
mod upstream_keys;
pub(crate) mod upstreams;
mod watching;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::ArgMatches;
use switchboard::Description;
use switchboard::access::{Access, Who};
use switchboard::audit::Audit;
use switchboard::identity::{Authentication, Revoked};
use switchboard::mcp::Protected;
use switchboard::rate::RateLimits;
use switchboard::server::Cidr;
use switchboard::shed::Shedding;

use crate::address;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) use self::health::HealthConfig;
pub(crate) use self::in_use::{ConfigRecord, InUse, Reloaded};
pub(crate) use self::jobs::JobsConfig;
pub(crate) use self::key::{Key, Kind};
pub(crate) use self::live::{Live, Stack};
pub(crate) use self::mcp::Mcp;
pub(crate) use self::nodes::NodeConfig;
pub(crate) use self::otel::Otel;
pub(crate) use self::policies::{CacheConfig, Hedge, PolicyConfig};
pub(crate) use self::published::Published;
pub(crate) use self::routes::{ParamsForm, RouteConfig};
pub(crate) use self::rules::{Roles, Subject};
pub(crate) use self::shared_store::SharedStore;
pub(crate) use self::store::keeping;
pub(crate) use self::upstreams::{Balance, Pin, Profile, Sessions, Sticky, UpstreamConfig};
pub(crate) use self::watching::reload;

use self::faults::Fault;
use self::policies::UpstreamNames;
use self::reader::Reader;
use self::source::Source;
use self::tree::{Entry, Table};

/// The options of `switchboard serve` that set keys.
#[cfg(test)]
pub(crate) fn flags() -> impl Iterator<Item = &'static str> {
    keys::KEYS.iter().map(|key| key.flag).filter(|flag| !flag.is_empty())
}

/// The keys of an upstream that options of `switchboard gateway` set.
pub(crate) fn upstream_flags() -> impl Iterator<Item = &'static Key> {
    upstream_keys::UPSTREAM.keys.iter().filter(|key| !key.flag.is_empty())
}

/// Where a configuration comes from, so that it can be read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// What flags and the environment set.
    overlay: overlay::Overlay,
    command: Command,
    /// What is shared with other servers, once there is a connection.
    shared: Arc<OnceLock<SharedStore>>,
    /// What is published for all servers, if this one follows that.
    pub(crate) published: Published,
}

/// Which command reads a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Command {
    /// One that only looks at it.
    #[default]
    Any,
    Serve,
    Gateway,
}

/// Keys that are only for `switchboard gateway`.
const GATEWAY_KEYS: [&str; 2] = ["upstream", "route"];

/// What a server is to do.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) listen: Vec<String>,
    pub(crate) is_listen_set: bool,
    pub(crate) public: bool,
    pub(crate) timeout: Duration,
    pub(crate) drain_time: Duration,
    pub(crate) watch: bool,
    pub(crate) validate: bool,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) is_client_cert_optional: bool,
    pub(crate) allow_host: Vec<String>,
    pub(crate) allow_origin: Vec<String>,
    pub(crate) cors: bool,
    pub(crate) playground: bool,
    pub(crate) proxy_for: Vec<String>,
    pub(crate) openrpc: String,
    pub(crate) mcp: Mcp,
    /// The MCP endpoint that clients log in for.
    pub(crate) protected: Option<Protected>,
    pub(crate) body: usize,
    pub(crate) batch: usize,
    pub(crate) buffers: usize,
    pub(crate) connections: usize,
    pub(crate) connections_per_address: Option<usize>,
    /// None keeps idle connections open.
    pub(crate) idle: Option<Duration>,
    pub(crate) authentication: Option<Authentication>,
    /// Credentials that are not accepted any more.
    pub(crate) revoked: Vec<Revoked>,
    pub(crate) roles: Roles,
    pub(crate) access: Option<Access>,
    pub(crate) rate: Option<RateLimits>,
    pub(crate) shedding: Option<Shedding>,
    pub(crate) trust_proxies: Vec<Cidr>,
    pub(crate) proxy_protocol: bool,
    pub(crate) signing: Option<signing::Signing>,
    /// How long answers are kept by idempotency key; none if they are not.
    pub(crate) idempotency: Option<Duration>,
    pub(crate) store: store::StorePlace,
    /// Where jobs are kept, if they are.
    pub(crate) jobs: Option<JobsConfig>,
    /// The connection to the store, if other servers share it.
    pub(crate) shared: Option<SharedStore>,
    pub(crate) audit: Audit,
    /// Where the admin listener listens, if there is one.
    pub(crate) admin: Option<String>,
    pub(crate) admin_who: Vec<Who>,
    pub(crate) otel: Otel,
    pub(crate) calls: log::CallLogging,
    /// Where a gateway forwards calls, in the order of their names.
    pub(crate) upstreams: Vec<UpstreamConfig>,
    pub(crate) routes: Vec<RouteConfig>,
    /// Whether there are files, which may change.
    pub(crate) has_files: bool,
    /// The values and the files that they came from.
    pub(crate) table: Table,
    pub(crate) source: Source,
    /// What is odd, for the operator.
    pub(crate) warnings: Vec<Fault>,
}

impl Origin {
    /// The configuration of `switchboard serve` with these arguments.
    pub(crate) fn new(file: Option<PathBuf>, arguments: &ArgMatches) -> Result<Origin, Failure> {
        Ok(Origin {
            file,
            overlay: overlay::Overlay::of(arguments)?,
            command: Command::Serve,
            ..Origin::default()
        })
    }

    /// The configuration of `switchboard gateway` with these arguments, of which these are upstreams: `URL` or `NAME=URL`. Options that
    /// set keys of upstreams, such as `--retry`, apply to those.
    pub(crate) fn for_gateway(
        file: Option<PathBuf>,
        arguments: &ArgMatches,
        upstreams: &[String],
    ) -> Result<Origin, Failure> {
        let overlay = overlay::Overlay::of(arguments)?.with(arguments::upstreams(upstreams, arguments)?);
        Ok(Origin { file, overlay, command: Command::Gateway, ..Origin::default() })
    }

    /// A file alone.
    pub(crate) fn file(path: &Path) -> Origin {
        Origin { file: Some(path.to_owned()), ..Origin::default() }
    }

    /// Reads the configuration, for a server with these methods.
    pub(crate) fn load(&self, methods: &Description) -> Result<Config, Failure> {
        let (source, table) = self.read(self.source()?)?;
        let config = Config::read(table, source, methods)?;
        Ok(Config { shared: self.shared.get().cloned(), ..config })
    }

    /// Connects to the store that is shared with other servers, if there is one, and reads what is published there.
    pub(crate) async fn connect(&self) -> Result<(), Failure> {
        let (source, table) = self.read(self.source()?)?;
        let mut reader = Reader::new(&table, &source);
        // What is wrong with the place is reported when all is read.
        let store::StorePlace::Shared(place) = store::store(&mut reader) else { return Ok(()) };
        let shared = place.store().await?;
        if reader.flag("store_config") {
            self.published.read_from(shared.configuration().await?).await?;
        }
        let _ = self.shared.set(shared);
        Ok(())
    }

    /// Reads the main file, if there is one.
    fn source(&self) -> Result<Source, Failure> {
        let Some(path) = &self.file else { return Ok(Source::default()) };
        Source::read(path).map_err(|error| {
            let what = format!("cannot read {}: {error}", path.display());
            Failure::new(Exit::Configuration, what)
        })
    }

    /// Everything that is set, and all files with it.
    fn read(&self, mut source: Source) -> Result<(Source, Table), Failure> {
        let mut faults = Vec::new();
        let table = self.parse(&mut source, &mut faults);
        if self.command == Command::Serve {
            faults.extend(table.0.iter().filter_map(for_gateway_only));
        }
        match faults.is_empty() {
            true => Ok((source, table)),
            false => Err(faults::failure(&faults, &source)),
        }
    }

    fn parse(&self, source: &mut Source, faults: &mut Vec<Fault>) -> Table {
        let mut table = source.main().parse(faults);
        let included = self.overlay.get(include::KEY).or_else(|| table.get(include::KEY)).cloned();
        if let Some(value) = included {
            include::include(&value, source, &mut table, faults);
        }
        self.published.include(source, &mut table, faults);
        forms::lengthen(&mut table);
        self.overlay.apply(&mut table, faults);
        table
    }
}

impl Config {
    fn read(table: Table, source: Source, methods: &Description) -> Result<Config, Failure> {
        let mut reader = Reader::new(&table, &source);
        let reader = &mut reader;
        let roles = rules::roles(reader);
        let access = rules::access(reader, &roles, methods);
        let authentication = credentials::authentication(reader, access.is_some());
        let rate = limits::rate(reader, &roles);
        let listen = listen(reader);
        let names = UpstreamNames::of(reader);
        let mut config = Config {
            mcp: mcp::mcp(reader, &listen),
            protected: mcp::protected(reader),
            listen,
            is_listen_set: reader.is_set("listen"),
            public: reader.flag("public"),
            timeout: reader.duration("timeout"),
            drain_time: reader.duration("drain_time"),
            watch: reader.flag("watch"),
            validate: reader.flag("validate"),
            tls_cert: reader.path("tls.cert"),
            tls_key: reader.path("tls.key"),
            client_ca: reader.path("tls.client_ca"),
            is_client_cert_optional: reader.choice("tls.client_cert") == "optional",
            allow_host: reader.texts("http.allow_host"),
            allow_origin: reader.texts("http.allow_origin"),
            cors: reader.flag("http.cors"),
            playground: reader.flag("http.playground"),
            proxy_for: reader.texts("http.proxy_for"),
            openrpc: reader.choice("http.openrpc"),
            body: reader.size("limits.body"),
            batch: reader.count("limits.batch").unwrap_or(1),
            buffers: reader.size("limits.buffers"),
            connections: reader.count("limits.connections").unwrap_or(1),
            connections_per_address: reader.count("limits.connections_per_address"),
            idle: reader.duration_or_never("limits.idle"),
            authentication,
            revoked: reader.parsed("auth.revoked"),
            roles,
            access,
            rate,
            shedding: limits::shedding(reader),
            trust_proxies: limits::proxies(reader),
            proxy_protocol: reader.flag("proxy_protocol"),
            signing: signing::signing(reader),
            idempotency: store::idempotency(reader),
            store: store::store(reader),
            jobs: {
                let timeout = reader.duration("timeout");
                jobs::jobs(reader, timeout)
            },
            shared: None,
            audit: Audit::default(),
            admin: admin(reader),
            admin_who: reader.parsed("admin.who"),
            otel: otel::otel(reader),
            calls: log::calls(reader),
            upstreams: upstreams::upstreams(reader, &names),
            routes: routes::routes(reader, &names),
            has_files: reader.source.has_main() || reader.is_set(include::KEY) || reader.flag("store_config"),
            table: Table::default(),
            source: Source::default(),
            warnings: Vec::new(),
        };
        store::check_caches(reader, &config);
        jobs::check(reader, &config);
        // The file is opened only for a configuration that is used.
        if reader.faults.iter().all(|fault| fault.is_warning) {
            config.audit = limits::audit(reader);
            // Metrics count what is not written, too.
            if (config.admin.is_some() || config.otel.is_on()) && !config.audit.is_on() {
                config.audit = Audit::counting();
            }
        }
        let faults = std::mem::take(&mut reader.faults);
        if faults.iter().any(|fault| !fault.is_warning) {
            return Err(faults::failure(&faults, &source));
        }
        (config.table, config.source, config.warnings) = (table, source, faults);
        Ok(config)
    }

    /// The same for a server with other methods.
    pub(crate) fn for_methods(self, methods: &Description) -> Result<Config, Failure> {
        let config = Config::read(self.table, self.source, methods)?;
        Ok(Config { shared: self.shared, ..config })
    }

    /// Keeps the state of what did not change: counts of rate limits, credentials that were fetched, the audit log.
    pub(crate) fn keep_from(&mut self, old: &Config) {
        // What is revoked is no part of the state: it is replaced by itself.
        let is_state = |key: &&Key| key.path != "auth.revoked";
        let is_same = |prefix: &str| {
            let mut keys = keys::KEYS.iter().filter(|key| key.path.starts_with(prefix)).filter(is_state);
            keys.all(|key| self.has_same(key, old))
        };
        let (rate, shed, auth) = (is_same("rate") && is_same("roles"), is_same("limits."), is_same("auth."));
        if rate {
            self.rate.clone_from(&old.rate);
        }
        if shed {
            self.shedding.clone_from(&old.shedding);
        }
        if auth && self.access.is_some() == old.access.is_some() {
            self.authentication.clone_from(&old.authentication);
        }
        self.audit = old.audit.clone();
    }

    /// Whether a key has the same values in both. A relative path is another one if its file is in another folder.
    fn has_same(&self, key: &Key, other: &Config) -> bool {
        let values = |config: &Config| {
            let node = show::located(config, key, Path::new(""))?;
            Some(node.each().iter().map(show::plain).collect::<Vec<_>>())
        };
        values(self) == values(other)
    }

    /// What is set, as a file.
    pub(crate) fn printed(&self) -> String {
        show::print(self)
    }

    /// A hash of what is set, except secrets. It is the same in all processes of one version.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        show::portable(self).hash(&mut hasher);
        format!("{:016x}", hasher.finish())[..8].to_owned()
    }

    /// What is odd, for a person; empty if nothing is.
    pub(crate) fn shown_warnings(&self) -> String {
        match self.warnings.is_empty() {
            true => String::new(),
            false => faults::render(&self.warnings, &self.source),
        }
    }
}

/// Refuses what only a gateway does.
fn for_gateway_only(entry: &Entry) -> Option<Fault> {
    let what = GATEWAY_KEYS.contains(&&*entry.name).then(|| format!("{}s", entry.name))?;
    let title = format!("{what} belong to `switchboard gateway`");
    let advice = format!("start `switchboard gateway` with this file, or remove the {what}");
    Some(Fault::new(entry.name_place.clone(), title, advice))
}

fn admin(reader: &mut Reader<'_>) -> Option<String> {
    let text = reader.text("admin.url")?;
    Some(address::listening(&text).unwrap_or(text))
}

fn listen(reader: &mut Reader<'_>) -> Vec<String> {
    let texts = reader.texts("listen");
    let urls = texts.into_iter().map(|text| match text.as_str() {
        "stdio:" => "stdio".to_owned(),
        text => address::listening(text).unwrap_or_else(|_| text.to_owned()),
    });
    urls.collect()
}
