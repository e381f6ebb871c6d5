//! How a device is opened.

use std::path::PathBuf;

use crate::adapter::{AdapterKind, GpuAdapter};

/// How a device is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Whether products of many rows use cooperative matrices if the device offers suitable ones: f16 inputs and f32 sums. They
    /// are less exact than the default, and results depend on the number of rows of a pass.
    pub matrices: bool,
    /// Whether the fastest division of each product among workgroups is measured when it is first computed. By default it
    /// is unless the device is emulated. Results do not depend on it without cooperative matrices.
    pub tuning: Option<bool>,
    /// Where measured choices are stored; `None` to measure them in each process.
    pub cache_directory: Option<PathBuf>,
}

impl GpuOptions {
    /// Reads `INFERNO_GPU_MATRICES` and `INFERNO_GPU_TUNING`, which are 0 or 1; other values are ignored. Choices are
    /// stored in the user's cache directory.
    pub fn from_environment() -> Self {
        Self {
            matrices: flag("INFERNO_GPU_MATRICES").unwrap_or(false),
            tuning: flag("INFERNO_GPU_TUNING"),
            cache_directory: cache_directory(),
        }
    }

    /// Whether products are measured on `adapter`.
    pub(crate) fn tunes(&self, adapter: &GpuAdapter) -> bool {
        self.tuning.unwrap_or(adapter.kind() != AdapterKind::Software)
    }
}

fn flag(name: &str) -> Option<bool> {
    match std::env::var(name).ok()?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The folder `inferno` in the user's cache directory.
fn cache_directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = |folder: &str| Some(PathBuf::from(set("HOME")?).join(folder));
    let caches = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_vendor = "apple") {
        home("Library/Caches")
    } else {
        set("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| home(".cache"))
    };
    Some(caches?.join("inferno"))
}
