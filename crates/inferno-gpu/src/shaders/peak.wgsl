// Arithmetic in registers, to measure the peak rates of a device: f32 multiply-adds (KIND = 0), packed 8-bit dot products
// (KIND = 1), or products of matrices (KIND = 2). CHAINS independent sums hide the latency of each operation.

struct Params {
    iterations: u32,
    // Never zero, but unknown to the compiler.
    seed: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> results: array<f32>;

//# if KIND = 2
var<workgroup> tile: array<vec4<f16>, M * M / 4u>;
var<workgroup> sums: array<f32, M * M>;
//# end

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) thread: u32) {
//# if KIND = 2
    for (var i = thread; i < M * M / 4u; i += LANES) {
        tile[i] = vec4<f16>(f16(1.0 / f32(params.seed)));
    }
    workgroupBarrier();
    let a = coopLoadT<coop_mat$Mx$M<f16, A>>(&tile[0], M / 4u);
    let b = coopLoad<coop_mat$Mx$M<f16, B>>(&tile[0], M / 4u);
//# each c CHAINS
    var sum_$c = coop_mat$Mx$M<f32, C>();
//# end
    for (var i = 0u; i < params.iterations; i++) {
//# each c CHAINS
        sum_$c = coopMultiplyAdd(a, b, sum_$c);
//# end
    }
//# each c CHAINS
    coopStore(sum_$c, &sums[0], M);
    workgroupBarrier();
    if sums[thread % (M * M)] == 0.5 {
        results[0] = 1.0;
    }
    workgroupBarrier();
//# end
//# end
//# if KIND = 1
    let x = params.seed * (thread + 1u);
//# each c CHAINS
    var sum_$c = $c;
//# end
    for (var i = 0u; i < params.iterations; i++) {
//# each c CHAINS
        sum_$c += dot4I8Packed(x, u32(sum_$c));
//# end
    }
    var total = 0;
//# each c CHAINS
    total ^= sum_$c;
//# end
    if total == 0x1234567 {
        results[0] = 1.0;
    }
//# end
//# if KIND = 0
    let factor = vec4<f32>(1.0 - 1e-6 * f32(params.seed));
    let added = vec4<f32>(f32(thread) * 1e-3);
//# each c CHAINS
    var sum_$c = vec4<f32>($c.0);
//# end
    for (var i = 0u; i < params.iterations; i++) {
//# each c CHAINS
        sum_$c = fma(sum_$c, factor, added);
//# end
    }
    var total = vec4<f32>();
//# each c CHAINS
    total += sum_$c;
//# end
    if total.x + total.y + total.z + total.w == 0.5 {
        results[0] = 1.0;
    }
//# end
}
