//! The rows that a product takes, normalized on their way where that is asked for.
//!
//! A thread normalizes the rows of a block right before it brings them into the form that the weights take, in
//! memory of its own that stays in the caches.

use std::sync::Mutex;

use inferno_backend::LinearInput;

use crate::backend::CpuBuffer;
use crate::isa::{Kernel, Level};
use crate::lanes::Lanes;
use crate::memory::at_least;
use crate::ops::activations::BLOCK_ROWS;
use crate::ops::norm::{RmsNorm, normalize};
use crate::threads;

/// Each thread's rows of a block, where they are normalized.
pub(crate) type NormedRows = Vec<Mutex<Vec<f32>>>;

/// Rows of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct InputRows<'a> {
    values: &'a [f32],
    cols: usize,
    norm: Option<RmsNorm<'a>>,
    normed: &'a NormedRows,
}

impl<'a> InputRows<'a> {
    /// The first `rows` rows of `input`; `normed` has memory for each of the threads.
    pub(crate) fn new(
        input: LinearInput<'a, CpuBuffer>,
        rows: usize,
        normed: &'a NormedRows,
    ) -> Self {
        let (x, norm) = match input {
            LinearInput::Plain(x) => (x, None),
            LinearInput::Normed { x, weight, eps } => {
                assert_eq!(weight.cols(), x.cols(), "the norm's weight is as wide as the input");
                (x, Some(RmsNorm { weight: weight.rows(1), eps }))
            }
        };
        Self { values: x.rows(rows), cols: x.cols(), norm, normed }
    }

    /// Values of a row.
    pub(crate) fn cols(self) -> usize {
        self.cols
    }

    /// Calls `work` with so many rows, of which `index` gives the numbers: where they lie, or normalized.
    pub(crate) fn with_block(
        self,
        level: Level,
        thread: usize,
        len: usize,
        index: impl Fn(usize) -> usize,
        work: impl FnOnce(&[&[f32]]),
    ) {
        let mut rows = [&[][..]; BLOCK_ROWS];
        let rows = &mut rows[..len];
        for (place, row) in rows.iter_mut().enumerate() {
            *row = &self.values[index(place) * self.cols..][..self.cols];
        }
        let Some(norm) = self.norm else { return work(rows) };
        let mut memory = threads::lock(&self.normed[thread]);
        let memory = at_least(&mut memory, len * self.cols);
        level.run(NormalizeRows { norm, cols: self.cols, memory, rows: &mut *rows });
        work(rows);
    }
}

/// Replaces `rows` by normalized ones in `memory`.
struct NormalizeRows<'a, 'b> {
    norm: RmsNorm<'a>,
    cols: usize,
    memory: &'b mut [f32],
    rows: &'a mut [&'b [f32]],
}

impl Kernel for NormalizeRows<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, normed) in self.rows.iter_mut().zip(self.memory.chunks_exact_mut(self.cols)) {
            normed.copy_from_slice(row);
            normalize(lanes, normed, self.norm);
            *row = normed;
        }
    }
}
