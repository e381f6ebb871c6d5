//! How a device is opened.

use std::path::PathBuf;

use inferno_backend::BackendError;

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
    /// Reads `INFERNO_GPU_MATRICES` and `INFERNO_GPU_TUNING`. Choices are stored in the user's cache directory.
    ///
    /// **Errors**: [`BackendError::InvalidSetting`] for values other than 0 and 1.
    pub fn from_environment() -> Result<Self, BackendError> {
        Ok(Self {
            matrices: flag("INFERNO_GPU_MATRICES")?.unwrap_or(false),
            tuning: flag("INFERNO_GPU_TUNING")?,
            cache_directory: cache_directory(),
        })
    }

    /// Whether products are measured on `adapter`.
    pub(crate) fn tunes(&self, adapter: &GpuAdapter) -> bool {
        self.tuning.unwrap_or(adapter.kind() != AdapterKind::Software)
    }
}

/// Reads a variable that is 0 or 1; `None` if it is unset or empty.
fn flag(name: &'static str) -> Result<Option<bool>, BackendError> {
    let Some(value) = std::env::var_os(name) else { return Ok(None) };
    match value.to_str() {
        Some("") => Ok(None),
        Some("0") => Ok(Some(false)),
        Some("1") => Ok(Some(true)),
        _ => Err(BackendError::InvalidSetting {
            name,
            value: value.to_string_lossy().into_owned(),
            expected: "0 or 1",
        }),
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
