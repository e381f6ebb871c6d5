//! How a device is opened.

use crate::adapter::{AdapterKind, GpuAdapter};

/// How a device is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Whether products use cooperative matrices if the device offers suitable ones: f16 inputs and f32 sums. By default
    /// they do unless the device is emulated.
    pub matrices: Option<bool>,
}

impl GpuOptions {
    /// Reads `INFERNO_GPU_MATRICES`, which is 0 or 1. Other values are ignored.
    pub fn from_environment() -> Self {
        Self { matrices: flag("INFERNO_GPU_MATRICES") }
    }

    /// Whether products use the matrices of `adapter`.
    pub(crate) fn uses_matrices(self, adapter: &GpuAdapter) -> bool {
        self.matrices.unwrap_or(adapter.kind() != AdapterKind::Software)
    }
}

fn flag(name: &str) -> Option<bool> {
    match std::env::var(name).ok()?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}
