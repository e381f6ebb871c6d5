//! Median and range of several runs.

use serde::Serialize;

/// The median, minimum and maximum of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Returns the spread of `figures`; `None` if there are none.
    pub fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        let (&min, &max) = (figures.first()?, figures.last()?);
        let middle = figures.len() / 2;
        let median = match figures.len() % 2 {
            0 => (figures[middle - 1] + figures[middle]) / 2.0,
            _ => figures[middle],
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |figures: &[f64]| Spread::of(figures.to_vec());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[2.0]), Some(Spread { median: 2.0, min: 2.0, max: 2.0 }));
        assert_eq!(spread(&[9.0, 1.0]), Some(Spread { median: 5.0, min: 1.0, max: 9.0 }));
        assert_eq!(spread(&[3.0, 9.0, 1.0]), Some(Spread { median: 3.0, min: 1.0, max: 9.0 }));
    }
}
