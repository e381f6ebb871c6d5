//! Writing keys and values into the cache.

// Writes to the shared cache and to shared rows.
#![allow(unsafe_code)]

mod head;
mod rows;

use inferno_backend::{Batch, QkvLayout, Rope};

use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::kv_cache::{CpuKvCache, Plane};
use crate::ops::rope::{HeadRope, RowPart, rope};
use head::CacheWriter;
use rows::{HeadColumns, RopeHead, RopedRows, StoredRows};

/// Time for a value of a head, compared with elementwise work. (With 4, the heads of one token of Qwen3-0.6B would be divided
/// among threads as well, which shortens a token by 0.5%: not worth one more synchronization in each layer.)
const VALUE_COST: usize = 2;

/// Writes each row's keys and values into its slot of `layer`.
pub(crate) fn store_kv(
    executor: Executor<'_>,
    batch: &Batch,
    layout: &QkvLayout,
    qkv: &CpuBuffer,
    (layer, cache): (usize, &mut CpuKvCache),
) {
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    let writer = CacheWriter::new(batch, layout, layer, cache);
    let values = qkv.rows(batch.num_tokens());
    let store = |number: usize| {
        let (plane, head) = (number / layout.num_kv_heads, number % layout.num_kv_heads);
        let plane = writer.planes()[plane];
        let columns = HeadColumns::new(layout, plane.into(), head);
        // SAFETY: tasks differ in the plane or the head.
        unsafe { writer.store(executor.level, plane, head, StoredRows { values, columns }) };
    };
    let num_tasks = writer.planes().len() * layout.num_kv_heads;
    let num_values = batch.num_tokens() * layout.num_kv_heads * layout.head_dim;
    executor.pool.run_if_large(num_tasks, num_values, &store);
}

/// Normalizes and rotates heads as [`rope`] does, and writes each row's keys and values into its slot of `layer`.
///
/// A task is one head of all rows. Query heads are followed by the keys and values that they share, so that most of what a
/// thread reads for attention is in its caches.
pub(crate) fn rope_and_store_kv(
    executor: Executor<'_>,
    batch: &Batch,
    layout: &QkvLayout,
    (norm, rotation): Rope<'_, CpuBuffer>,
    qkv: &mut CpuBuffer,
    (layer, cache): (usize, &mut CpuKvCache),
) {
    let num_rows = batch.num_tokens();
    if norm.as_ref().is_some_and(|norm| norm.whole) {
        rope(executor, num_rows, layout, (norm, rotation), qkv);
        return store_kv(executor, batch, layout, qkv, (layer, cache));
    }
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    assert_eq!(layout.num_heads % layout.num_kv_heads, 0, "whole groups of query heads");
    let head_rope = HeadRope::new(num_rows, layout, (norm, rotation));
    let writer = CacheWriter::new(batch, layout, layer, cache);
    let values = Disjoint::new(&mut qkv.values_mut()[..num_rows * layout.row_len()]);
    let group = layout.num_heads / layout.num_kv_heads;
    let tasks_per_group = group + writer.planes().len();
    let task = |number: usize| {
        let (kv_head, member) = (number / tasks_per_group, number % tasks_per_group);
        // SAFETY: tasks differ in `kv_head` or `member`, and thereby in the part or the head; each calls this once.
        let rows = |part, head| unsafe { RopedRows::new(&values, layout, &head_rope, part, head) };
        match member.checked_sub(group) {
            None => {
                let rows = rows(RowPart::Queries, kv_head * group + member);
                executor.level.run(RopeHead { rows, num_rows });
            }
            Some(plane) => {
                let plane = writer.planes()[plane];
                let rows = rows(plane.into(), kv_head);
                // SAFETY: as above.
                unsafe { writer.store(executor.level, plane, kv_head, rows) };
            }
        }
    };
    let num_tasks = layout.num_kv_heads * tasks_per_group;
    executor.pool.run_if_large(num_tasks, VALUE_COST * num_rows * layout.row_len(), &task);
}

impl From<Plane> for RowPart {
    fn from(plane: Plane) -> Self {
        match plane {
            Plane::Keys => Self::Keys,
            Plane::Values => Self::Values,
        }
    }
}
