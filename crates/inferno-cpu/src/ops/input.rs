//! The rows that a product reads, normalized on the way if the caller asks for it.
//!
//! A thread normalizes a row right before it converts it to the form that the weights read, in separate scratch memory
//! that stays in the caches.

use std::ops::Range;

use inferno_backend::LinearInput;

use crate::buffer::CpuBuffer;
use crate::isa::Level;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::norm::{RowNorm, RowScaling};
use crate::scratch::ThreadScratch;

/// Cache lines of scratch memory that each thread needs to normalize a row of `cols` values.
pub(crate) fn normalize_lines(cols: usize) -> usize {
    cols.div_ceil(LANES)
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

    /// Calls `work(place, values)` for each row in `indices`, with the values in `columns`: those of the buffer, or
    /// normalized copies.
    pub(crate) fn for_each(
        self,
        level: Level,
        thread: usize,
        indices: impl Iterator<Item = usize>,
        columns: Range<usize>,
        mut work: impl FnMut(usize, &[f32]),
    ) {
        let rows = indices.map(|index| &self.values[index * self.cols..][..self.cols]).enumerate();
        let Some(norm) = self.norm else {
            return rows.for_each(|(place, row)| work(place, &row[columns.clone()]));
        };
        let mut scratch = self.scratch.lock(thread);
        let memory: &mut [f32] = bytemuck::cast_slice_mut(scratch.get_mut());
        let out = &mut memory[..columns.len()];
        for (place, row) in rows {
            level.run(NormalizeColumns { norm, row, columns: columns.clone(), out });
            work(place, out);
        }
    }
}

/// Writes the normalized values of `columns` to `out`.
struct NormalizeColumns<'a> {
    norm: RowNorm<'a>,
    row: &'a [f32],
    columns: Range<usize>,
    out: &'a mut [f32],
}

impl Kernel for NormalizeColumns<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { norm, row, columns, out } = self;
        let scaling = RowScaling::of(lanes, row, norm);
        out.copy_from_slice(&row[columns.clone()]);
        let bias = norm.bias.map(|bias| &bias[columns.clone()]);
        scaling.apply(lanes, out, &norm.weight[columns], bias);
    }
}
