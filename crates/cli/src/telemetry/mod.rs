//! Traces and metrics for a collector of OpenTelemetry.

mod http;
mod reporting;

use std::fmt::Display;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use switchboard::Description;
use switchboard::metrics::Metrics;
use switchboard::observer::SharedObserver;
use switchboard::trace::Tracing;

use self::http::Sender;
use self::reporting::Reporting;
use crate::config::{Config, Otel};
use crate::failure::Failure;

/// What is sent while the server runs.
#[derive(Clone)]
pub(crate) struct Telemetry {
    pub(crate) tracing: Tracing,
    meters: Option<SdkMeterProvider>,
}

impl Telemetry {
    /// Starts sending, if the configuration says where to. Must be called in the runtime.
    pub(crate) fn start(config: &Config, methods: &Description) -> Result<Option<Telemetry>, Failure> {
        let otel = &config.otel;
        if !otel.is_on() {
            return Ok(None);
        }
        let strangers_can_call = config.public && config.authentication.is_none();
        let tracing = Tracing::builder()
            .with_sampler(otel.sampler()?)
            .with_trust(otel.trust(strangers_can_call))
            .with_baggage(otel.baggage.iter().cloned())
            .with_methods(
                methods.methods.iter().map(|method| &method.name).map(String::as_str).chain(["rpc.discover"]),
            )
            .with_resource(resource())
            .start(spans(otel)?);
        let meters = otel.metrics.then(|| meters(otel)).transpose()?;
        Ok(Some(Telemetry { tracing, meters }))
    }

    /// What watches the server. The numbers are those of these metrics.
    pub(crate) fn observers(&self, metrics: &Metrics) -> Vec<SharedObserver> {
        let mut observers = vec![self.tracing.clone().into()];
        if let Some(meters) = &self.meters {
            observers.push(metrics.through(&meters.meter("switchboard")).into());
        }
        observers
    }

    /// Sends what is left, for up to this long.
    pub(crate) async fn shut_down(self, patience: Duration) {
        // Both wait for their threads.
        let done = tokio::task::spawn_blocking(move || {
            self.tracing.shut_down(patience);
            if let Some(meters) = self.meters {
                let _ = meters.shutdown_with_timeout(patience);
            }
        });
        let _ = done.await;
    }
}

/// What runs, with the attributes that the environment adds.
fn resource() -> Resource {
    let is_named = ["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"].iter().any(|name| {
        std::env::var(name).is_ok_and(|value| *name == "OTEL_SERVICE_NAME" || value.contains("service.name="))
    });
    let builder = Resource::builder();
    let builder = if is_named { builder } else { builder.with_service_name("switchboard") };
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    builder.with_attribute(version).build()
}

fn spans(otel: &Otel) -> Result<SpanExporter, Failure> {
    let exporter = if otel.is_grpc {
        let builder = SpanExporter::builder().with_tonic();
        with_endpoint(builder, otel.endpoint.clone()).build()
    } else {
        let builder = SpanExporter::builder().with_http().with_http_client(Sender::new());
        with_endpoint(builder, path(otel, "v1/traces")).build()
    };
    exporter.map_err(|error| unusable(otel, &error))
}

fn meters(otel: &Otel) -> Result<SdkMeterProvider, Failure> {
    let exporter = if otel.is_grpc {
        let builder = MetricExporter::builder().with_tonic();
        with_endpoint(builder, otel.endpoint.clone()).build()
    } else {
        let builder = MetricExporter::builder().with_http().with_http_client(Sender::new());
        with_endpoint(builder, path(otel, "v1/metrics")).build()
    };
    let exporter = Reporting::new(exporter.map_err(|error| unusable(otel, &error))?);
    Ok(SdkMeterProvider::builder().with_resource(resource()).with_periodic_exporter(exporter).build())
}

fn with_endpoint<B: WithExportConfig>(builder: B, endpoint: Option<String>) -> B {
    match endpoint {
        Some(endpoint) => builder.with_endpoint(endpoint),
        None => builder,
    }
}

/// The URL for one kind of data. Without a configured one, the exporter finds it in the environment.
fn path(otel: &Otel, path: &str) -> Option<String> {
    let endpoint = otel.endpoint.as_ref()?;
    Some(format!("{}/{path}", endpoint.trim_end_matches('/')))
}

fn unusable(otel: &Otel, error: &dyn Display) -> Failure {
    let endpoint = otel.endpoint.as_deref().unwrap_or("the URL in OTEL_EXPORTER_OTLP_ENDPOINT");
    let text = format!("cannot send traces to {endpoint}: {error}");
    Failure::usage(text).advise("write the URL of a collector, such as `--otlp http://127.0.0.1:4318`")
}
