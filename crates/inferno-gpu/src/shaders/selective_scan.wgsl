// One thread per sequence and channel.

struct Params {
    arrays: BatchArrays,
    sequences: u32,
    channels: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> batch: array<u32>;
@group(0) @binding(2) var<storage, read> rates: array<f32>;
@group(0) @binding(3) var<storage, read> skip: array<f32>;
@group(0) @binding(4) var<storage, read> values: array<f32>;
@group(0) @binding(5) var<storage, read> steps: array<f32>;
@group(0) @binding(6) var<storage, read> selection: array<f32>;
@group(0) @binding(7) var<storage, read_write> states: array<f32>;
@group(0) @binding(8) var<storage, read_write> out: array<f32>;

var<private> cells: array<f32, STATE_SIZE>;

fn store(slot: u32, channel: u32) {
    for (var i = 0u; i < STATE_SIZE; i++) {
        states[(slot * STATE_SIZE + i) * params.channels + channel] = cells[i];
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (params.channels + LANES - 1u) / LANES;
    let index = flat_index(workgroup, num_workgroups);
    let channel = index % blocks * LANES + lane;
    let number = index / blocks;
    if number >= params.sequences || channel >= params.channels {
        return;
    }
    let sequence = sequence_state(params.arrays, number);
    for (var i = 0u; i < STATE_SIZE; i++) {
        cells[i] = 0.0;
        if !sequence.is_new {
            cells[i] = states[(sequence.slot * STATE_SIZE + i) * params.channels + channel];
        }
    }
    for (var done = 0u; done < sequence.num_rows; done++) {
        let row = sequence.first_row + done;
        let value = values[row * params.channels + channel];
        let step = softplus(steps[row * params.channels + channel]);
        let first_write = row * 2u * STATE_SIZE;
        let first_read = first_write + STATE_SIZE;
        var sum = skip[channel] * value;
        for (var i = 0u; i < STATE_SIZE; i++) {
            let decay = exp(rates[i * params.channels + channel] * step);
            let written = step * value * selection[first_write + i];
            cells[i] = fma(decay, cells[i], written);
            sum = fma(cells[i], selection[first_read + i], sum);
        }
        out[row * params.channels + channel] = sum;
        if done + 1u == sequence.checkpoint_rows {
            store(sequence.checkpoint_slot, channel);
        }
    }
    store(sequence.slot, channel);
}
