// The number of a workgroup in a grid whose x and y were folded from one count.
fn flat_index(workgroup: vec3<u32>, num_workgroups: vec3<u32>) -> u32 {
    return workgroup.y * num_workgroups.x + workgroup.x;
}

