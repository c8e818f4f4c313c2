//! What a run found out, as it is written, read again and compared.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::tally::{Kind, Tally};

/// The version of the form that is written, and read as a baseline.
pub(crate) const FORMAT: u32 = 2;

/// What a run found out. Names say the units of times; docs/benchmarking.md describes it all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The version of this form.
    pub(crate) format: u32,
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) plan: Plan,
    /// Whether a signal ended the run before its time.
    pub(crate) is_interrupted: bool,
    /// Whether the run was stopped early because every call failed.
    #[serde(default)]
    pub(crate) is_stopped_early: bool,
    /// From the first measured call until the last answer.
    pub(crate) seconds: f64,
    /// Measured calls that are over.
    pub(crate) calls: u64,
    /// Those of them that gave a result.
    pub(crate) results: u64,
    /// Measured calls that were not over when a signal ended the run.
    #[serde(default)]
    pub(crate) under_way: u64,
    /// Items of streams, where results are streams.
    pub(crate) items: u64,
    /// Answers a second, errors among them.
    pub(crate) throughput: f64,
    /// Nothing, if nothing was measured.
    #[serde(rename = "latencyNs")]
    pub(crate) latency: Option<Latency>,
    pub(crate) errors: Errors,
    pub(crate) bytes: Bytes,
    pub(crate) reconnects: u64,
    /// How the schedule was kept, where calls are made at a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pacing: Option<Pacing>,
    pub(crate) timeline: Timeline,
}

/// How long answers took, in nanoseconds: from when the call was due at a rate, from when it was sent otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) min: u64,
    pub(crate) mean: f64,
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    #[serde(rename = "p99.9")]
    pub(crate) p999: u64,
    pub(crate) max: u64,
    /// Pairs of a quantile and the latency that so many did not exceed.
    pub(crate) curve: Vec<(f64, u64)>,
    /// Triples of a range of latencies and how many were in it.
    pub(crate) histogram: Vec<(u64, u64, u64)>,
}

/// Calls that gave no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Errors {
    pub(crate) total: u64,
    /// Those that the server answered with an error.
    pub(crate) by_code: Vec<Rejected>,
    /// Those that it did not answer.
    pub(crate) by_kind: Vec<Failed>,
    /// Batches that were answered with one error for all of their calls.
    #[serde(default)]
    pub(crate) refused_batches: u64,
}

/// Answers with one code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rejected {
    pub(crate) code: i64,
    /// The message of the first, and its data.
    pub(crate) message: String,
    pub(crate) count: u64,
}

/// Calls without answers, for one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) kind: String,
    pub(crate) count: u64,
    /// What was said of the first, if anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) first: String,
}

/// Bytes that went over the connections once they were made: messages and their framing, before
/// TLS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bytes {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// How the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pacing {
    /// Messages that this program sent more than a millisecond late.
    pub(crate) late: u64,
    /// How late at most, in nanoseconds.
    #[serde(rename = "worstNs")]
    pub(crate) worst: u64,
    /// Messages that waited because every place was taken.
    pub(crate) held_back: u64,
    /// Calls that were due and never sent.
    pub(crate) unsent: u64,
}

/// Answers by moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Timeline {
    pub(crate) width_ms: u64,
    pub(crate) answers: Vec<u64>,
}

