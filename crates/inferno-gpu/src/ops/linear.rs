//! Products of neighboring rows with weights.

use inferno_backend::{BackendError, Gate, LinearInput, PassShape, ProductShape};

use super::product::algorithm::MAX_TEAM_ROWS;
use super::product::{Product, Tiles, halves};
use crate::memory::buffer::GpuBuffer;
use crate::memory::weight::GpuWeight;
use crate::pass::GpuPass;

/// Bytes of the rows of the largest product after a norm, or as halves. Those with experts are neither.
pub(crate) fn scratch_bytes(pass: &PassShape, has_matrices: bool) -> usize {
    let products = pass.products.iter().filter(|product| product.num_experts == 1);
    let bytes = |&ProductShape { max_num_rows: rows, cols, .. }: &ProductShape| {
        let normed = |rows: usize| rows.saturating_mul(cols).saturating_mul(size_of::<f32>());
        match has_matrices {
            true => halves::bytes(rows, cols)
                .into_iter()
                .fold(normed(rows.min(MAX_TEAM_ROWS)), usize::saturating_add),
            false => normed(rows),
        }
    };
    products.map(bytes).max().unwrap_or(0)
}

/// What is done with a product before it is stored.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    pub(crate) bias: Option<&'a GpuBuffer>,
    pub(crate) gate: Option<Gate>,
    /// Whether the product is added to the output.
    pub(crate) is_sum: bool,
}

/// See [`Pass::linear`](inferno_backend::Pass::linear), [`Pass::linear_add`](inferno_backend::Pass::linear_add) and
/// [`Pass::linear_gated`](inferno_backend::Pass::linear_gated).
pub(crate) fn linear(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: LinearInput<'_, GpuBuffer>,
    weight: &GpuWeight,
    Epilogue { bias, gate, is_sum }: Epilogue<'_>,
    out: &mut GpuBuffer,
) -> Result<(), BackendError> {
    let (input, norm) = match x {
        LinearInput::Plain(x) => (x, None),
        LinearInput::Normed { x, norm } => (x, Some(norm)),
    };
    assert_eq!(weight.num_experts, 1, "a weight without experts");
    assert_eq!(input.cols(), weight.cols, "rows as wide as those of the weight");
    check_output(weight, gate, bias, out);
    assert!(rows <= input.rows().min(out.rows()), "more rows than the buffers have");
    if let Some(norm) = norm {
        assert_eq!(norm.weight.cols(), input.cols(), "the norm's weight is as wide as the input");
    }
    let row_bytes = (input.cols() * size_of::<f32>()) as u64;
    for (tile, out) in out.row_tiles(rows) {
        let x = input.memory.from(tile.start as u64 * row_bytes);
        let tiles = Tiles::Rows(tile.len());
        Product { x, norm, bias, gate, is_sum, tiles, out }.dispatch(pass, weight)?;
    }
    Ok(())
}

/// Checks the width of the output and of the bias.
pub(crate) fn check_output(
    weight: &GpuWeight,
    gate: Option<Gate>,
    bias: Option<&GpuBuffer>,
    out: &GpuBuffer,
) {
    let outputs = match gate {
        Some(_) => {
            assert!(weight.is_gate_up, "a gate and an up projection");
            weight.rows / 2
        }
        None => weight.rows,
    };
    assert_eq!(out.cols(), outputs, "an output for each row of the weight");
    if let Some(bias) = bias {
        assert_eq!(bias.cols(), weight.rows, "a bias for each row of the weight");
        assert!(bias.rows() >= weight.num_experts, "a row of biases for each expert");
    }
}
