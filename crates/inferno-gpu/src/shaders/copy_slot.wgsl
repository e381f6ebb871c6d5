struct Params {
    values: u32,
    first_from: u32,
    first_to: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> slots: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_index(workgroup, num_workgroups) * LANES + lane;
    if i < params.values {
        slots[params.first_to + i] = slots[params.first_from + i];
    }
}