impl Report {
    /// The report on what was measured.
    pub(crate) fn new(url: &str, method: &str, plan: &Plan, tally: &Tally, is_interrupted: bool) -> Report {
        let seconds = tally.elapsed().as_secs_f64();
        let answers = tally.results + tally.rejected.values().map(|(count, _)| count).sum::<u64>();
        let pacing = plan.rate.map(|_| Pacing {
            late: tally.pace.late,
            worst: nanos(tally.pace.worst),
            held_back: tally.pace.held_back,
            unsent: tally.pace.unsent,
        });
        Report {
            format: FORMAT,
            url: url.to_owned(),
            method: method.to_owned(),
            plan: plan.clone(),
            is_interrupted,
            is_stopped_early: false,
            seconds,
            calls: tally.results + tally.errors,
            results: tally.results,
            under_way: tally.under_way,
            items: tally.items,
            throughput: if seconds > 0.0 { rounded(answers as f64 / seconds) } else { 0.0 },
            latency: Latency::of(tally),
            errors: Errors::of(tally),
            bytes: Bytes { sent: tally.traffic.sent, received: tally.traffic.received },
            reconnects: tally.reconnects,
            pacing,
            timeline: Timeline {
                width_ms: u64::try_from(tally.timeline.width().as_millis()).unwrap_or(u64::MAX),
                answers: tally.timeline.counts().to_vec(),
            },
        }
    }

    /// The most frequent error.
    pub(crate) fn most_frequent_error(&self) -> Option<String> {
        let codes = self.errors.by_code.iter();
        let codes = codes.map(|rejected| (rejected.count, format!("{} {}", rejected.code, rejected.message)));
        let kinds = self.errors.by_kind.iter().map(|failed| match failed.first.as_str() {
            "" => (failed.count, failed.describe().to_owned()),
            first => (failed.count, format!("{}: {first}", failed.describe())),
        });
        codes.chain(kinds).max_by_key(|(count, _)| *count).map(|(_, what)| what)
    }

    /// What to do about errors, if that is known.
    pub(crate) fn hint(&self) -> Option<String> {
        let refused = self.errors.refused_batches;
        (refused > 0).then(|| {
            format!(
                "the server refused {refused} {} of {} calls as a whole: try a smaller `--batch`, or raise its limit",
                if refused == 1 { "batch" } else { "batches" },
                self.plan.batch
            )
        })
    }

    /// What to do if no call succeeded.
    pub(crate) fn remedy(&self) -> String {
        let most = self.errors.by_kind.iter().max_by_key(|failed| failed.count);
        self.hint().unwrap_or_else(|| match most.map(|failed| failed.kind.as_str()) {
            _ if !self.errors.by_code.is_empty() => {
                format!("see the error with `switchboard call {} {} …`", self.url, self.method)
            }
            Some("timedOut") => "raise `--timeout`, or make fewer calls at once".to_owned(),
            Some("badAnswer") => {
                format!("`switchboard check {}` finds the faults in its answers", self.url)
            }
            _ => format!("see what happens with `switchboard call {} {} … -v`", self.url, self.method),
        })
    }

    /// Answers a second, by moment. The last moment, which the end cuts short, is left out if there are others.
    pub(crate) fn rates(&self) -> Vec<f64> {
        let whole = (self.seconds * 1000.0 / self.timeline.width_ms as f64).floor() as usize;
        let answers = &self.timeline.answers;
        let shown = whole.clamp(1.min(answers.len()), answers.len());
        answers[..shown].iter().map(|count| *count as f64 * 1000.0 / self.timeline.width_ms as f64).collect()
    }
}

impl Failed {
    /// The kind in words.
    pub(crate) fn describe(&self) -> &'static str {
        match self.kind.as_str() {
            "timedOut" => "no answer in time",
            "connectionLost" => "the connection broke",
            _ => "invalid answer",
        }
    }
}

/// Quantiles of the curve: closer and closer to the worst.
const CURVE: [f64; 22] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999,
    0.9995, 0.9999, 0.99999, 1.0,
];
/// Ranges of the histogram in each doubling.
const RANGES: u32 = 2;

