//! A heat map of latency: time goes to the right, latency goes up, and shades show how many calls.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::state::{Interval, Known};
use super::super::wording::milliseconds;
use super::theme::Theme;

/// Rows of the map, and its title.
pub(super) const HEIGHT: u16 = 7;
/// The width of the labels left of the map.
const LABEL: u16 = 19;
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

pub(super) fn draw(known: &Known, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.height < 2 || area.width <= LABEL {
        return;
    }
    buffer.set_stringn(area.x, area.y, "Latency", usize::from(area.width), theme.head);
    let (columns, height) = (usize::from(area.width - LABEL), usize::from(area.height - 1));
    let skipped = known.history.len().saturating_sub(columns);
    let shown: Vec<&Interval> = known.history.iter().skip(skipped).collect();
    let Some((first, last)) = range(&shown) else { return };
    let per_row = (last - first + 1).div_ceil(height);
    let rows = (last - first + 1).div_ceil(per_row);
    let count = |interval: &Interval, row: usize| -> u64 {
        let from = first + row * per_row;
        interval.buckets.iter().skip(from).take(per_row).fold(0, |sum, count| sum.saturating_add(*count))
    };
    let counts = |row: usize| shown.iter().map(move |interval| count(interval, row));
    let most = (0..rows).flat_map(counts).max().unwrap_or(0);
    for row in 0..rows {
        let y = area.bottom() - 1 - row as u16;
        let label =
            format!("{:>18} ", label(&known.info.buckets_ms, (first + (row + 1) * per_row - 1).min(last)));
        buffer.set_stringn(area.x, y, label, usize::from(LABEL), theme.faint);
        let start = area.right() - shown.len() as u16;
        for (x, count) in (start..).zip(counts(row)) {
            if let Some(shade) = shade(count, most) {
                buffer[(x, y)].set_char(shade).set_style(theme.graph);
            }
        }
    }
}

/// The first and the last bucket that has calls.
fn range(shown: &[&Interval]) -> Option<(usize, usize)> {
    let used = |interval: &&Interval| -> Option<(usize, usize)> {
        let first = interval.buckets.iter().position(|count| *count > 0)?;
        Some((first, interval.buckets.iter().rposition(|count| *count > 0)?))
    };
    let used: Vec<(usize, usize)> = shown.iter().filter_map(used).collect();
    Some((used.iter().map(|(first, _)| *first).min()?, used.iter().map(|(_, last)| *last).max()?))
}

/// What the calls up to this bucket have in common.
fn label(limits: &[f64], bucket: usize) -> String {
    match (limits.get(bucket), limits.last()) {
        (Some(limit), _) => format!("up to {}", milliseconds(Some(*limit))),
        (None, Some(limit)) => format!("over {}", milliseconds(Some(*limit))),
        (None, None) => String::new(),
    }
}

/// The shade of a count; a single call is seen among many, since the square root is what counts.
fn shade(count: u64, most: u64) -> Option<char> {
    let share = (count as f64 / most.max(1) as f64).sqrt();
    let index = ((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1);
    (count > 0).then(|| SHADES[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_is_seen_among_many() {
        assert_eq!(
            [0, 1, 300, 1000].map(|count| shade(count, 1000)),
            [None, Some('░'), Some('▓'), Some('█')]
        );
        assert_eq!(shade(1, 1), Some('█'));
    }

    #[test]
    fn only_buckets_with_calls_are_drawn() {
        let interval = |buckets: &[u64]| Interval { buckets: buckets.to_vec(), ..Interval::default() };
        let (one, other, empty) = (interval(&[0, 0, 3, 0]), interval(&[0, 1, 0, 0]), interval(&[]));
        assert_eq!(range(&[&one, &other, &empty]), Some((1, 2)));
        assert_eq!(range(&[&empty]), None);
    }

    #[test]
    fn the_last_bucket_has_no_upper_limit() {
        assert_eq!(label(&[1.0, 5.0], 1), "up to 5.00 ms");
        assert_eq!(label(&[1.0, 5.0], 2), "over 5.00 ms");
        assert_eq!(label(&[], 2), "");
    }
}
