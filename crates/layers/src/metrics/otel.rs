//! The same numbers through a meter of OpenTelemetry, which pushes them to a collector.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter};
use switchboard_core::observer::{Ended, Observer};

use super::{CallOutcome, Kind, Metrics, OTHER, Snapshot};

/// The limits of buckets that OpenTelemetry recommends, in seconds (OBS-R-07).
const LIMITS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Records the durations of calls with a meter, as an observer. See [`Metrics::through`].
#[derive(Clone, Debug)]
pub struct MeteredCalls {
    metrics: Metrics,
    durations: Histogram<f64>,
}

impl Metrics {
    /// Records all numbers with this meter too. The observer that is returned records the durations of calls, and has to be notified like
    /// [`Metrics`] itself; everything else is read when the meter asks for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use opentelemetry::metrics::Meter;
    /// use switchboard_core::Settings;
    /// use switchboard_core::observer::SharedObserver;
    /// use switchboard_layers::metrics::Metrics;
    ///
    /// fn observed(metrics: Metrics, meter: &Meter) -> Settings {
    ///     let calls = metrics.through(meter);
    ///     let observers: Vec<SharedObserver> = vec![metrics.into(), calls.into()];
    ///     Settings::default().with_observer(Some(observers.into()))
    /// }
    /// ```
    #[must_use]
    pub fn through(&self, meter: &Meter) -> MeteredCalls {
        let durations = meter
            .f64_histogram("rpc.server.call.duration")
            .with_unit("s")
            .with_description("How long calls took, by method and outcome.")
            .with_boundaries(LIMITS.to_vec())
            .build();
        self.observe(meter, "switchboard.calls.in_flight", |numbers| vec![(None, numbers.in_flight)]);
        self.observe(meter, "switchboard.streams.open", |numbers| vec![(None, numbers.streams)]);
        self.observe(meter, "switchboard.sessions.open", |numbers| {
            let sessions = numbers.sessions.iter();
            sessions
                .map(|(transport, open, _)| (Some(KeyValue::new("transport", *transport)), *open))
                .collect()
        });
        self.count(meter, "switchboard.messages.received", "kind", |numbers| numbers.messages.to_vec());
        self.count(meter, "switchboard.refused", "reason", |numbers| numbers.refused.clone());
        self.count(meter, "switchboard.security_events", "event", |numbers| numbers.security.clone());
        self.count(meter, "switchboard.bytes", "direction", |numbers| {
            vec![("received", numbers.bytes_in), ("sent", numbers.bytes_out)]
        });
        self.observe_families(meter);
        MeteredCalls { metrics: self.clone(), durations }
    }

    /// Numbers of one's own, such as `switchboard_calls_waiting`, which becomes `switchboard.calls_waiting`.
    fn observe_families(&self, meter: &Meter) {
        for (index, family) in self.0.families.iter().enumerate() {
            let name = family.name.trim_end_matches("_total").replacen('_', ".", 1);
            let metrics = self.clone();
            let observe = move |to: &dyn AsyncInstrument<f64>| {
                for (labels, value) in (metrics.0.families[index].read)() {
                    let labels: Vec<_> =
                        labels.into_iter().map(|(name, value)| KeyValue::new(name, value)).collect();
                    to.observe(value, &labels);
                }
            };
            match family.kind {
                Kind::Counter => drop(meter.f64_observable_counter(name).with_callback(observe).build()),
                Kind::Gauge => drop(meter.f64_observable_gauge(name).with_callback(observe).build()),
                // The resource says what runs.
                Kind::Info => {}
            }
        }
    }

    fn observe(
        &self,
        meter: &Meter,
        name: &'static str,
        read: impl Fn(&Snapshot) -> Vec<(Option<KeyValue>, u64)> + Send + Sync + 'static,
    ) {
        let metrics = self.clone();
        let gauge = meter.u64_observable_gauge(name).with_callback(move |observer| {
            for (attribute, value) in read(&metrics.snapshot()) {
                observer.observe(value, attribute.as_slice());
            }
        });
        let _ = gauge.build();
    }

    fn count(
        &self,
        meter: &Meter,
        name: &'static str,
        label: &'static str,
        read: impl Fn(&Snapshot) -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) {
        let metrics = self.clone();
        let counter = meter.u64_observable_counter(name).with_callback(move |observer| {
            for (value, count) in read(&metrics.snapshot()) {
                observer.observe(count, &[KeyValue::new(label, value)]);
            }
        });
        let _ = counter.build();
    }
}

impl Observer for MeteredCalls {
    fn ended(&self, call: &Ended<'_>) {
        let is_known = self.metrics.knows(call.method.as_bytes());
        let method = if is_known { call.method.as_str().to_owned() } else { OTHER.to_owned() };
        let mut attributes =
            vec![KeyValue::new("rpc.system.name", "jsonrpc"), KeyValue::new("rpc.method", method)];
        let outcome = CallOutcome::of(call.end);
        if let Some(code) = outcome.code() {
            attributes.push(KeyValue::new("rpc.status_code", code.0.to_string()));
        }
        if outcome != CallOutcome::Ok {
            attributes.push(KeyValue::new("error.type", outcome.error_type()));
        }
        self.durations.record(call.duration.as_secs_f64(), &attributes);
    }
}
