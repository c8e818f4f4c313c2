//! Which traces are recorded.

use std::str::FromStr;

use switchboard_core::TraceContext;
use thiserror::Error;

/// Decides which traces are recorded, under the names that OpenTelemetry gives to samplers.
///
/// # Examples
///
/// ```
/// use switchboard_layers::trace::TraceSampler;
///
/// let sampler: TraceSampler = "parentbased_traceidratio".parse::<TraceSampler>()?.with_ratio(0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSampler {
    /// Whether calls in a trace are recorded exactly if their caller is.
    follows: bool,
    ratio: f64,
}

/// The name of a sampler that does not exist.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "there is no sampler {0:?}; the names are always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off and parentbased_traceidratio"
)]
pub struct SamplerError(String);

impl TraceSampler {
    /// Records this share of the traces that begin here, from 0.0 to 1.0, and those of callers that record theirs.
    #[must_use]
    pub fn ratio(ratio: f64) -> TraceSampler {
        TraceSampler { follows: true, ratio: ratio.clamp(0.0, 1.0) }
    }

    /// Sets the share of traces, from 0.0 to 1.0.
    #[must_use]
    pub fn with_ratio(self, ratio: f64) -> TraceSampler {
        TraceSampler { ratio: ratio.clamp(0.0, 1.0), ..self }
    }

    /// A new span below this one; without one, the first of a trace.
    pub(super) fn child(&self, parent: Option<TraceContext>) -> TraceContext {
        let (trace, random) = match parent {
            Some(parent) => (parent.trace, parent.flags & TraceContext::RANDOM),
            None => (random_trace(), TraceContext::RANDOM),
        };
        let is_sampled = match parent {
            Some(parent) if self.follows => parent.is_sampled(),
            _ => self.takes(&trace),
        };
        let sampled = if is_sampled { TraceContext::SAMPLED } else { 0 };
        TraceContext { trace, span: fastrand::u64(..).max(1).to_be_bytes(), flags: sampled | random }
    }

    /// Whether this trace is among those recorded. Everything with the same ratio decides the same.
    fn takes(&self, trace: &[u8; 16]) -> bool {
        const HALF: u64 = 1 << 63;
        let [.., a, b, c, d, e, f, g, h] = *trace;
        // The same arithmetic as in OpenTelemetry's own libraries.
        let low = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        self.ratio >= 1.0 || low < (self.ratio * HALF as f64) as u64
    }
}

/// The identifier of a new trace, never all zero. Two halves take less time than a number of 128 bits within bounds.
fn random_trace() -> [u8; 16] {
    let (high, low) = (fastrand::u64(..), fastrand::u64(..).max(1));
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

/// Records all traces, except those of callers that do not record theirs.
impl Default for TraceSampler {
    fn default() -> TraceSampler {
        TraceSampler::ratio(1.0)
    }
}

impl FromStr for TraceSampler {
    type Err = SamplerError;

    fn from_str(name: &str) -> Result<TraceSampler, SamplerError> {
        let (follows, kind) = match name.strip_prefix("parentbased_") {
            Some(kind) => (true, kind),
            None => (false, name),
        };
        match kind {
            "always_on" | "traceidratio" => Ok(TraceSampler { follows, ratio: 1.0 }),
            "always_off" => Ok(TraceSampler { follows, ratio: 0.0 }),
            _ => Err(SamplerError(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn share(sampler: TraceSampler) -> usize {
        (0..10_000).filter(|_| sampler.child(None).is_sampled()).count()
    }

    #[test]
    fn a_ratio_is_kept_for_traces_that_begin_here() {
        assert_eq!(share(TraceSampler::ratio(0.0)), 0);
        assert_eq!(share(TraceSampler::ratio(1.0)), 10_000);
        // Seven standard deviations.
        assert!((30..170).contains(&share(TraceSampler::ratio(0.01))));
    }

    // OBS-T-05
    #[test]
    fn a_child_has_the_trace_of_its_parent_and_a_new_span() {
        let parent = TraceContext::parse(SAMPLED).unwrap();
        let child = TraceSampler::ratio(0.0).child(Some(parent));
        assert!(child.trace == parent.trace && child.span != parent.span && child.is_sampled());
        let unsampled = TraceContext { flags: 0, ..parent };
        assert!(!TraceSampler::default().child(Some(unsampled)).is_sampled());
        let on: TraceSampler = "always_on".parse().unwrap();
        assert!(on.child(Some(unsampled)).is_sampled());
    }

    #[test]
    fn samplers_have_the_names_of_opentelemetry() {
        for (name, expected) in [("always_on", 10_000), ("always_off", 0), ("parentbased_always_on", 10_000)]
        {
            assert_eq!(share(name.parse().unwrap()), expected, "{name}");
        }
        assert!(
            "jaeger_remote"
                .parse::<TraceSampler>()
                .unwrap_err()
                .to_string()
                .contains("parentbased_traceidratio")
        );
    }
}
