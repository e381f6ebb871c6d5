// One thread per row and channel.

@group(0) @binding(3) var<storage, read> weights: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> tail: array<f32>;
@group(0) @binding(6) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    let row = i / params.channels;
    let channel = i % params.channels;
    if row >= params.rows {
        return;
    }
    let sequence = sequence_state(params.arrays, batch[params.row_sequences + row]);
    var sum = 0.0;
    if params.has_bias != 0u {
        sum = bias[channel];
    }
    for (var tap = 0u; tap < params.taps; tap++) {
        let value = conv_input(sequence, channel, row - sequence.first_row + tap);
        sum = fma(weights[tap * params.channels + channel], value, sum);
    }
    if params.silu != 0u {
        sum *= sigmoid(sum);
    }
    if params.output_gate != 0u {
        sum *= x[row * params.row_len + params.output_gate - 1u + channel];
    }
    out[i] = sum;
}
