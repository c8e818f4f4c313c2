//! The figures of one subject over the rounds.

use serde::Serialize;

/// One figure a round, in the order of the rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds the figure of the next round.
    pub fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        self.0.len()
    }

    /// The middle figure; NaN when there is none.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            len if len % 2 == 1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        }
    }

    /// The lowest figure.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::min)
    }

    /// The highest figure.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    /// How far apart lowest and highest are, in percent of the median: the noise of the run.
    pub fn spread(&self) -> f64 {
        (self.max() - self.min()) / self.median() * 100.0
    }

    /// Round by round, this figure over that of `base`.
    ///
    /// Dividing within a round cancels what the machine did to both at that time.
    pub fn over(&self, base: &Self) -> Self {
        Self(self.0.iter().zip(&base.0).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// Round by round, how much this figure is above that of `base`.
    pub fn above(&self, base: &Self) -> Self {
        Self(self.0.iter().zip(&base.0).map(|(ours, theirs)| ours - theirs).collect())
    }
}

impl From<f64> for Samples {
    fn from(figure: f64) -> Self {
        Self(vec![figure])
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn a_ratio_is_taken_within_each_round() {
        let slow = Samples(vec![2.0, 20.0, 200.0]);
        let fast = Samples(vec![1.0, 10.0, 100.0]);
        assert_eq!(slow.over(&fast).median(), 2.0);
        assert_eq!(slow.over(&fast).spread(), 0.0);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(Samples(vec![4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert!(Samples::default().median().is_nan());
    }
}
