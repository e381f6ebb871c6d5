//! The experts of each token and their weights.

/// The experts of each token and their weights.
#[derive(Debug)]
pub struct GpuRouting;
