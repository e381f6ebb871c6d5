//! The weights of a matrix product.

/// The weights of a matrix product.
#[derive(Debug)]
pub struct GpuWeight;
