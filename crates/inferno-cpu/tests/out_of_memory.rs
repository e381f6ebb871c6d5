//! Operations without memory. The limit is the process's, so this program has a single test.

#![cfg(target_os = "linux")]

mod cases;

use cases::{Random, matrix};
use inferno_backend::{Backend, BackendError, DeviceMemory};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_tensor::DType;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// A limit on the address space of this process makes mappings fail.
#[test]
fn without_memory_an_operation_fails_and_the_next_one_succeeds() {
    let backend = CpuBackend::new(CpuOptions { threads: Some(2), isa: None }).expect("a backend");
    // A column of one number becomes a cache line of activations.
    let (rows, mut random) = (1 << 24, Random::new(3));
    let weight = random.weight(DType::F32, 1, 1, 1);
    let weight = backend.load_weight(&[weight]).expect("memory");
    let x = matrix(&backend, rows, 1, &[1.0; 8]);
    let mut out = backend.alloc(rows, 1).expect("memory");

    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("a size");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    let (soft, hard) = getrlimit(Resource::RLIMIT_AS).expect("a limit");
    let limit = kilobytes * 1024 + (256 << 20);
    setrlimit(Resource::RLIMIT_AS, limit.min(hard), hard).expect("a lower limit");
    if Vec::<u8>::new().try_reserve_exact(rows * 64).is_ok() {
        setrlimit(Resource::RLIMIT_AS, soft, hard).expect("the limit as it was");
        println!("skipped: the limit is not enforced, as under emulation");
        return;
    }
    let result = backend.linear(rows, &x, &weight, None, &mut out);
    let after = backend.linear(8, &x, &weight, None, &mut out);
    setrlimit(Resource::RLIMIT_AS, soft, hard).expect("the limit as it was");

    assert!(matches!(result, Err(BackendError::OutOfMemory { bytes, .. }) if bytes == rows * 64));
    after.expect("little memory");
    let values = backend.download(&out, 9, &mut Vec::new()).expect("host memory").to_vec();
    assert!(values[..8].iter().all(|&value| value == values[0] && value != 0.0), "{values:?}");
    assert_eq!(values[8], 0.0);
}
