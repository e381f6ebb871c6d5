//! Convolutions, linear attention and gated norms of recurrent layers.

use inferno_backend::{
    Backend, Batch, BatchBuilder, BlockId, ConvParams, ConvWeights, DecaySteps, Function,
    GatedNorm, LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LogitRows, Pass,
    SequenceChunk, SequenceState, StateCheckpoint, StateLayout, StateSlot, WriteRule,
};

use crate::cases::{Random, matrix, read, run};

/// Values of a projection's row, beyond those that are used.
const COLS: usize = 1000;

/// A part of a sequence: its positions, its slot, and the checkpoint.
#[derive(Clone, Copy)]
pub struct Part {
    /// The first position.
    pub start: usize,
    /// Number of positions.
    pub len: usize,
    /// The slot of the state.
    pub slot: u32,
    /// Number of rows that a copy of the state includes, and its slot.
    pub checkpoint: Option<(usize, u32)>,
}

impl Part {
    /// A part without a checkpoint.
    pub fn new(start: usize, len: usize, slot: u32) -> Self {
        Self { start, len, slot, checkpoint: None }
    }
}

/// A batch of parts of sequences.
pub fn batch(parts: &[Part]) -> Batch {
    let mut builder = BatchBuilder::new(16);
    let table: Vec<BlockId> = (0..16).map(BlockId).collect();
    for &Part { start, len, slot, checkpoint } in parts {
        let tokens = vec![0; len];
        let (block_table, logits) = (&table[..], LogitRows::None);
        let chunk =
            SequenceChunk { tokens: &tokens, start, block_table, logits, second_segment: None };
        let checkpoint =
            checkpoint.map(|(num_rows, slot)| StateCheckpoint { num_rows, slot: StateSlot(slot) });
        let state = SequenceState { slot: StateSlot(slot), checkpoint };
        builder.push_with_state(&chunk, Some(state)).expect("the table covers it");
    }
    builder.build()
}

/// One layer of a model with two layers: its parameters and its random inputs, a row per position.
pub struct Layer {
    /// The convolution.
    pub conv: ConvParams,
    /// The linear attention.
    pub attention: LinearAttentionParams,
    has_skip: bool,
    x: Vec<f32>,
    /// The steps of components, if there are any.
    steps: Option<Vec<f32>>,
    taps: Vec<f32>,
    /// The rates, biases of steps and factors on values.
    vectors: [Vec<f32>; 3],
}

impl Layer {
    fn new(attention: LinearAttentionParams, has_skip: bool, taps: usize, num_rows: usize) -> Self {
        let mut random = Random::new(taps as u64);
        let channels = attention.values + attention.num_heads * attention.value_dim;
        let conv = ConvParams {
            layer: 1,
            channels,
            taps,
            input: 3,
            input_gate: (taps == 3).then_some(9),
            output_gate: (taps == 3).then_some(14),
            silu: taps != 3,
        };
        let lens = [attention.num_heads, attention.num_steps(), attention.num_heads];
        let [mut rates, bias, skip] = lens.map(|len| random.values(len));
        let has_steps = attention.steps == DecaySteps::PerComponent;
        rates.iter_mut().for_each(|rate| *rate = -0.2 - rate.abs());
        Self {
            conv,
            attention,
            has_skip,
            x: random.values(num_rows * COLS),
            steps: has_steps.then(|| random.values(num_rows * attention.num_steps())),
            taps: random.values((taps + 1) * channels),
            vectors: [rates, bias, skip],
        }
    }

    /// Four slots of two layers.
    pub fn layout(&self) -> StateLayout {
        StateLayout {
            num_layers: 2,
            conv_values: self.conv.tail_values(),
            matrices: self.attention.matrices(),
            num_slots: 4,
        }
    }

