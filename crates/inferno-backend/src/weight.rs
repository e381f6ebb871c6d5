//! Weights in the format of the file, validated before a backend packs them.

use std::sync::Arc;

use bytes::Bytes;
use inferno_tensor::{DType, TensorView, quant};

use crate::BackendError;

/// One tensor of a file: `experts` matrices of `rows` x `cols`, row-major, in the file's format.
///
/// A backend receives a weight as a list of parts and stacks their rows, so that the query, key and
/// value projections, which may have different formats, become one matrix product.
///
/// A part can have scales, one per row: factors on the outputs of a product that the format itself cannot store.
#[derive(Debug, Clone)]
pub struct WeightPart {
    name: String,
    dtype: DType,
    experts: usize,
    rows: usize,
    cols: usize,
    row_bytes: usize,
    bytes: Bytes,
    scales: Option<Arc<[f32]>>,
}

impl WeightPart {
    /// Creates a plain matrix of `rows` output features by `cols` input features.
    ///
    /// **Errors**: [`BackendError::WeightSize`] if `bytes` does not have the size of such a matrix,
    /// [`BackendError::WeightShape`] if `cols` is not a multiple of the format's block length.
    pub fn matrix(
        name: impl Into<String>,
        dtype: DType,
        rows: usize,
        cols: usize,
        bytes: Bytes,
    ) -> Result<Self, BackendError> {
        Self::experts(name, dtype, 1, rows, cols, bytes)
    }

    /// Creates a stack of one matrix per expert.
    ///
    /// **Errors**: as [`matrix`](Self::matrix).
    pub fn experts(
        name: impl Into<String>,
        dtype: DType,
        experts: usize,
        rows: usize,
        cols: usize,
        bytes: Bytes,
    ) -> Result<Self, BackendError> {
        let name = name.into();
        let row_bytes = match dtype.row_bytes(cols) {
            Ok(row_bytes) => row_bytes,
            Err(source) => return Err(BackendError::WeightShape { name, source }),
        };
        let expected = experts.saturating_mul(rows).saturating_mul(row_bytes);
        if bytes.len() != expected {
            return Err(BackendError::WeightSize {
                name,
                dtype: dtype.name(),
                experts,
                rows,
                cols,
                expected,
                found: bytes.len(),
            });
        }
        Ok(Self { name, dtype, experts, rows, cols, row_bytes, bytes, scales: None })
    }

    /// Sets the factor on each row of each expert.
    ///
    /// **Panics** unless there is one per row.
    pub fn with_scales(self, scales: Vec<f32>) -> Self {
        assert_eq!(scales.len(), self.experts * self.rows, "one scale per row");
        Self { scales: Some(scales.into()), ..self }
    }

    /// Checks that `parts` can be stacked and returns `(experts, total rows, cols)` of the stack.
    ///
    /// **Errors**: [`BackendError::NoParts`] and [`BackendError::MismatchedParts`].
    pub fn stacked_shape(parts: &[Self]) -> Result<(usize, usize, usize), BackendError> {
        let first = parts.first().ok_or(BackendError::NoParts)?;
        for part in parts {
            if (part.experts, part.cols) != (first.experts, first.cols) {
                return Err(BackendError::MismatchedParts {
                    first: first.name.clone(),
                    first_experts: first.experts,
                    first_cols: first.cols,
                    second: part.name.clone(),
                    second_experts: part.experts,
                    second_cols: part.cols,
                });
            }
        }
        Ok((first.experts, parts.iter().map(|part| part.rows).sum(), first.cols))
    }

    /// The factors on the rows of a stack of `parts`, expert by expert; `None` if no part has scales.
    pub fn stacked_scales(parts: &[Self]) -> Option<Vec<f32>> {
        parts.iter().find(|part| part.scales.is_some())?;
        let experts = 0..parts.iter().map(|part| part.experts).min().unwrap_or(0);
        let rows = experts.flat_map(|expert| {
            parts.iter().flat_map(move |part| (0..part.rows).map(move |row| (part, expert, row)))
        });
        Some(rows.map(|(part, expert, row)| part.scale(expert, row)).collect())
    }

    /// The factor on row `row` of expert `expert`; 1 if the part has no scales.
    fn scale(&self, expert: usize, row: usize) -> f32 {
        self.scales.as_ref().map_or(1.0, |scales| scales[expert * self.rows + row])
    }

    /// The name of a product with tensors: theirs without the number of the layer, such as `attn_q, attn_k, attn_v`.
    pub fn product_name<'n>(tensors: impl IntoIterator<Item = &'n str>) -> String {
        let without_layer = |name: &'n str| {
            let name = name.strip_suffix(".weight").unwrap_or(name);
            let in_layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
            in_layer.map_or(name, |(_, name)| name)
        };
        tensors.into_iter().map(without_layer).collect::<Vec<_>>().join(", ")
    }

    /// The tensor's name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format of the rows.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of matrices; 1 for a plain weight.
    pub fn num_experts(&self) -> usize {
        self.experts
    }

    /// Number of output features of one matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of input features.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Size of one row, in bytes.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The encoded rows of all matrices.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The encoded row `row` of expert `expert`.
    ///
    /// **Panics** if either is out of range.
    pub fn row(&self, expert: usize, row: usize) -> &[u8] {
        let dims = [self.experts, self.rows, self.row_bytes];
        let rows = TensorView::new(&dims, &self.bytes).expect("the size was checked");
        rows.block(&[expert, row]).expect("the rows are contiguous")
    }

    /// Decodes row `row` of expert `expert`, multiplied by its scale.
    ///
    /// **Errors**: [`BackendError::WeightShape`] unless `out` holds one value per column.
    ///
    /// **Panics** if there is no such row.
    pub fn decode_row(
        &self,
        expert: usize,
        row: usize,
        out: &mut [f32],
    ) -> Result<(), BackendError> {
        quant::decode_row(self.dtype, self.row(expert, row), out)
            .map_err(|source| BackendError::WeightShape { name: self.name.clone(), source })?;
        if self.scales.is_some() {
            let scale = self.scale(expert, row);
            out.iter_mut().for_each(|value| *value *= scale);
        }
        Ok(())
    }
}
