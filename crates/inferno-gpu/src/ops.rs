//! The operations: their parameters and dispatches. Each module lists its kernels for the tests of all shaders.

pub(crate) mod elementwise;
pub(crate) mod function;
pub(crate) mod norm;

/// Number of threads in a workgroup, in kernels without another reason.
pub(crate) const LANES: u32 = 256;

/// Every kernel in every variant.
#[cfg(test)]
pub(crate) fn variants() -> Vec<crate::kernel::Variant> {
    [elementwise::variants(), norm::variants()].concat()
}
