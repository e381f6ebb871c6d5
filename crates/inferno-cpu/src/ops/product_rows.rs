//! Which rows of a product's input and output belong to which expert.

use std::ops::Range;

use inferno_backend::ExpertInput;

use crate::ops::routing::{CpuRouting, ExpertSlots};

/// The rows of a product, by expert.
#[derive(Clone, Copy)]
pub(crate) enum ProductRows<'a> {
    /// Rows `0..n` of the output from rows `0..n` of the input; there is one expert.
    Same(usize),
    /// The slots of a routing.
    Routed(&'a CpuRouting, ExpertInput),
}

impl<'a> ProductRows<'a> {
    /// Number of rows of the input.
    pub(crate) fn num_inputs(self) -> usize {
        match self {
            Self::Same(rows) => rows,
            Self::Routed(routing, input) => routing.num_inputs(input),
        }
    }

    /// Number of experts that have rows.
    pub(crate) fn num_experts(self) -> usize {
        match self {
            Self::Same(_) => 1,
            Self::Routed(routing, _) => routing.num_active(),
        }
    }

    /// Expert `index` of those that have rows, and its rows. No two experts share a row of the output.
    pub(crate) fn expert(self, index: usize) -> (usize, RowMap<'a>) {
        match self {
            Self::Same(len) => (0, RowMap::Same { first: 0, len }),
            Self::Routed(routing, input) => {
                let (expert, slots) = routing.active(index, input);
                (expert, RowMap::Slots(slots))
            }
        }
    }
}

/// The rows of one expert: which row of the input belongs to which row of the output.
#[derive(Clone, Copy)]
pub(crate) enum RowMap<'a> {
    /// Rows `first..first + len` of both.
    Same { first: usize, len: usize },
    /// The slots of one expert.
    Slots(ExpertSlots<'a>),
}

impl RowMap<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Same { len, .. } => len,
            Self::Slots(slots) => slots.len(),
        }
    }

    /// The row of the input at `index`.
    pub(crate) fn input(self, index: usize) -> usize {
        match self {
            Self::Same { first, .. } => first + index,
            Self::Slots(slots) => slots.input(index),
        }
    }

    /// A range of the rows.
    pub(crate) fn part(self, rows: Range<usize>) -> Self {
        match self {
            Self::Same { first, len } => {
                assert!(rows.end <= len, "a range of the rows");
                Self::Same { first: first + rows.start, len: rows.len() }
            }
            Self::Slots(slots) => Self::Slots(slots.part(rows)),
        }
    }

    /// The row of the output at `index`.
    ///
    /// **Panics** if there is no row of that index.
    pub(crate) fn output(self, index: usize) -> usize {
        match self {
            Self::Same { first, len } => {
                assert!(index < len, "one of the rows");
                first + index
            }
            Self::Slots(slots) => slots.output(index),
        }
    }
}
