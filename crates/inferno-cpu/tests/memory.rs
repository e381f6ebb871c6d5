//! Memory of the whole process: a program of its own, whose tests run one at a time.

#![cfg(target_os = "linux")]

use std::sync::{Mutex, PoisonError};

use inferno_backend::{Backend, BackendError, DeviceMemory, KvDType, KvLayer, KvLayout, Pass};
use inferno_conformance::cases::{Random, matrix};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_tensor::DType;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

static PROCESS: Mutex<()> = Mutex::new(());

/// A size of this process in bytes, by its name in `/proc/self/status`.
fn process_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size");
    let kilobytes = line.trim_start_matches(':').trim().strip_suffix(" kB").expect("a size in kB");
    kilobytes.trim().parse::<u64>().expect("a number") * 1024
}

#[test]
fn unwritten_blocks_use_no_memory() {
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let backend = CpuBackend::new(CpuOptions::default()).expect("a backend");
    let layout = KvLayout {
        layers: vec![KvLayer::new(1, 1024)],
        window: None,
        block_tokens: 1,
        num_blocks: 1 << 17,
        dtype: KvDType::F32,
    };
    assert_eq!(layout.total_bytes().expect("it divides"), 1 << 30);
    let before = process_bytes("VmRSS");
    let cache = backend.alloc_kv_cache(&layout).expect("address space");
    let after = process_bytes("VmRSS");
    assert!(after < before + (1 << 24), "{before} bytes, then {after}");
    drop(cache);
}

/// A limit on the address space of this process makes mappings fail.
#[test]
fn without_memory_an_operation_fails_and_the_next_one_succeeds() {
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let backend = CpuBackend::new(CpuOptions { threads: Some(2), isa: None }).expect("a backend");
    // A column of one number becomes a cache line of activations.
    let (rows, mut random) = (1 << 24, Random::new(3));
    let weight = random.weight(DType::F32, 1, 1, 1);
    let weight = backend.load_weight(&[weight]).expect("memory");
    let x = matrix(&backend, rows, 1, &[1.0; 8]);
    let mut out = backend.alloc(rows, 1).expect("memory");

    let (soft, hard) = getrlimit(Resource::RLIMIT_AS).expect("a limit");
    let limit = process_bytes("VmSize") + (256 << 20);
    setrlimit(Resource::RLIMIT_AS, limit.min(hard), hard).expect("a lower limit");
    if Vec::<u8>::new().try_reserve_exact(rows * 64).is_ok() {
        setrlimit(Resource::RLIMIT_AS, soft, hard).expect("the limit as it was");
        println!("skipped: the limit is not enforced, as under emulation");
        return;
    }
    let result = backend.begin().linear(rows, &x, &weight, None, &mut out);
    let after = backend.begin().linear(8, &x, &weight, None, &mut out);
    setrlimit(Resource::RLIMIT_AS, soft, hard).expect("the limit as it was");

    assert!(matches!(result, Err(BackendError::OutOfMemory { bytes, .. }) if bytes == rows * 64));
    after.expect("little memory");
    let values = backend.download(&out, 0..9, &mut Vec::new()).expect("host memory").to_vec();
    assert!(values[..8].iter().all(|&value| value == values[0] && value != 0.0), "{values:?}");
    assert_eq!(values[8], 0.0);
}
