//! How many calls were answered when: counts by moment, of bounded size.

use std::time::Duration;

/// Moments that are told apart at most. At twice as many each becomes twice as long.
const MOMENTS: usize = 240;
/// How long each is at first.
const WIDTH: Duration = Duration::from_millis(100);

/// Counts by moment since a beginning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timeline {
    width: Duration,
    counts: Vec<u64>,
}

impl Timeline {
    pub(crate) fn new() -> Timeline {
        Timeline { width: WIDTH, counts: Vec::new() }
    }

    /// How long each moment is.
    pub(crate) fn width(&self) -> Duration {
        self.width
    }

    /// The counts, from the first moment on.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts so many, this long after the beginning.
    pub(crate) fn count(&mut self, after: Duration, how_many: u64) {
        let mut moment = self.moment(after);
        while moment >= 2 * MOMENTS {
            self.widen();
            moment = self.moment(after);
        }
        if moment >= self.counts.len() {
            self.counts.resize(moment + 1, 0);
        }
        self.counts[moment] += how_many;
    }

    /// Adds what another one counted since the same beginning.
    pub(crate) fn add(&mut self, mut other: Timeline) {
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }

    fn moment(&self, after: Duration) -> usize {
        // Not by 128 bits, which take longer than all the rest of this.
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        usize::try_from(nanos(after) / nanos(self.width)).unwrap_or(usize::MAX)
    }

    fn widen(&mut self) {
        self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_its_counts_in_a_bounded_number_of_moments() {
        let mut timeline = Timeline::new();
        for second in 0..1000 {
            timeline.count(Duration::from_secs(second), 3);
        }
        assert!(timeline.counts().len() <= 2 * MOMENTS);
        assert_eq!(timeline.counts().iter().sum::<u64>(), 3000);
        assert_eq!(timeline.width(), Duration::from_millis(3200));
    }

    #[test]
    fn timelines_of_different_widths_add_up() {
        let mut long = Timeline::new();
        long.count(Duration::from_secs(90), 1);
        let mut short = Timeline::new();
        short.count(Duration::from_millis(250), 2);
        long.add(short.clone());
        assert_eq!(long.counts()[0..2], [0, 2]);
        assert_eq!(long.counts().iter().sum::<u64>(), 3);
        short.add(long);
        assert_eq!(short.counts().iter().sum::<u64>(), 5);
    }
}
