//! The state of recurrent layers.

/// The state of recurrent layers.
#[derive(Debug)]
pub struct GpuState;
