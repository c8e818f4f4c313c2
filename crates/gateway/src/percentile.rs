//! How long answers take: percentiles without a list of samples.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The percentages that are estimated.
const PERCENTS: [u8; 4] = [50, 90, 95, 99];

/// How far one answer moves an estimate, relative to it.
const STEP: f64 = 0.02;

/// The fewest answers that an estimate is worth anything after.
const LEAST: u64 = 100;

/// Estimates of percentiles. Each answer moves an estimate up if it took longer and down if not, in steps whose ratio is that of the
/// percentage, so that the estimate stays where the wanted share of answers is below it.
#[derive(Debug, Default)]
pub(crate) struct Percentiles {
    count: AtomicU64,
    /// In nanoseconds.
    estimates: [AtomicU64; PERCENTS.len()],
}

impl Percentiles {
    pub(crate) fn note(&self, took: Duration) {
        let took = took.as_nanos().max(1) as f64;
        self.count.fetch_add(1, Ordering::Relaxed);
        for (percent, estimate) in PERCENTS.into_iter().zip(&self.estimates) {
            let before = estimate.load(Ordering::Relaxed) as f64;
            let share = f64::from(percent) / 100.0;
            let after = match took > before {
                _ if before < 1.0 => took,
                true => before * (1.0 + STEP * share),
                false => before * (1.0 - STEP * (1.0 - share)),
            };
            // Two answers at once may overwrite each other; an estimate bears that.
            estimate.store(after as u64, Ordering::Relaxed);
        }
    }

    /// The time within which this percentage of the answers arrived lately.
    pub(crate) fn get(&self, percent: u8) -> Option<Duration> {
        if self.count.load(Ordering::Relaxed) < LEAST {
            return None;
        }
        let index = PERCENTS.iter().position(|known| *known >= percent).unwrap_or(PERCENTS.len() - 1);
        Some(Duration::from_nanos(self.estimates[index].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_near_the_percentiles_of_what_was_seen() {
        let percentiles = Percentiles::default();
        assert_eq!(percentiles.get(95), None);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            percentiles.note(Duration::from_micros(random.u64(1000..2000)));
        }
        let check = |percent: u8, least: u64, most: u64| {
            let estimate = percentiles.get(percent).expect("enough answers");
            let micros = u64::try_from(estimate.as_micros()).expect("short");
            assert!((least..=most).contains(&micros), "p{percent}: {micros} us");
        };
        check(50, 1350, 1650);
        check(95, 1850, 2050);
        check(99, 1900, 2080);
    }
}
