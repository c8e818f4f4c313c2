//! Figures of one comparison, and how they are printed.

use std::fmt;

use serde::Serialize;

use crate::samples::Samples;

/// One comparison: the same figures for every subject.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// What was asked of the subjects.
    pub title: String,
    /// The names of the figures.
    pub columns: Vec<&'static str>,
    /// Which figures to divide by which subject's.
    pub ratios: Vec<Ratio>,
    /// The subjects.
    pub rows: Vec<Row>,
}

/// A figure over the same figure of another subject.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ratio {
    /// The figure.
    pub column: &'static str,
    /// The subject to divide by.
    pub base: &'static str,
}

/// One subject and its figures, in the order of the section's columns.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The subject.
    pub name: String,
    /// Its figures.
    pub figures: Vec<Samples>,
}

impl Section {
    /// The figures of one subject, if both are there.
    pub fn figure(&self, name: &str, column: &str) -> Option<&Samples> {
        let column = self.columns.iter().position(|known| *known == column)?;
        self.rows.iter().find(|row| row.name == name)?.figures.get(column)
    }

    /// The figures of one subject over those of another.
    pub fn ratio(&self, name: &str, ratio: Ratio) -> Option<Samples> {
        Some(self.figure(name, ratio.column)?.over(self.figure(ratio.base, ratio.column)?))
    }

    /// Whether a figure was taken more than once, so that it has a spread.
    fn varies(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.figures[column].rounds() > 1)
    }

    fn header(&self) -> Vec<String> {
        let mut cells = vec![self.title.clone()];
        for (n, column) in self.columns.iter().enumerate() {
            cells.push((*column).to_owned());
            if self.varies(n) {
                cells.push("spread".to_owned());
            }
        }
        cells.extend(self.ratios.iter().map(|ratio| format!("{} x {}", ratio.column, ratio.base)));
        cells
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let mut cells = vec![row.name.clone()];
        for (n, figure) in row.figures.iter().enumerate() {
            cells.push(number(figure.median()));
            if self.varies(n) {
                cells.push(format!("{:.0}%", figure.spread()));
            }
        }
        for ratio in &self.ratios {
            let value = self.ratio(&row.name, *ratio);
            cells.push(value.map_or("-".to_owned(), |value| format!("{:.2}", value.median())));
        }
        cells
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.iter().map(|row| self.cells(row));
        write_table(f, &std::iter::once(self.header()).chain(rows).collect::<Vec<_>>())
    }
}

/// Writes rows of cells as an aligned table: the first column to the left, the others to the right.
///
/// # Errors
/// When the formatter fails.
pub fn write_table(f: &mut fmt::Formatter<'_>, rows: &[Vec<String>]) -> fmt::Result {
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column).unwrap_or(0);
            if column == 0 { write!(f, "{cell:<width$}")? } else { write!(f, "  {cell:>width$}")? }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// A figure with about three digits that mean something, thousands apart.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "-".to_owned();
    }
    if value.abs() < 100.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_grouped() {
        let shown = [0.5, 99.994, 123.4, 1_234.0, 1_234_567.0, f64::NAN].map(number);
        assert_eq!(shown, ["0.50", "99.99", "123", "1,234", "1,234,567", "-"]);
    }
}
