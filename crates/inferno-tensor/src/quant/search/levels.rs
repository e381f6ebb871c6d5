//! The levels that symmetric formats round to.

use super::{error_weights, relative_importance, round_within};
use crate::quant::iq4_levels::IQ4_LEVELS;

/// The levels of a format's codes, ascending.
pub(in crate::quant) trait LevelSet {
    /// The lowest level, also the one of largest magnitude.
    fn lowest(&self) -> f32;

    /// Distance between starting scales of the search, in levels.
    fn step(&self) -> f32;

    /// The level nearest to a value.
    fn nearest(&self, value: f32) -> f32;

    /// The code of a level.
    fn code(&self, level: f32) -> u8;

    /// The weight of each squared error.
    fn error_weights<const N: usize>(
        &self,
        values: &[f32; N],
        importance: Option<&[f32; N]>,
    ) -> [f32; N] {
        error_weights(values, importance)
    }
}

/// The integers from `-half` to `half - 1`.
pub(in crate::quant) struct EvenLevels {
    pub(in crate::quant) half: f32,
}

impl LevelSet for EvenLevels {
    fn lowest(&self) -> f32 {
        -self.half
    }

    fn step(&self) -> f32 {
        0.35
    }

    fn nearest(&self, value: f32) -> f32 {
        round_within(value, -self.half, self.half - 1.0)
    }

    fn code(&self, level: f32) -> u8 {
        (level + self.half) as u8
    }
}

/// The uneven levels of the IQ4 formats.
pub(in crate::quant) struct Iq4Levels;

/// For each level but the last: the distance to the next one, and the value halfway between them.
const IQ4_GAPS: [(f32, f32); 15] = {
    let mut gaps = [(0.0, 0.0); 15];
    let mut i = 0;
    while i < 15 {
        let (low, high) = (IQ4_LEVELS[i] as f32, IQ4_LEVELS[i + 1] as f32);
        gaps[i] = (high - low, (low + high) / 2.0);
        i += 1;
    }
    gaps
};

impl LevelSet for Iq4Levels {
    fn lowest(&self) -> f32 {
        f32::from(IQ4_LEVELS[0])
    }

    fn step(&self) -> f32 {
        4.0
    }

    fn nearest(&self, value: f32) -> f32 {
        let climb = |level: f32, (gap, border)| level + if value >= border { gap } else { 0.0 };
        IQ4_GAPS.into_iter().fold(self.lowest(), climb)
    }

    fn code(&self, level: f32) -> u8 {
        IQ4_LEVELS.iter().filter(|&&lower| f32::from(lower) < level).count() as u8
    }

    /// The importance alone: levels that are closer near zero already favor small weights, and models diverge less.
    fn error_weights<const N: usize>(
        &self,
        values: &[f32; N],
        importance: Option<&[f32; N]>,
    ) -> [f32; N] {
        importance.map_or_else(|| error_weights(values, None), relative_importance)
    }
}
