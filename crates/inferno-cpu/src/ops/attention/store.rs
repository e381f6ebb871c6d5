//! Writing keys and values into the cache.

use inferno_backend::{Batch, QkvLayout};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::disjoint::Disjoint;
use crate::kv_cache::{CpuKvCache, Encode, MOST_WORDS, Plane, Rows};
use crate::ops::TASK_VALUES;
use crate::threads::Pool;

/// Writes each row's keys and values into its slot of `layer`.
pub(crate) fn store_kv(
    backend: &CpuBackend,
    batch: &Batch,
    layer: usize,
    layout: &QkvLayout,
    qkv: &CpuBuffer,
    cache: &mut CpuKvCache,
) {
    let kv = cache.layout;
    assert_eq!(qkv.cols(), layout.row_len(), "a row holds queries, keys and values");
    assert_eq!(
        (layout.num_kv_heads, layout.head_dim),
        (kv.num_kv_heads, kv.head_dim),
        "the cache was made for these heads"
    );
    assert!(layer < kv.num_layers, "layer {layer} of {}", kv.num_layers);
    let qkv = qkv.rows(batch.num_tokens());
    let rows = Rows::new(&kv);
    let (bytes, regions) = cache.regions_mut(layer);
    let bytes = Disjoint::new(bytes);
    let store = |task: usize| {
        let plane = if task < kv.num_kv_heads { Plane::Keys } else { Plane::Values };
        let mut memory = [0; MOST_WORDS];
        let column = (layout.num_heads + task) * layout.head_dim;
        for (row, &slot) in batch.slot_mapping().iter().enumerate() {
            let (block, offset) = (slot / kv.block_tokens, slot % kv.block_tokens);
            // SAFETY: tasks differ in the plane or the head, and thereby in the regions; this part
            // is dropped before the task asks for another.
            let region = unsafe { bytes.part(regions.at(block, task)) };
            let at = row * layout.row_len() + column;
            let values = &qkv[at..][..layout.head_dim];
            let ahead = qkv.get(at + layout.row_len()..).unwrap_or_default();
            let ahead = &ahead[..layout.head_dim.min(ahead.len())];
            let (rows, memory) = (&rows, &mut memory);
            let encode = Encode { rows, plane, region, offset, values, ahead, memory };
            backend.level().run(encode);
        }
    };
    let values = batch.num_tokens() * layout.num_kv_heads * layout.head_dim;
    run_if_worth(backend.pool(), 2 * layout.num_kv_heads, values, &store);
}

/// Runs tasks on all threads where there is enough to do, else here.
fn run_if_worth(pool: &Pool, tasks: usize, values: usize, task: &(dyn Fn(usize) + Sync)) {
    if values < TASK_VALUES {
        (0..tasks).for_each(task);
    } else {
        pool.run(tasks, &|number, _| task(number));
    }
}