    /// Runs a batch whose rows are the inputs at `rows`: the results of the convolution, then those of the attention.
    pub fn run<B: Backend>(
        &self,
        backend: &B,
        state: &mut B::RecurrentState,
        batch: &Batch,
        rows: &[usize],
    ) -> Vec<f32> {
        let Self { conv, attention, .. } = self;
        let x: Vec<f32> =
            rows.iter().flat_map(|row| &self.x[row * COLS..][..COLS]).copied().collect();
        let mut x = matrix(backend, rows.len(), COLS, &x);
        let channels = conv.channels;
        let (taps, bias) = self.taps.split_at(conv.taps * channels);
        let taps = matrix(backend, conv.taps, channels, taps);
        let bias = matrix(backend, 1, channels, bias);
        let weights = ConvWeights { taps: &taps, bias: (conv.taps != 3).then_some(&bias) };
        let mut convolved = backend.alloc(rows.len() + 1, channels).expect("memory");
        let mut device_batch = backend.alloc_batch();
        backend.upload_batch(batch, &mut device_batch);
        run(backend, |pass| {
            pass.causal_conv(&device_batch, conv, weights, &x, state, &mut convolved)
        });
        let mut result = read(backend, &convolved, rows.len() * channels);

        let vectors =
            self.vectors.each_ref().map(|values| matrix(backend, 1, values.len(), values));
        let [rates, step_bias, skip] = vectors.each_ref();
        let skip = self.has_skip.then_some(skip);
        let weights = LinearAttentionWeights { rates, step_bias, skip };
        let out_cols = attention.num_heads * attention.value_dim;
        let mut out = backend.alloc(rows.len() + 1, out_cols).expect("memory");
        let mut steps = self.steps.as_ref().map(|steps| {
            let cols = attention.num_steps();
            let steps = rows.iter().flat_map(|row| &steps[row * cols..][..cols]).copied();
            matrix(backend, rows.len(), cols, &steps.collect::<Vec<f32>>())
        });
        let inputs = LinearAttentionRows {
            projected: &mut x,
            convolved: &mut convolved,
            steps: steps.as_mut(),
        };
        run(backend, |pass| {
            pass.linear_attention(&device_batch, attention, weights, inputs, state, &mut out)
        });
        result.extend(read(backend, &out, rows.len() * out_cols));
        result
    }

    /// The results of one sequence at positions `0..len`, in chunks of `chunk` rows; position by position.
    pub fn chunks<B: Backend>(&self, backend: &B, len: usize, chunk: usize) -> Vec<f32> {
        let mut state = backend.alloc_state(&self.layout()).expect("memory");
        let (mut convolved, mut out) = (Vec::new(), Vec::new());
        for start in (0..len).step_by(chunk) {
            let rows: Vec<usize> = (start..len.min(start + chunk)).collect();
            let batch = batch(&[Part::new(start, rows.len(), 2)]);
            let result = self.run(backend, &mut state, &batch, &rows);
            let (first, second) = result.split_at(rows.len() * self.conv.channels);
            convolved.extend_from_slice(first);
            out.extend_from_slice(second);
        }
        convolved.extend(out);
        convolved
    }
}

/// Delta rules with shared key heads in both orders and with steps of components, and the additive rule; widths of all kinds
/// of blocks.
pub fn layers(num_rows: usize) -> Vec<Layer> {
    let params = |num_heads, num_key_heads, key_dim, value_dim, rule| {
        let keys = num_key_heads * key_dim;
        LinearAttentionParams {
            layer: 1,
            num_heads,
            num_key_heads,
            key_dim,
            value_dim,
            queries: 0,
            keys,
            values: 2 * keys,
            are_grouped: rule == WriteRule::Additive,
            steps: DecaySteps::PerHead { column: 940 },
            // More than the steps of some heads.
            min_step: if rule == WriteRule::Additive { 0.6 } else { 0.0 },
            rule,
        }
    };
    let delta = WriteRule::Delta { eps: 1e-6, strengths: 971 };
    let by_components = |num_heads, key_dim, value_dim| LinearAttentionParams {
        steps: DecaySteps::PerComponent,
        ..params(num_heads, num_heads, key_dim, value_dim, delta)
    };
    vec![
        Layer::new(params(4, 2, 16, 16, delta), false, 4, num_rows),
        Layer::new(params(6, 2, 24, 24, delta), false, 3, num_rows),
        Layer::new(params(3, 1, 5, 71, delta), false, 2, num_rows),
        Layer::new(params(6, 3, 16, 24, WriteRule::Additive), true, 4, num_rows),
        Layer::new(params(17, 1, 9, 32, WriteRule::Additive), true, 1, num_rows),
        Layer::new(by_components(3, 32, 32), false, 4, num_rows),
        Layer::new(by_components(2, 9, 71), false, 2, num_rows),
    ]
}

