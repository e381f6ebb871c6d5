//! The rows that a product reads, normalized on the way if the caller asks for it.
//!
//! A thread normalizes the rows of a block right before it converts them to the form that the weights read, in
//! separate scratch memory that stays in the caches.

use inferno_backend::LinearInput;

use crate::buffer::CpuBuffer;
use crate::isa::Level;
use crate::lanes::{Kernel, Lanes};
use crate::ops::activations::BLOCK_ROWS;
use crate::ops::norm::{RowNorm, normalize};
use crate::scratch::ThreadScratch;

/// Cache lines of scratch memory that each thread needs to normalize a block of rows of `cols` values.
pub(crate) fn normalize_lines(cols: usize) -> usize {
    const { assert!(BLOCK_ROWS == 16, "a block has one line of 16 numbers per column") };
    cols
}

/// Rows of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct InputRows<'a> {
    values: &'a [f32],
    cols: usize,
    norm: Option<RowNorm<'a>>,
    scratch: &'a ThreadScratch,
}

impl<'a> InputRows<'a> {
    /// The first `rows` rows of `input`. If they are normalized, `scratch` has room for
    /// [`normalize_lines`].
    pub(crate) fn new(
        input: LinearInput<'a, CpuBuffer>,
        rows: usize,
        scratch: &'a ThreadScratch,
    ) -> Self {
        let (x, norm) = match input {
            LinearInput::Plain(x) => (x, None),
            LinearInput::Normed { x, norm } => {
                assert_eq!(
                    norm.weight.cols(),
                    x.cols(),
                    "the norm's weight is as wide as the input"
                );
                (x, Some(norm.into()))
            }
        };
        Self { values: x.rows(rows), cols: x.cols(), norm, scratch }
    }

    /// Values of a row.
    pub(crate) fn cols(self) -> usize {
        self.cols
    }

    /// Calls `work` with `len` rows, whose numbers `index` returns: the rows of the buffer, or normalized
    /// copies.
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
        let mut scratch = self.scratch.lock(thread);
        let memory: &mut [f32] = bytemuck::cast_slice_mut(scratch.get_mut());
        let memory = &mut memory[..len * self.cols];
        level.run(NormalizeRows { norm, cols: self.cols, memory, rows: &mut *rows });
        work(rows);
    }
}

/// Replaces `rows` by normalized ones in `memory`.
struct NormalizeRows<'a, 'b> {
    norm: RowNorm<'a>,
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
