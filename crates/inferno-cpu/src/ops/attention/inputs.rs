//! The inputs of one call of attention, and the sizes that it works in.

use std::ops::Range;

use inferno_backend::{AttentionParams, Batch, DistanceBias, KvValues, QkvLayout};

use crate::buffer::CpuBuffer;
use crate::kv_cache::{CpuKvCache, Plane};
use crate::lanes::LANES;
use crate::ops::softmax::HeadBias;

/// Positions of a span, whose scores are computed together.
pub(super) const SPAN: usize = 256;

/// Vectors side by side in a panel.
pub(super) const VECTORS: usize = 4;

/// Columns of a panel.
pub(super) const PANEL: usize = VECTORS * LANES;

/// Positions whose keys or values are read together: the columns of a panel of keys.
pub(super) const TILE: usize = PANEL;

/// Rows up to which the cache is read in place: converting its numbers repeatedly costs less than storing them in
/// panels.
pub(super) const MAX_IN_PLACE_ROWS: usize = 4;

/// Neighbouring rows of one sequence.
#[derive(Debug, Clone)]
pub(crate) struct RowUnit {
    pub(super) sequence: usize,
    pub(super) rows: Range<usize>,
    /// The spans that contain positions that the rows see.
    pub(super) spans: Range<usize>,
}

/// The inputs of one call.
pub(crate) struct AttentionInputs<'a> {
    pub(super) batch: &'a Batch,
    pub(super) params: &'a AttentionParams<'a, CpuBuffer>,
    pub(super) layout: &'a QkvLayout,
    pub(super) qkv: &'a [f32],
    pub(super) cache: &'a CpuKvCache,
    /// Query heads that share a key/value head.
    pub(super) group: usize,
    /// Floats of one row's partial result.
    pub(super) partial_len: usize,
}

impl AttentionInputs<'_> {
    /// Number of query rows of a unit: those of a token are adjacent, one per head.
    pub(super) fn num_rows(&self, unit: &RowUnit) -> usize {
        unit.rows.len() * self.group
    }

    /// Floats of the partial results of all rows of a unit.
    pub(super) fn state_len(&self, unit: &RowUnit) -> usize {
        self.num_rows(unit) * self.partial_len
    }

    /// Components of a key or value head.
    #[inline(always)]
    pub(super) fn dim(&self, plane: Plane) -> usize {
        match plane {
            Plane::Keys => self.layout.head_dim,
            Plane::Values => self.layout.value_dim(),
        }
    }

    /// The plane of the cache that holds the keys or the values, and the component of its rows that they begin with.
    #[inline(always)]
    pub(super) fn stored(&self, plane: Plane) -> (Plane, usize) {
        match (plane, self.layout.values) {
            (Plane::Values, KvValues::InKeys { start }) => (Plane::Keys, start),
            _ => (plane, 0),
        }
    }

    /// Whether values are stored in the order of keys, and must be transposed.
    #[inline(always)]
    pub(super) fn has_values_in_keys(&self) -> bool {
        self.stored(Plane::Values).0 == Plane::Keys
    }

    /// The query of row `row` of a unit.
    #[inline(always)]
    pub(super) fn query(&self, unit: &RowUnit, kv_head: usize, row: usize) -> &[f32] {
        let (token, head) = (unit.rows.start + row / self.group, row % self.group);
        let at =
            token * self.layout.row_len() + (kv_head * self.group + head) * self.layout.head_dim;
        &self.qkv[at..at + self.layout.head_dim]
    }

    /// The position of row `row` of a unit, and what distances add to the scores of its head, if they do.
    #[inline(always)]
    pub(super) fn distance_bias(
        &self,
        unit: &RowUnit,
        kv_head: usize,
        row: usize,
    ) -> Option<(usize, HeadBias<'_>)> {
        let bias = self.params.distance_bias.as_ref()?;
        let (token, head) = (unit.rows.start + row / self.group, row % self.group);
        let head = kv_head * self.group + head;
        let bias = match bias {
            DistanceBias::Slopes(slopes) => HeadBias::Slope(slopes.values()[head]),
            DistanceBias::Table(table) => {
                HeadBias::Table(&table.values()[head * table.cols()..][..table.cols()])
            }
        };
        Some((self.batch.positions()[token] as usize, bias))
    }

    /// The positions that row `row` of a unit sees.
    #[inline(always)]
    pub(super) fn visible(&self, unit: &RowUnit, row: usize) -> Range<usize> {
        visible(self.batch, self.params, unit.sequence, unit.rows.start + row / self.group)
    }
}

/// The positions that row `row` of the batch, which belongs to `sequence`, sees.
#[inline(always)]
pub(super) fn visible(
    batch: &Batch,
    params: &AttentionParams<'_, CpuBuffer>,
    sequence: usize,
    row: usize,
) -> Range<usize> {
    params.mask.range(batch.positions()[row] as usize, batch.context_lens()[sequence])
}