/// Two sequences in one batch: the first 9 rows are inputs 20 to 28, the others inputs 0 to 19, with a checkpoint from
/// which a third one continues.
pub fn checkpointed<B: Backend>(layer: &Layer, backend: &B) -> [Vec<f32>; 2] {
    let mut state = backend.alloc_state(&layer.layout()).expect("memory");
    let first = Part { checkpoint: Some((11, 3)), ..Part::new(0, 20, 1) };
    let rows: Vec<usize> = (20..29).chain(0..20).collect();
    let whole = layer.run(backend, &mut state, &batch(&[Part::new(0, 9, 0), first]), &rows);
    // The checkpoint survives a copy, and a copy through bytes.
    backend.copy_state(&mut state, StateSlot(3), StateSlot(0));
    let mut bytes = Vec::new();
    backend.read_state(&state, StateSlot(0), &mut bytes).expect("a device in order");
    assert_eq!(bytes.len(), layer.layout().slot_bytes());
    backend.write_state(&mut state, StateSlot(2), &bytes).expect("its own size");
    backend.write_state(&mut state, StateSlot(2), &bytes[4..]).expect_err("too few bytes");
    let rows: Vec<usize> = (11..20).collect();
    let resumed = layer.run(backend, &mut state, &batch(&[Part::new(11, 9, 2)]), &rows);
    [whole, resumed]
}

/// The saved state of a sequence after 20 positions.
pub fn saved_halfway<B: Backend>(backend: &B, layer: &Layer) -> Vec<u8> {
    let mut state = backend.alloc_state(&layer.layout()).expect("memory");
    let rows: Vec<usize> = (0..20).collect();
    layer.run(backend, &mut state, &batch(&[Part::new(0, 20, 2)]), &rows);
    let mut bytes = Vec::new();
    backend.read_state(&state, StateSlot(2), &mut bytes).expect("a device in order");
    bytes
}

/// The values of a saved state.
pub fn values_of(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.chunks_exact(4);
    values.map(|value| f32::from_le_bytes(value.try_into().expect("4 bytes"))).collect()
}

/// The results of the 20 positions after a saved state, which must be read as it was written.
pub fn resumed<B: Backend>(backend: &B, layer: &Layer, saved: &[u8]) -> Vec<f32> {
    let mut state = backend.alloc_state(&layer.layout()).expect("memory");
    backend.write_state(&mut state, StateSlot(2), saved).expect("the same size");
    let mut bytes = Vec::new();
    backend.read_state(&state, StateSlot(2), &mut bytes).expect("a device in order");
    assert_eq!(bytes, saved);
    let rows: Vec<usize> = (20..40).collect();
    layer.run(backend, &mut state, &batch(&[Part::new(20, 20, 2)]), &rows)
}

/// Five rows with gates.
pub fn gated_norm<B: Backend>(
    backend: &B,
    x: &[f32],
    weight: Option<&[f32]>,
    extent: usize,
    function: Function,
    is_gate_first: bool,
) -> Vec<f32> {
    let (rows, cols) = (5, x.len() / 5);
    let gates = Random::new(8).values(rows * (cols + 3));
    let gates = matrix(backend, rows, cols + 3, &gates);
    let weight = weight.map(|weight| matrix(backend, 1, weight.len(), weight));
    let mut x = matrix(backend, rows, cols, x);
    let norm = GatedNorm {
        gates: &gates,
        gate_column: 2,
        function,
        weight: weight.as_ref(),
        extent,
        eps: 1e-5,
        is_gate_first,
    };
    run(backend, |pass| pass.gated_norm(rows, norm, &mut x));
    read(backend, &x, rows * cols)
}