impl Latency {
    fn of(tally: &Tally) -> Option<Latency> {
        let histogram = &tally.latency;
        if histogram.is_empty() {
            return None;
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        // Further out than there are calls, the curve would say nothing more.
        let is_telling = |quantile: f64| quantile == 1.0 || (1.0 - quantile) * histogram.len() as f64 >= 1.0;
        let curve = CURVE.iter().filter(|quantile| is_telling(**quantile)).map(|q| (*q, at(*q))).collect();
        Some(Latency {
            min: histogram.min(),
            mean: rounded(histogram.mean()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max(),
            curve,
            histogram: ranges(tally),
        })
    }
}

/// The recorded latencies in ranges that grow with them, from the first to the last that has any.
fn ranges(tally: &Tally) -> Vec<(u64, u64, u64)> {
    let bound = |step: i32| 2f64.powf(f64::from(step) / f64::from(RANGES)) as u64;
    let histogram = &tally.latency;
    let step = |value: u64| ((value.max(1) as f64).log2() * f64::from(RANGES)).floor() as i32;
    let (first, last) = (step(histogram.min()), step(histogram.max()));
    let mut counts = vec![0u64; (last - first + 1) as usize];
    for recorded in histogram.iter_recorded() {
        let at = step(recorded.value_iterated_to()).clamp(first, last) - first;
        counts[at as usize] += recorded.count_at_value();
    }
    (first..).zip(counts).map(|(step, count)| (bound(step), bound(step + 1), count)).collect()
}

impl Errors {
    fn of(tally: &Tally) -> Errors {
        let by_code = tally.rejected.iter();
        let by_kind = tally.failed.iter();
        Errors {
            total: tally.errors,
            by_code: by_code
                .map(|(code, (count, message))| Rejected {
                    code: *code,
                    message: message.clone(),
                    count: *count,
                })
                .collect(),
            by_kind: by_kind
                .map(|(kind, (count, first))| Failed {
                    kind: Kind::name(*kind).to_owned(),
                    count: *count,
                    first: first.clone(),
                })
                .collect(),
            refused_batches: tally.refused_batches,
        }
    }
}

/// With as many digits as say something, so that it is read as it was written.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) fn report() -> Report {
    use std::time::Duration;
    use tokio::time::Instant;

    let mut tally = Tally::new();
    let start = Instant::now();
    for call in 0..1000u64 {
        let due = start + Duration::from_millis(call);
        tally.took(start, due, due + Duration::from_micros(100 + call), 1);
        tally.results += 1;
    }
    tally.reject(-32601, "Method not found".to_owned(), 1);
    tally.fail(Kind::TimedOut, "", 1);
    tally.pace.unsent = 7;
    let plan = Plan { rate: Some(1000.0), seconds: Some(1.0), ..super::plan::plan() };
    Report::new("tcp://127.0.0.1:1", "math/add", &plan, &tally, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        for member in ["latencyNs", "p99.9", "worstNs", "warmUpSeconds", "timeoutSeconds", "underWay"] {
            assert!(text.contains(&format!("\"{member}\":")), "no {member} in {text}");
        }
    }

    #[test]
    fn percentiles_and_ranges_tell_what_was_recorded() {
        let report = report();
        let within = |found: u64, micros: u64| {
            assert!(found.abs_diff(micros * 1000) <= micros * 2, "{found} is not {micros} µs");
        };
        let latency = report.latency.as_ref().unwrap();
        within(latency.min, 100);
        within(latency.p50, 600);
        within(latency.p99, 1090);
        within(latency.max, 1099);
        let ranges = &latency.histogram;
        assert_eq!(ranges.iter().map(|(_, _, count)| count).sum::<u64>(), 1000);
        assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ranges:?}");
        assert_eq!((report.calls, report.results, report.errors.total), (1002, 1000, 2));
        assert!((report.throughput - 1001.0).abs() < 2.0, "{}", report.throughput);
        assert_eq!(report.rates().len(), 10);
    }

    #[test]
    fn a_run_without_answers_has_a_report_too() {
        let report = Report::new("x", "y", &super::super::plan::plan(), &Tally::new(), true);
        assert_eq!((report.throughput, &report.latency), (0.0, &None));
        assert!(report.rates().is_empty());
    }
}
