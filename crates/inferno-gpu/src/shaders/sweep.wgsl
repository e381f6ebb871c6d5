// Reads or copies a buffer, to measure the bandwidth of memory.

struct Params {
    vectors: u32,
    threads: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> destination: array<vec4<u32>>;

// Loads in flight per thread.
const LOADS: u32 = 4u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = flat_index(workgroup, num_workgroups) * LANES + thread;
    var total = vec4<u32>();
    for (var i = first; i + (LOADS - 1u) * params.threads < params.vectors; i += LOADS * params.threads) {
//# each n 4
        let vector_$n = source[i + $nu * params.threads];
//# end
//# if IS_COPY
//# each n 4
        destination[i + $nu * params.threads] = vector_$n;
//# end
//# else
        total ^= (vector_0 ^ vector_1) ^ (vector_2 ^ vector_3);
//# end
    }
//# if IS_COPY
//# else
    // Almost never true: keeps the loads.
    if all(total == vec4<u32>(0x9e3779b9u)) {
        destination[0] = total;
    }
//# end
}
