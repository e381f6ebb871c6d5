// The inputs of a causal convolution.
struct Params {
    arrays: BatchArrays,
    sequences: u32,
    rows: u32,
    row_sequences: u32,
    row_len: u32,
    channels: u32,
    taps: u32,
    input: u32,
    input_gate: u32,
    output_gate: u32,
    silu: u32,
    has_bias: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;

// The input of a channel in row `offset - (taps - 1)` of a sequence. Offsets below taps - 1 are in
// the tail.
fn conv_input(sequence: SequenceState, channel: u32, offset: u32) -> f32 {
    let tail_rows = params.taps - 1u;
    if offset < tail_rows {
        if sequence.is_new {
            return 0.0;
        }
        return tail[(sequence.slot * tail_rows + offset) * params.channels + channel];
    }
    let first = (sequence.first_row + offset - tail_rows) * params.row_len;
    let value = x[first + params.input + channel];
    if params.input_gate == 0u {
        return value;
    }
    return value * x[first + params.input_gate - 1u + channel];
}

