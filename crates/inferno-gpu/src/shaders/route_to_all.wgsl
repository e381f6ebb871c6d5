struct Params {
    slots: u32,
    num_used: u32,
    num_slots: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> routing: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, num_workgroups) * LANES + lane;
    if slot < params.slots {
        routing[slot] = slot % params.num_used;
        routing[params.num_slots + slot] = bitcast<u32>(1.0);
    }
}
