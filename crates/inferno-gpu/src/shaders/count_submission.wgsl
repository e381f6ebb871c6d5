// Counts the submissions of a device.

@group(0) @binding(1) var<storage, read_write> count: array<u32>;

@compute @workgroup_size(1)
fn main() {
    count[0] += 1u;
}
