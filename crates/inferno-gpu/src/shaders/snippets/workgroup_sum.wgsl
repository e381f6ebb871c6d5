// Sums one value per thread over a workgroup of LANES threads, a multiple of 16, always in the same order. Control flow
// must be uniform. All threads receive the sum.
var<workgroup> partial_sums: array<f32, LANES>;
var<workgroup> column_sums: array<f32, 16>;

fn workgroup_sum(lane: u32, value: f32) -> f32 {
    partial_sums[lane] = value;
    workgroupBarrier();
    if lane < 16u {
        var sum = partial_sums[lane];
        for (var i = lane + 16u; i < LANES; i += 16u) {
            sum += partial_sums[i];
        }
        column_sums[lane] = sum;
    }
    workgroupBarrier();
    var sum = column_sums[0];
//# each i 15
    sum += column_sums[$i + 1];
//# end
    return sum;
}
