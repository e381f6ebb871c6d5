//! The rows that a product takes, normalized on their way where that is asked for.
//!
//! A thread normalizes the rows of a block right before it quantizes them, in memory of its own that stays in
//! the caches.

use inferno_backend::LinearInput;

use crate::backend::CpuBuffer;
use crate::isa::{Kernel, Level};
use crate::lanes::Lanes;
use crate::memory::at_least;
use crate::ops::norm::{RmsNorm, normalize};

/// Rows of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct InputRows<'a> {
    values: &'a [f32],
    cols: usize,
    norm: Option<RmsNorm<'a>>,
}

impl<'a> InputRows<'a> {
    /// The first `rows` rows of `input`.
    pub(crate) fn new(input: LinearInput<'a, CpuBuffer>, rows: usize) -> Self {
        let (x, norm) = match input {
            LinearInput::Plain(x) => (x, None),
            LinearInput::Normed { x, weight, eps } => {
                assert_eq!(weight.cols(), x.cols(), "the norm's weight is as wide as the input");
                (x, Some(RmsNorm { weight: weight.rows(1), eps }))
            }
        };
        Self { values: x.rows(rows), cols: x.cols(), norm }
    }

    /// Values of a row.
    pub(crate) fn cols(self) -> usize {
        self.cols
    }

    /// Fills `block` with the rows that `index` gives for each place: where they lie, or in `memory` where they
    /// are normalized.
    #[inline(always)]
    pub(crate) fn block<'b>(
        self,
        level: Level,
        index: impl Fn(usize) -> usize,
        memory: &'b mut Vec<f32>,
        block: &mut [&'b [f32]],
    ) where
        'a: 'b,
    {
        for (place, row) in block.iter_mut().enumerate() {
            *row = &self.values[index(place) * self.cols..][..self.cols];
        }
        if let Some(norm) = self.norm {
            let memory = at_least(memory, block.len() * self.cols);
            level.run(NormalizeBlock { norm, cols: self.cols, memory, block });
        }
    }
}

/// Replaces the rows of `block` by normalized ones in `memory`.
struct NormalizeBlock<'a, 'b> {
    norm: RmsNorm<'a>,
    cols: usize,
    memory: &'b mut [f32],
    block: &'a mut [&'b [f32]],
}

impl Kernel for NormalizeBlock<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, normed) in self.block.iter_mut().zip(self.memory.chunks_exact_mut(self.cols)) {
            normed.copy_from_slice(row);
            normalize(lanes, normed, self.norm);
            *row = normed;
        }
    }
}
