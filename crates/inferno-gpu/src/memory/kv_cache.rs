//! The paged keys and values of all layers.

/// The paged keys and values of all layers.
#[derive(Debug)]
pub struct GpuKvCache;
