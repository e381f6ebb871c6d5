// Sums one value per thread over a workgroup of LANES threads, a power of two, always in the same order. Control flow
// must be uniform. All threads receive the sum.
var<workgroup> partial_sums: array<f32, LANES>;

fn workgroup_sum(lane: u32, value: f32) -> f32 {
    partial_sums[lane] = value;
    workgroupBarrier();
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
        if lane < width {
            partial_sums[lane] += partial_sums[lane + width];
        }
        workgroupBarrier();
    }
    let sum = partial_sums[0];
    workgroupBarrier();
    return sum;
}

