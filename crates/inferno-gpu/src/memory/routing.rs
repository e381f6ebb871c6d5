//! The experts of each token and their weights.

use inferno_backend::{BackendError, ExpertParams};

use super::allocation::Allocation;
use crate::backend::GpuBackend;

/// The experts of each token and their weights.
///
/// Words, for `num_slots` slots: the expert of each slot; its weight; the slots sorted by expert; and tiles of them, three
/// words each, see `shaders/sort_slots.wgsl`.
#[derive(Debug)]
pub struct GpuRouting {
    pub(crate) memory: Allocation,
    /// Slots that the memory holds.
    pub(crate) num_slots: usize,
    pub(crate) num_experts: usize,
    /// Experts per token.
    pub(crate) num_used: usize,
    /// Tokens that were routed last.
    pub(crate) rows: usize,
    /// Whether the slots of those are sorted.
    pub(crate) is_sorted: bool,
}

/// The most experts whose probabilities fit in the workgroup memory of every device, 16 KiB.
pub(crate) const MAX_EXPERTS: usize = 768;

/// Rows of a tile: slots with the same expert that are multiplied together.
pub(crate) const TILE_ROWS: usize = 8;

/// Upper bound of the number of tiles.
pub(crate) fn max_tiles(slots: usize, num_experts: usize) -> usize {
    slots / TILE_ROWS + num_experts.min(slots)
}

/// See [`Backend::unsupported`](inferno_backend::Backend::unsupported).
pub(crate) fn unsupported(num_experts: usize) -> Option<String> {
    let reason = || format!("too many experts: {num_experts} (maximum {MAX_EXPERTS})");
    (num_experts > MAX_EXPERTS).then(reason)
}

impl GpuBackend {
    /// Allocates the routing of `rows` tokens.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    ///
    /// **Panics** for more than [`MAX_EXPERTS`] experts.
    pub(crate) fn allocate_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<GpuRouting, BackendError> {
        let &ExpertParams { num_experts, num_experts_used: num_used, .. } = params;
        assert!(num_experts <= MAX_EXPERTS, "the model was checked");
        let num_slots = rows.saturating_mul(num_used);
        let words = max_tiles(num_slots, num_experts).saturating_add(num_slots).saturating_mul(3);
        let memory = self.allocate(words.saturating_mul(size_of::<u32>()), "expert routing")?;
        Ok(GpuRouting { memory, num_slots, num_experts, num_used, rows: 0, is_sorted: false })
    }
}

impl GpuRouting {
    /// Slots of the tokens that were routed last.
    pub(crate) fn slots(&self) -> usize {
        self.rows * self.num_used
    }

    /// Sets the number of tokens.
    ///
    /// **Panics** if the routing was allocated for fewer.
    pub(crate) fn set_rows(&mut self, rows: usize) {
        assert!(rows * self.num_used <= self.num_slots, "the routing holds fewer tokens");
        (self.rows, self.is_sorted) = (rows, false);
    }
}
