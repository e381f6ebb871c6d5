//! The `inferno` command, and the list of devices.

use std::ffi::OsString;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs the `inferno` command. The first argument is the name of the program. Returns the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| inferno::cli::inferno_with(arguments))
}

/// Lists the GPUs of this machine.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let gpus = py.detach(inferno::gpus);
    let describe = |gpu: inferno::GpuDescription| {
        let dict = PyDict::new(py);
        dict.set_item("index", gpu.index)?;
        dict.set_item("name", gpu.name)?;
        dict.set_item("api", gpu.api)?;
        dict.set_item("kind", gpu.kind)?;
        dict.set_item("driver", gpu.driver)?;
        dict.set_item("memory_bytes", gpu.memory_bytes)?;
        Ok(dict)
    };
    gpus.into_iter().map(describe).collect()
}
