// One thread per sequence and channel: stores the inputs that later rows need.

@group(0) @binding(3) var<storage, read_write> tail: array<f32>;

const MAX_TAPS = 8u;

fn store(slot: u32, channel: u32, values: array<f32, MAX_TAPS>) {
    var copy = values;
    let tail_rows = params.taps - 1u;
    for (var i = 0u; i < tail_rows; i++) {
        tail[(slot * tail_rows + i) * params.channels + channel] = copy[i];
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    let number = i / params.channels;
    let channel = i % params.channels;
    if number >= params.sequences {
        return;
    }
    let sequence = sequence_state(params.arrays, number);
    // All inputs are read before the first is overwritten.
    var last: array<f32, MAX_TAPS>;
    var checkpoint: array<f32, MAX_TAPS>;
    for (var i = 0u; i < params.taps - 1u; i++) {
        last[i] = conv_input(sequence, channel, sequence.num_rows + i);
        checkpoint[i] = conv_input(sequence, channel, sequence.checkpoint_rows + i);
    }
    store(sequence.slot, channel, last);
    if sequence.checkpoint_rows != 0u {
        store(sequence.checkpoint_slot, channel, checkpoint);
    }
}
