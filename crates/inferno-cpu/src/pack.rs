//! Weights in the layout that the kernels stream: panels of 16 output rows side by side.
//!
//! A weight is a list of parts, whose output columns follow one another; each part keeps the
//! format that its tensor has in the file. A part holds its experts one after the other, an expert
//! its panels, and a panel 16 rows with all their columns. Rows that are missing in the last panel
//! are zeros, which are computed and not stored.

pub(crate) mod codes;
mod float;
mod formats;
mod quantized;
mod scales;

use std::ops::Range;

use inferno_backend::{BackendError, WeightPart};
use inferno_tensor::DType;

pub(crate) use float::FloatFormat;
pub(crate) use formats::{Format, Input, chunk_bytes, padded_scale_bytes};
pub(crate) use quantized::{FixedPointFormat, QuantFormat};

use crate::isa::Level;
use crate::lanes::LANES;
use crate::memory::{Arena, Lines};
use crate::ops::activations::Activations;
use crate::ops::product::{Product, Target};
use crate::threads::Pool;

/// A packed weight of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuWeight {
    pub(crate) cols: usize,
    pub(crate) rows: usize,
    pub(crate) parts: Vec<Part>,
}

/// One stacked tensor.
pub(crate) struct Part {
    pub(crate) format: &'static Format,
    pub(crate) rows: usize,
    cols: usize,
    /// Rows of an expert in the parts before this one.
    pub(crate) first_row: usize,
    /// Panels of an expert in the parts before this one.
    pub(crate) first_panel: usize,
    panel_bytes: usize,
    expert_bytes: usize,
    bytes: Lines,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Part({} rows of {})", self.rows, self.format.dtype)
    }
}

impl CpuWeight {
    /// Packs `parts` with all threads of `pool` into memory of `arena`.
    ///
    /// **Errors**: parts that do not stack, formats without a kernel, no memory.
    pub(crate) fn pack(
        parts: &[WeightPart],
        pool: &Pool,
        arena: &Arena,
    ) -> Result<Self, BackendError> {
        let (_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let mut weight = Self { cols, rows: 0, parts: Vec::with_capacity(parts.len()) };
        for part in parts {
            let part = Part::pack(part, weight.rows, weight.num_panels(), pool, arena)?;
            weight.rows += part.rows;
            weight.parts.push(part);
        }
        debug_assert_eq!(weight.rows, rows, "the parts' rows add up");
        Ok(weight)
    }

    /// Panels of one expert, over all parts.
    pub(crate) fn num_panels(&self) -> usize {
        self.parts.iter().map(Part::num_panels).sum()
    }
}

impl Part {
    fn pack(
        source: &WeightPart,
        first_row: usize,
        first_panel: usize,
        pool: &Pool,
        arena: &Arena,
    ) -> Result<Self, BackendError> {
        let format = Format::of(source.dtype()).ok_or_else(|| BackendError::Unavailable {
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

    /// The rows of an expert that are in some of its panels, which are columns of a product.
    pub(crate) fn cols_of(&self, panels: &Range<usize>) -> Range<usize> {
        panels.start * LANES..self.rows.min(panels.end * LANES)
    }

    /// Multiplies some panels of one expert by its rows of `inputs`.
    pub(crate) fn multiply(
        &self,
        level: Level,
        expert: usize,
        panels: Range<usize>,
        inputs: Activations<'_>,
        target: Target<'_>,
    ) {
        let [first, last] = [panels.start, panels.end]
            .map(|panel| expert * self.expert_bytes + panel * self.panel_bytes);
        let panels = &self.bytes.get()[first..last];
        let (panel_bytes, cols) = (self.panel_bytes, self.cols);
        (self.format.product)(level, Product { panels, panel_bytes, cols, inputs, target });
    }
}

/// Bytes that packing takes for `experts` matrices of `rows` x `cols` in format `dtype`; none where
/// there is no kernel for it.
pub(crate) fn weight_bytes(dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
    let panel_bytes = Format::of(dtype).map_or(0, |format| (format.panel_bytes)(cols));
    experts.saturating_mul(rows.div_ceil(LANES).saturating_mul(panel_bytes))
}
