// One workgroup per slot.

struct Params {
    slots: u32,
    num_used: u32,
    num_slots: u32,
    cols: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> routing: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, num_workgroups);
    if slot >= params.slots {
        return;
    }
    let weight = bitcast<f32>(routing[params.num_slots + slot]);
    let start = slot / params.num_used * params.cols;
    for (var col = lane; col < params.cols; col += LANES) {
        out[slot * params.cols + col] = weight * x[start + col];
    }
    // All threads have read the weight.
    storageBarrier();
    workgroupBarrier();
    if lane == 0u {
        routing[params.num_slots + slot] = bitcast<u32>(1.0);
    }
}
