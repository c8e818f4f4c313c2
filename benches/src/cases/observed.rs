//! Switchboard in process while it is observed: with a log, with metrics, with traces.

use bytes::Bytes;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use switchboard::lines::LogFile;
use switchboard::log::CallLog;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::trace::{TraceSampler, Tracing};
use switchboard::{Context, Engine, Origin};

use super::switchboard::{router, settings};
use super::{Case, ready};

/// The call that nothing observes.
pub const UNOBSERVED: &str = "unobserved";

/// The call with a line in a file, and counted.
pub const LOGGED: &str = "log and metrics";

/// The same with traces, of which one in a hundred is recorded.
pub const TRACED: &str = "log, metrics, traces at 1 %";

/// A call that is observed.
pub struct Observed {
    name: &'static str,
    engine: Engine,
    context: Context,
}

/// Something to observe with.
type Observing = fn() -> SharedObserver;

/// Everything alone and together.
pub fn all() -> Vec<Observed> {
    let some: [(&'static str, &[Observing]); 6] = [
        (UNOBSERVED, &[]),
        ("log", &[log]),
        ("metrics", &[metrics]),
        ("traces at 1 %", &[traces]),
        (LOGGED, &[log, metrics]),
        (TRACED, &[log, metrics, traces]),
    ];
    some.into_iter().map(|(name, observing)| Observed::new(name, observing)).collect()
}

/// What logs and counts.
pub fn observers() -> Vec<SharedObserver> {
    vec![log(), metrics()]
}

fn log() -> SharedObserver {
    // It begins again when it is full, so that the disk does not fill.
    let file = LogFile::new(std::env::temp_dir().join("switchboard-bench.jsonl")).with_kept(0);
    CallLog::builder().into_file(file).expect("the folder for temporary files is writable").into()
}

fn metrics() -> SharedObserver {
    Metrics::of(&router()).into()
}

fn traces() -> SharedObserver {
    Tracing::builder().with_methods(["add"]).with_sampler(TraceSampler::ratio(0.01)).start(Nowhere).into()
}

/// An exporter that forgets spans.
#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

impl Observed {
    fn new(name: &'static str, observing: &[Observing]) -> Self {
        let observers: Vec<_> = observing.iter().map(|start| start()).collect();
        let observer = if observers.is_empty() { None } else { Some(observers.into()) };
        let engine = Engine::new(router(), settings().with_observer(observer));
        let context = Context::new(Origin::new("http").with_address(([127, 0, 0, 1], 50123).into()));
        Self { name, engine, context }
    }
}

impl Case for Observed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn call(&self, body: Bytes) -> Bytes {
        let answer = ready(self.engine.exchange(body, &self.context));
        answer.into_body().expect("the call is answered")
    }
}
