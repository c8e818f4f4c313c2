//! Where traces and metrics go, by configuration or by the environment variables that OpenTelemetry defines.

use std::env;

use switchboard::trace::{TraceSampler, TraceTrust};

use super::reader::Reader;
use crate::failure::Failure;

/// What to send to a collector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Otel {
    /// None leaves it to the environment.
    pub(crate) endpoint: Option<String>,
    pub(crate) is_grpc: bool,
    sample: Option<f64>,
    trust: Option<TraceTrust>,
    pub(crate) baggage: Vec<String>,
    pub(crate) metrics: bool,
}

/// Reads the keys.
pub(crate) fn otel(reader: &mut Reader<'_>) -> Otel {
    let protocol = reader.is_set("otel.protocol").then(|| reader.choice("otel.protocol"));
    let protocol = protocol.or_else(|| variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"));
    let protocol = protocol.or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
    Otel {
        endpoint: reader.text("otel.endpoint"),
        is_grpc: protocol.as_deref() == Some("grpc"),
        sample: reader.is_set("otel.sample").then(|| reader.percent("otel.sample")),
        trust: reader.is_set("otel.trust").then(|| match &*reader.choice("otel.trust") {
            "local" => TraceTrust::Local,
            "never" => TraceTrust::Never,
            _ => TraceTrust::Always,
        }),
        baggage: reader.texts("otel.baggage"),
        metrics: reader.flag("otel.metrics"),
    }
}

impl Otel {
    /// Whether anything is to be sent.
    pub(crate) fn is_on(&self) -> bool {
        let endpoints = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
        let is_named = self.endpoint.is_some() || endpoints.iter().any(|name| variable(name).is_some());
        is_named && !variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Which traces are recorded.
    pub(crate) fn sampler(&self) -> Result<TraceSampler, Failure> {
        if let Some(share) = self.sample {
            return Ok(TraceSampler::ratio(share));
        }
        let Some(name) = variable("OTEL_TRACES_SAMPLER") else { return Ok(TraceSampler::default()) };
        let wrong = |text: String| {
            Failure::usage(text).advise("correct the environment variable, or set `--trace-sample`")
        };
        let sampler: TraceSampler =
            name.parse().map_err(|error| wrong(format!("OTEL_TRACES_SAMPLER: {error}")))?;
        match variable("OTEL_TRACES_SAMPLER_ARG").filter(|_| name.ends_with("traceidratio")) {
            None => Ok(sampler),
            Some(text) => {
                let ratio = text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
                let ratio = ratio.ok_or_else(|| {
                    wrong(format!("OTEL_TRACES_SAMPLER_ARG: {text:?} is not a number from 0 to 1"))
                })?;
                Ok(sampler.with_ratio(ratio))
            }
        }
    }

    /// Whose traces are continued. What strangers say must not cost anything.
    pub(crate) fn trust(&self, strangers_can_call: bool) -> TraceTrust {
        let safe = if strangers_can_call { TraceTrust::Local } else { TraceTrust::Always };
        self.trust.unwrap_or(safe)
    }
}

/// An environment variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
