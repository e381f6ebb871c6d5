//! Memory allocated from the system.
//!
//! The figures are of the whole process, so this program has a single test.

#![cfg(target_os = "linux")]

use inferno_backend::{DeviceMemory, KvDType, KvLayer, KvLayout};
use inferno_cpu::{CpuBackend, CpuOptions};

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes = kilobytes.expect("a size in kB").trim();
    kilobytes.parse::<usize>().expect("a number") * 1024
}

#[test]
fn unwritten_blocks_use_no_memory() {
    let backend = CpuBackend::new(CpuOptions::default()).expect("a backend");
    let layout = KvLayout {
        layers: vec![KvLayer::new(1, 1024)],
        window: None,
        block_tokens: 1,
        num_blocks: 1 << 17,
        dtype: KvDType::F32,
    };
    assert_eq!(layout.total_bytes().expect("it divides"), 1 << 30);
    let before = resident();
    let cache = backend.alloc_kv_cache(&layout).expect("address space");
    let after = resident();
    assert!(after < before + (1 << 24), "{before} bytes, then {after}");
    drop(cache);
}
