//! A batch in the memory of the GPU.

use inferno_backend::{Batch, SequenceState};

use super::allocation::{Allocation, Binding};
use crate::backend::GpuBackend;
use crate::pass::GpuPass;

/// The index arrays of a batch, next to one another in one buffer of `u32`, and the batch itself.
#[derive(Debug, Default)]
pub struct GpuBatch {
    pub(crate) batch: Batch,
    /// `None` before the first upload.
    memory: Option<Allocation>,
    pub(crate) arrays: BatchArrays,
    values: Vec<u32>,
}

/// The first index of each array of a batch in its buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BatchArrays {
    /// The position of each row.
    pub(crate) positions: u32,
    /// The slot of each row in the KV cache.
    pub(crate) slots: u32,
    /// The sequence of each row.
    pub(crate) sequences: u32,
    /// The rows for which logits are computed.
    pub(crate) logit_rows: u32,
    /// The first row of each sequence, and the number of rows.
    pub(crate) first_rows: u32,
    /// The index of each sequence's first block in `blocks`, and the number of blocks.
    pub(crate) first_blocks: u32,
    /// The blocks of all sequences.
    pub(crate) blocks: u32,
    /// For each sequence [`STATE_VALUES`] values: the slot of its state, the number of rows that its checkpoint includes
    /// (0 without one), the checkpoint's slot.
    pub(crate) states: u32,
    /// For each number in [`TILE_ROWS`], the first row of each tile: a chunk of a sequence is divided into tiles of that
    /// many rows.
    pub(crate) tiles: [u32; TILE_ROWS.len()],
    /// Number of these tiles.
    pub(crate) num_tiles: [u32; TILE_ROWS.len()],
}

/// Numbers of neighboring rows that a workgroup can compute.
pub(crate) const TILE_ROWS: [usize; 5] = [2, 4, 8, 16, 32];

/// Values of each sequence in [`BatchArrays::states`].
pub(crate) const STATE_VALUES: usize = 3;

impl GpuBatch {
    /// The buffer with the arrays; another one if the upload failed, since the pass will not run then.
    pub(crate) fn binding<'b, 'a: 'b>(&'b self, pass: &GpuPass<'a>) -> Binding<'b> {
        pass.optional(self.memory.as_ref())
    }

    /// The index of the first rows of tiles of `rows` rows, and their number; each row is a tile if `rows` is 1.
    ///
    /// **Panics** if `rows` is neither 1 nor in [`TILE_ROWS`].
    pub(crate) fn tiles(&self, rows: usize) -> (u32, u32) {
        if rows == 1 {
            return (0, self.batch.num_tokens() as u32);
        }
        let size = TILE_ROWS.iter().position(|&size| size == rows).expect("a size of tiles");
        (self.arrays.tiles[size], self.arrays.num_tiles[size])
    }

    /// The largest number of rows of a sequence.
    pub(crate) fn longest_chunk(&self) -> usize {
        let sequences = 0..self.batch.num_sequences();
        sequences.map(|sequence| self.batch.rows(sequence).len()).max().unwrap_or(0)
    }

    /// Collects the arrays of `batch`.
    fn collect(&mut self, batch: &Batch) {
        self.batch.clone_from(batch);
        let values = &mut self.values;
        values.clear();
        let sequences = || 0..batch.num_sequences();
        // Slots and indexes of blocks are below 2^32: caches with more positions fit no device.
        self.arrays = BatchArrays {
            positions: append(values, batch.positions().iter().copied()),
            slots: append(values, batch.slot_mapping().iter().map(|&slot| slot as u32)),
            sequences: append(
                values,
                sequences().flat_map(|sequence| batch.rows(sequence).map(move |_| sequence as u32)),
            ),
            logit_rows: append(values, batch.logit_rows().iter().map(|&row| row as u32)),
            first_rows: append(
                values,
                sequences()
                    .map(|sequence| batch.rows(sequence).start as u32)
                    .chain([batch.num_tokens() as u32]),
            ),
            first_blocks: append(
                values,
                std::iter::once(0).chain(sequences().scan(0, |end, sequence| {
                    *end += batch.block_table(sequence).len() as u32;
                    Some(*end)
                })),
            ),
            blocks: append(
                values,
                sequences()
                    .flat_map(|sequence| batch.block_table(sequence).iter().map(|block| block.0)),
            ),
            states: append(values, batch.states().iter().flat_map(|state| state_values(*state))),
            tiles: TILE_ROWS.map(|rows| append(values, tiles(batch, rows))),
            num_tiles: TILE_ROWS.map(|rows| tiles(batch, rows).count() as u32),
        };
    }
}

/// The first row of each tile of up to `rows` rows of one sequence.
fn tiles(batch: &Batch, rows: usize) -> impl Iterator<Item = u32> {
    let sequences = 0..batch.num_sequences();
    sequences.flat_map(move |sequence| batch.rows(sequence).step_by(rows)).map(|row| row as u32)
}

/// Appends an array and returns the index of its first value.
fn append(values: &mut Vec<u32>, array: impl Iterator<Item = u32>) -> u32 {
    let first = values.len() as u32;
    values.extend(array);
    first
}

fn state_values(state: Option<SequenceState>) -> [u32; STATE_VALUES] {
    match state {
        None => [0; STATE_VALUES],
        Some(SequenceState { slot, checkpoint: None }) => [slot.0, 0, 0],
        Some(SequenceState { slot, checkpoint: Some(copy) }) => {
            [slot.0, copy.num_rows as u32, copy.slot.0]
        }
    }
}

impl GpuBackend {
    /// Copies `batch` to the device. If there is no memory for it, the next pass fails.
    pub(crate) fn write_batch(&self, batch: &Batch, target: &mut GpuBatch) {
        target.collect(batch);
        let bytes: &[u8] = bytemuck::cast_slice(&target.values);
        if target.memory.as_ref().is_none_or(|memory| memory.bytes() < bytes.len() as u64) {
            const MIN_BYTES: usize = 4096;
            let room = bytes.len().next_power_of_two().max(MIN_BYTES);
            match self.allocate(room, "a batch") {
                Ok(memory) => target.memory = Some(memory),
                Err(error) => {
                    target.memory = None;
                    return self.defer(error);
                }
            }
        }
        if let Some(memory) = &target.memory {
            self.write(memory, 0, bytes).unwrap_or_else(|error| self.defer(error));
        }
    }
}
