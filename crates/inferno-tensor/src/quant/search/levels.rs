//! The sets of levels that symmetric formats round to.

use super::super::iq4_nl::IQ4_LEVELS;
use super::super::nearest::round;

/// The levels that the codes of a format stand for, ascending.
pub(in crate::quant) trait Levels {
    /// The lowest level, also the one of largest magnitude.
    fn lowest(&self) -> f32;

    /// How far apart, in levels, the search tries starting scales.
    fn step(&self) -> f32;

    /// The code of the level nearest to a value.
    fn code(&self, value: f32) -> u8;

    /// The level of a code.
    fn level(&self, code: u8) -> f32;
}

/// The integers from `-half` to `half - 1`.
pub(in crate::quant) struct Even {
    pub(in crate::quant) half: u8,
}

impl Levels for Even {
    fn lowest(&self) -> f32 {
        -f32::from(self.half)
    }

    fn step(&self) -> f32 {
        0.25
    }

    fn code(&self, value: f32) -> u8 {
        let half = i32::from(self.half);
        round(value).clamp(-half, half - 1).wrapping_add(half) as u8
    }

    fn level(&self, code: u8) -> f32 {
        f32::from(code) - f32::from(self.half)
    }
}

/// The uneven levels of the IQ4 formats.
pub(in crate::quant) struct Iq4;

/// A value at or above `IQ4_BORDERS[i]` is nearer to level `i + 1` than to level `i`.
const IQ4_BORDERS: [f32; 15] = {
    let mut borders = [0.0; 15];
    let mut i = 0;
    while i < 15 {
        borders[i] = (IQ4_LEVELS[i] as f32 + IQ4_LEVELS[i + 1] as f32) / 2.0;
        i += 1;
    }
    borders
};

impl Levels for Iq4 {
    fn lowest(&self) -> f32 {
        f32::from(IQ4_LEVELS[0])
    }

    fn step(&self) -> f32 {
        4.0
    }

    fn code(&self, value: f32) -> u8 {
        IQ4_BORDERS
            .iter()
            .map(|&border| u8::from(value >= border))
            .sum()
    }

    fn level(&self, code: u8) -> f32 {
        f32::from(IQ4_LEVELS[usize::from(code)])
    }
}
