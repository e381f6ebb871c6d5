//! A model that is divided between processes.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inferno::{StageKey, StageServer};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::PathArgument;
use crate::detached::Detached;
use crate::errors::invalid;
use crate::load::LoadArguments;
use crate::loaded::{load_interruptible, open};

/// A stage of a model, which programs in other processes use through its address.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Stage(Detached<Mutex<Option<StageServer>>>);

#[pymethods]
impl Stage {
    /// Loads the weights of layers `first` to `end - 1` and accepts connections.
    #[staticmethod]
    #[pyo3(signature = (source, first, end, address, key, **options))]
    fn start(
        py: Python<'_>,
        source: Option<PathArgument>,
        first: usize,
        end: usize,
        address: String,
        key: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let key = stage_key(&key)?;
        let options = LoadArguments::read(options)?.checked()?.options;
        let source = source.map(|path| path.0);
        let server = load_interruptible(py, move || {
            let (model, _) = open(source)?;
            model.with_options(options).serve_stage(first..end, &address, key)
        })?;
        Ok(Self(Detached::new(Mutex::new(Some(server)))))
    }

    /// The address on which it listens; `None` after it was closed.
    #[getter]
    fn address(&self) -> PyResult<Option<String>> {
        Ok(self.server()?.as_ref().map(|server| server.address().to_string()))
    }

    /// Whether it was closed, or its device failed for good.
    #[getter]
    fn has_stopped(&self) -> PyResult<bool> {
        Ok(self.server()?.as_ref().is_none_or(StageServer::has_stopped))
    }

    /// Closes all connections and releases the weights.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.server()?.take();
        py.detach(|| drop(server));
        Ok(())
    }
}

impl Stage {
    fn server(&self) -> PyResult<MutexGuard<'_, Option<StageServer>>> {
        Ok(self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The addresses of the stages of a model.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct StageAddresses(pub(crate) inferno::StageAddresses);

#[pymethods]
impl StageAddresses {
    #[new]
    #[pyo3(signature = (addresses, key, recovery_timeout))]
    fn new(addresses: Vec<String>, key: String, recovery_timeout: f64) -> PyResult<Self> {
        let timeout = Duration::try_from_secs_f64(recovery_timeout);
        let timeout = timeout.map_err(|error| invalid(format!("recovery_timeout: {error}")))?;
        let addresses = inferno::StageAddresses::new(addresses, stage_key(&key)?);
        Ok(Self(addresses.with_recovery_timeout(timeout)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Whether a model uses them.
    #[getter]
    fn is_used(&self) -> bool {
        self.0.is_shared()
    }

    /// Fails requests that wait for a lost stage, and later ones.
    fn close(&self) {
        self.0.close();
    }

    /// Sets where a stage runs after it was lost.
    fn set(&self, index: usize, address: String) -> PyResult<()> {
        if index >= self.0.len() {
            return Err(PyIndexError::new_err(format!("there is no stage {index}")));
        }
        self.0.set(index, address);
        Ok(())
    }
}

/// Checks the options of [`LoadedModel::load_from_stages`](crate::model::LoadedModel) before the stages are started.
#[pyfunction]
#[pyo3(signature = (num_lanes, **options))]
pub fn check_stage_options(num_lanes: usize, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    LoadArguments::read(options)?.checked_for_stages(num_lanes).map(drop)
}

/// Divides the layers of a model between stages; pairs of the first layer and the end.
#[pyfunction]
pub fn divide(
    py: Python<'_>,
    source: Option<PathArgument>,
    num_stages: usize,
) -> PyResult<Vec<(usize, usize)>> {
    let source = source.map(|path| path.0);
    let layers = load_interruptible(py, move || open(source)?.0.stages(num_stages))?.into_iter();
    Ok(layers.map(|Range { start, end }| (start, end)).collect())
}

fn stage_key(secret: &str) -> PyResult<StageKey> {
    match secret.is_empty() {
        true => Err(invalid("key must not be empty; use secrets.token_hex()")),
        false => Ok(StageKey::new(secret)),
    }
}
