//! Saying once that metrics cannot be sent, and when they can be again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;

/// An exporter that logs when metrics cannot be sent any more, and when they can again.
pub(super) struct Reporting {
    exporter: MetricExporter,
    is_failing: AtomicBool,
}

impl Reporting {
    pub(super) fn new(exporter: MetricExporter) -> Reporting {
        Reporting { exporter, is_failing: AtomicBool::new(false) }
    }
}

impl PushMetricExporter for Reporting {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        let was_failing = self.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !was_failing => {
                tracing::warn!(%error, "metrics cannot be exported; they are kept until they can be");
            }
            Ok(()) if was_failing => tracing::info!("metrics are exported again"),
            _ => {}
        }
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
