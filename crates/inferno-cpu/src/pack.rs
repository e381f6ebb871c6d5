//! Weights in the layout that the kernels stream: panels of 16 output rows.
//!
//! A weight is a list of parts, whose output columns follow one another; each part keeps the format that its
//! tensor has in the file. A part stores its experts one after the other, an expert its panels, and a panel 16
//! rows with all their columns. Missing rows of the last panel are zeros; they are computed but not stored.

mod byte_weights;
mod codebook;
pub(crate) mod codes;
mod float;
mod formats;
mod quantized;
mod scales;

use std::ops::Range;

use inferno_backend::{BackendError, WeightPart};
use inferno_tensor::DType;

pub(crate) use float::FloatFormat;
pub(crate) use formats::{
    ActivationFormat, FormatVisitor, PackedFormat, chunk_bytes, float_activations,
    padded_scale_bytes, visit,
};
pub(crate) use quantized::QuantFormat;

use crate::lanes::LANES;
use crate::memory::{AlignedArray, Arena};
use crate::threads::ThreadPool;

/// A packed weight of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuWeight {
    pub(crate) cols: usize,
    pub(crate) rows: usize,
    pub(crate) parts: Vec<PackedPart>,
    /// Factors on the rows of each expert, unless they are all 1.
    pub(crate) scales: Option<Vec<f32>>,
}

/// One stacked tensor.
pub(crate) struct PackedPart {
    pub(crate) format: PackedFormat,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Rows of an expert in the parts before this one.
    pub(crate) first_row: usize,
    /// Panels of an expert in the parts before this one.
    pub(crate) first_panel: usize,
    pub(crate) panel_bytes: usize,
    expert_bytes: usize,
    bytes: AlignedArray,
}

impl std::fmt::Debug for PackedPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedPart({} rows of {})", self.rows, self.format.dtype)
    }
}

impl CpuWeight {
    /// Packs `parts` with all threads of `pool` into memory of `arena`.
    ///
    /// **Errors**: parts that cannot be stacked, unsupported formats, out of memory.
    pub(crate) fn pack(
        parts: &[WeightPart],
        pool: &ThreadPool,
        arena: &Arena,
    ) -> Result<Self, BackendError> {
        let (_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let scales = WeightPart::stacked_scales(parts);
        let mut weight = Self { cols, rows: 0, parts: Vec::with_capacity(parts.len()), scales };
        for part in parts {
            let part = PackedPart::pack(part, weight.rows, weight.num_panels(), pool, arena)?;
            weight.rows += part.rows;
            weight.parts.push(part);
        }
        debug_assert_eq!(weight.rows, rows, "the parts' rows add up");
        Ok(weight)
    }

    /// Panels of one expert, over all parts.
    pub(crate) fn num_panels(&self) -> usize {
        self.parts.iter().map(PackedPart::num_panels).sum()
    }
}

impl PackedPart {
    fn pack(
        source: &WeightPart,
        first_row: usize,
        first_panel: usize,
        pool: &ThreadPool,
        arena: &Arena,
    ) -> Result<Self, BackendError> {
        let format = PackedFormat::of(source.dtype()).ok_or_else(|| BackendError::Unavailable {
            what: format!(
                "a product with weights of type {} (`{}`)",
                source.dtype(),
                source.name()
            ),
            reason: "the CPU backend has no kernel for them".to_owned(),
        })?;
        let (rows, cols) = (source.rows(), source.cols());
        let panel_bytes = (format.panel_bytes)(cols);
        let num_panels = rows.div_ceil(LANES);
        let expert_bytes = num_panels.saturating_mul(panel_bytes);
        let total = source.num_experts().saturating_mul(expert_bytes);
        let mut bytes = arena.zeroed(total, "a packed weight")?;
        if total > 0 {
            pool.run_chunks(bytes.get_mut::<u8>(), panel_bytes, |number, panel, _| {
                let (expert, first) = (number / num_panels, number % num_panels * LANES);
                let mut panel_rows = [&[][..]; LANES];
                let used = LANES.min(rows - first);
                for (offset, row) in panel_rows[..used].iter_mut().enumerate() {
                    *row = source.row(expert, first + offset);
                }
                (format.pack)(&panel_rows[..used], cols, panel);
            });
        }
        Ok(Self { format, rows, cols, first_row, first_panel, panel_bytes, expert_bytes, bytes })
    }

    pub(crate) fn num_panels(&self) -> usize {
        self.rows.div_ceil(LANES)
    }

    /// The rows of an expert in some of its panels, which are columns of a product.
    pub(crate) fn cols_of(&self, panels: &Range<usize>) -> Range<usize> {
        panels.start * LANES..self.rows.min(panels.end * LANES)
    }

    /// Some panels of one expert.
    pub(crate) fn panels(&self, expert: usize, panels: Range<usize>) -> &[u8] {
        let [first, last] = [panels.start, panels.end]
            .map(|panel| expert * self.expert_bytes + panel * self.panel_bytes);
        &self.bytes.get()[first..last]
    }
}

/// Bytes of `experts` packed matrices of `rows` x `cols` in format `dtype`; 0 if there is no kernel for it.
pub(crate) fn weight_bytes(dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
    let panel_bytes = PackedFormat::of(dtype).map_or(0, |format| (format.panel_bytes)(cols));
    experts.saturating_mul(rows.div_ceil(LANES).saturating_mul(panel_bytes))
}
