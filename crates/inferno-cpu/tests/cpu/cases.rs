//! The backends that all tests compare, and shared inputs.

use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_tensor::DType;

pub use inferno_conformance::cases::*;

pub fn backend(isa: Isa, threads: usize) -> CpuBackend {
    CpuBackend::new(CpuOptions { isa: Some(isa), threads: Some(threads) }).expect("available")
}

/// The backend whose results all others must reproduce.
pub fn simplest() -> CpuBackend {
    backend(Isa::Scalar, 1)
}

/// The instruction sets of this machine; or the one named by `INFERNO_TESTED_ISA`, for emulated processors.
pub fn sets() -> Vec<Isa> {
    match std::env::var("INFERNO_TESTED_ISA") {
        Ok(name) => vec![name.parse().expect("the name of an instruction set")],
        Err(_) => Isa::available(),
    }
}

/// Every instruction set of this machine with one, two and three threads; the one named by `INFERNO_TESTED_ISA` with two
/// threads only.
pub fn all() -> Vec<CpuBackend> {
    let is_emulated = std::env::var("INFERNO_TESTED_ISA").is_ok();
    let threads = if is_emulated { 2..=2 } else { 1..=3 };
    let with_threads = |isa| threads.clone().map(move |threads| backend(isa, threads));
    sets().into_iter().flat_map(with_threads).collect()
}

/// Whether products with weights of `dtype` have the same sums on `isa` as on all others: AMX adds those of F16 and BF16 in
/// another order, which `bf16.rs` tests.
pub fn sums_are_common(isa: Isa, dtype: DType) -> bool {
    isa != Isa::Amx || !matches!(dtype, DType::F16 | DType::BF16)
}

/// Those of [`all`] that have the same sums as [`simplest`] with weights of each of `dtypes`.
pub fn all_with_common_sums(dtypes: &[DType]) -> Vec<CpuBackend> {
    let mut backends = all();
    backends.retain(|backend| dtypes.iter().all(|&dtype| sums_are_common(backend.isa(), dtype)));
    backends
}

/// Every instruction set with one number of threads, which changes from case to case: three successive cases cover the same
/// pairs as [`all`]. For loops over many cases, since threads wait for one another in each operation.
pub fn in_turn(case: usize) -> Vec<CpuBackend> {
    let is_emulated = std::env::var("INFERNO_TESTED_ISA").is_ok();
    let threads = |number: usize| if is_emulated { 2 } else { 1 + (case + number) % 3 };
    sets().into_iter().enumerate().map(|(number, isa)| backend(isa, threads(number))).collect()
}
