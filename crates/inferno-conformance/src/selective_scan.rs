//! Selective scans of recurrent layers.

use std::ops::Range;

use inferno_backend::{
    Backend, BatchBuilder, BlockId, LogitRows, Pass, SelectiveScanParams, SelectiveScanRows,
    SelectiveScanWeights, SequenceChunk, SequenceState, StateCheckpoint, StateLayout, StateSlot,
};

use crate::cases::{Random, matrix, read, run};
use crate::recurrent::values_of;

/// The second of two layers, and its random inputs: a row per position.
pub struct Layer {
    /// The scan.
    pub params: SelectiveScanParams,
    values: Vec<f32>,
    steps: Vec<f32>,
    selection: Vec<f32>,
    rates: Vec<f32>,
    skip: Vec<f32>,
}

/// A part of a sequence: its positions, its slot, and the checkpoint.
pub type Part = (Range<usize>, u32, Option<(usize, u32)>);

impl Layer {
    fn new(channels: usize, state_size: usize, num_rows: usize) -> Self {
        let mut random = Random::new((channels * state_size) as u64);
        let mut rates = random.values(channels * state_size);
        rates.iter_mut().for_each(|rate| *rate = -0.2 - rate.abs());
        Self {
            params: SelectiveScanParams { layer: 1, channels, state_size },
            values: random.values(num_rows * channels),
            steps: random.values(num_rows * channels),
            selection: random.values(num_rows * 2 * state_size),
            rates,
            skip: random.values(channels),
        }
    }

    fn layout(&self) -> StateLayout {
        let matrices = self.params.matrices();
        StateLayout { num_layers: 2, conv_values: 5, matrices, num_slots: 4 }
    }

    /// Runs a batch of some parts of sequences.
    pub fn run<B: Backend>(
        &self,
        backend: &B,
        state: &mut B::RecurrentState,
        parts: &[Part],
    ) -> Vec<f32> {
        let SelectiveScanParams { channels, state_size, .. } = self.params;
        let mut builder = BatchBuilder::new(16);
        let block_table: Vec<BlockId> = (0..16).map(BlockId).collect();
        for (positions, slot, checkpoint) in parts {
            let tokens = vec![0; positions.len()];
            let (start, logits) = (positions.start, LogitRows::None);
            let chunk = SequenceChunk {
                tokens: &tokens,
                start,
                block_table: &block_table,
                logits,
                second_segment: None,
            };
            let checkpoint = checkpoint
                .map(|(num_rows, slot)| StateCheckpoint { num_rows, slot: StateSlot(slot) });
            let state = SequenceState { slot: StateSlot(*slot), checkpoint };
            builder.push_with_state(&chunk, Some(state)).expect("the table covers it");
        }
        let batch = builder.build();
        let rows = batch.num_tokens();
        let gather = |values: &[f32], cols: usize| {
            let positions = parts.iter().flat_map(|(positions, ..)| positions.clone());
            let values: Vec<f32> =
                positions.flat_map(|row| values[row * cols..][..cols].to_vec()).collect();
            matrix(backend, rows, cols, &values)
        };
        let (values, steps) = (gather(&self.values, channels), gather(&self.steps, channels));
        let selection = gather(&self.selection, 2 * state_size);
        let rates = matrix(backend, state_size, channels, &self.rates);
        let skip = matrix(backend, 1, channels, &self.skip);
        let mut out = backend.alloc(rows + 1, channels).expect("memory");
        let mut device_batch = backend.alloc_batch();
        backend.upload_batch(&batch, &mut device_batch);
        let weights = SelectiveScanWeights { rates: &rates, skip: &skip };
        let inputs = SelectiveScanRows { values: &values, steps: &steps, selection: &selection };
        run(backend, |pass| {
            pass.selective_scan(&device_batch, &self.params, weights, inputs, state, &mut out)
        });
        read(backend, &out, rows * channels)
    }

    /// The results of one sequence in chunks of `chunk` rows.
    pub fn chunks<B: Backend>(&self, backend: &B, len: usize, chunk: usize) -> Vec<f32> {
        let mut state = backend.alloc_state(&self.layout()).expect("memory");
        let starts = (0..len).step_by(chunk);
        starts
            .flat_map(|start| {
                self.run(backend, &mut state, &[(start..len.min(start + chunk), 2, None)])
            })
            .collect()
    }
}

/// Layers of different shapes.
pub fn layers() -> [Layer; 3] {
    [Layer::new(16, 16, 40), Layer::new(200, 8, 40), Layer::new(7, 3, 40)]
}

/// Two sequences in one batch, and the continuation from a checkpoint within the second.
pub fn checkpointed<B: Backend>(layer: &Layer, backend: &B) -> Vec<f32> {
    let mut state = backend.alloc_state(&layer.layout()).expect("memory");
    let channels = layer.params.channels;
    let parts = [(0..9, 0, None), (0..20, 1, Some((11, 3)))];
    let mut result = layer.run(backend, &mut state, &parts).split_off(9 * channels);
    result.extend(layer.run(backend, &mut state, &[(11..20, 3, None)]));
    result
}

/// The values of a saved state of 20 tokens.
pub fn saved<B: Backend>(layer: &Layer, backend: &B) -> Vec<f32> {
    let mut state = backend.alloc_state(&layer.layout()).expect("memory");
    layer.run(backend, &mut state, &[(0..20, 2, None)]);
    let mut bytes = Vec::new();
    backend.read_state(&state, StateSlot(2), &mut bytes).expect("a device in order");
    values_of(&bytes)
}
