//! Operations as an observer sees them.

use std::ops::Range;

use inferno_tensor::DType;

use crate::{AttentionMask, QkvLayout};

/// An operation of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation<'a> {
    /// Rows of a table, by token.
    Embedding,
    /// The rows that need logits, or copies of rows or columns.
    Copy,
    /// The largest logits of each row.
    SelectCandidates,
    /// Functions, factors or sums of values or rows.
    Elementwise,
    /// A norm of its own, rather than one of a product's input.
    Norm,
    /// A product with weights, including the norm of its input and, for gated products, their combination.
    Product(ProductOperation<'a>),
    /// Norm and rotation of queries and keys.
    Rope,
    /// Keys and values are written to the cache.
    StoreKv,
    /// [`Rope`](Self::Rope) and [`StoreKv`](Self::StoreKv).
    RopeAndStoreKv,
    /// Attention over the cache.
    Attention(AttentionOperation<'a>),
    /// The convolution of a recurrent layer.
    Convolution,
    /// A recurrence of matrices.
    LinearAttention,
    /// A recurrence of channels.
    SelectiveScan,
    /// The choice of experts, and weighing of their inputs.
    RouteExperts,
    /// The sum of the outputs of experts.
    CombineExperts,
}

/// A product of rows with weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProductOperation<'a> {
    /// The tensors whose rows are stacked.
    pub tensors: &'a [WeightTensor],
    /// Number of products of a row with a matrix: with experts, each row has several.
    pub num_products: usize,
    /// Number of different matrices of each tensor that are multiplied: 1, or the number of experts in use.
    pub num_matrices: usize,
}

/// A tensor of a weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightTensor {
    /// The name in the file.
    pub name: String,
    /// The format.
    pub dtype: DType,
    /// Number of output features of a matrix.
    pub rows: usize,
    /// Number of input features.
    pub cols: usize,
    /// Size of a matrix as the backend stores it, in bytes.
    pub matrix_bytes: usize,
}

/// Attention of the sequences of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionOperation<'a> {
    /// The heads.
    pub layout: &'a QkvLayout,
    /// The positions that a position attends to.
    pub mask: AttentionMask,
    /// The positions of the tokens of each sequence; the last one is the last in the cache.
    pub sequences: &'a [Range<usize>],
}

impl AttentionOperation<'_> {
    /// Number of positions that all tokens attend to, each counted on its own.
    pub fn num_attended(&self) -> usize {
        let attended = |positions: &Range<usize>| {
            let end = positions.end;
            let len = |position| self.mask.range(position, end).len();
            positions.clone().map(len).sum::<usize>()
        };
        self.sequences.iter().map(attended).sum()
    }

    /// Number of positions whose keys and values are read: those that several tokens of a sequence attend to count once.
    pub fn num_read(&self) -> usize {
        let read = |positions: &Range<usize>| {
            let (Some(last), end) = (positions.end.checked_sub(1), positions.end) else { return 0 };
            let first = self.mask.range(positions.start, end).start;
            self.mask.range(last, end).end - first
        };
        self.sequences.iter().map(read).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionWindow;

    use super::*;

    #[test]
    fn positions_that_several_tokens_attend_to_are_read_once() {
        fn count<const N: usize>(
            mask: AttentionMask,
            sequences: [(usize, usize); N],
        ) -> (usize, usize) {
            let layout = QkvLayout::new(2, 1, 8);
            let sequences = sequences.map(|(start, end)| start..end);
            let attention = AttentionOperation { layout: &layout, mask, sequences: &sequences };
            (attention.num_attended(), attention.num_read())
        }
        // Tokens at positions 4, 5 and 6 attend to 5, 6 and 7 positions; one at position 0 to itself.
        assert_eq!(count(AttentionMask::Causal(None), [(4, 7), (0, 1)]), (19, 8));
        let window = AttentionMask::Causal(Some(AttentionWindow::Sliding(3)));
        assert_eq!(count(window, [(4, 7)]), (9, 5));
        assert_eq!(count(AttentionMask::Bidirectional { reach: None }, [(0, 4)]), (16, 4));
        assert_eq!(count(AttentionMask::Causal(None), []), (0, 0));
    }
}
