//! The backends that all tests compare, and shared inputs.

use inferno_cpu::{CpuBackend, CpuOptions, Isa};

pub use inferno_conformance::cases::*;

pub fn backend(isa: Isa, threads: usize) -> CpuBackend {
    CpuBackend::new(CpuOptions { isa: Some(isa), threads: Some(threads) }).expect("available")
}

/// The backend whose results all others must reproduce.
pub fn simplest() -> CpuBackend {
    backend(Isa::Scalar, 1)
}

/// Every instruction set of this machine with one, two and three threads; or the one named by
/// `INFERNO_TESTED_ISA` with two threads, for emulated processors.
pub fn all() -> Vec<CpuBackend> {
    if let Ok(name) = std::env::var("INFERNO_TESTED_ISA") {
        return vec![backend(name.parse().expect("the name of an instruction set"), 2)];
    }
    let sets = Isa::available();
    sets.into_iter().flat_map(|isa| (1..=3).map(move |threads| backend(isa, threads))).collect()
}
