//! The number of rows of activations that a kernel computes at a time.

use crate::lanes::Lanes;
use crate::ops::activations::{BLOCK_ROWS, MAX_NARROW};

/// A product with all panels.
pub(super) trait RowBlocks: Sized {
    /// Computes the product for blocks of `W` rows, `T` rows at a time: as many as have their sums in registers.
    fn panels<L: Lanes, const T: usize, const W: usize>(self, lanes: L);

    /// Computes the product for `num_rows` rows.
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L, num_rows: usize) {
        const { assert!(MAX_NARROW == 8 && BLOCK_ROWS == 16) };
        match (num_rows, L::REGISTERS >= 32) {
            (0, _) => {}
            (1, _) => self.panels::<L, 1, 1>(lanes),
            (2, _) => self.panels::<L, 2, 2>(lanes),
            (3..=4, _) => self.panels::<L, 4, 4>(lanes),
            (5..=8, true) => self.panels::<L, 8, 8>(lanes),
            (5..=8, false) => self.panels::<L, 4, 8>(lanes),
            (_, true) => self.panels::<L, 16, 16>(lanes),
            (_, false) => self.panels::<L, 4, 16>(lanes),
        }
    }
}
