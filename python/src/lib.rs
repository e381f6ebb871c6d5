//! The extension module of the Python package `inferno-llm`: the engine, its sessions, the server's routes and the
//! command. The package's Python files wrap it; `_inferno.pyi` describes it.

mod arguments;
mod cache_events;
mod command;
mod detached;
mod errors;
mod generation;
mod load;
mod loaded;
mod logs;
mod model;
mod open_stream;
mod python_thread;
mod records;
mod server;
mod session;
mod stage;
mod stream;
mod values;
mod wait;

use pyo3::pymodule;

/// The module `inferno._inferno`.
#[pymodule]
mod _inferno {
    #[pymodule_export]
    use crate::cache_events::{CacheEvent, CacheEventStream};
    #[pymodule_export]
    use crate::command::{devices, main};
    #[pymodule_export]
    use crate::model::LoadedModel;
    #[pymodule_export]
    use crate::records::{Chunk, Timings, TokenLogprob, Usage};
    #[pymodule_export]
    use crate::server::{Response, Server, check_server};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::stage::{Stage, StageAddresses, check_stage_options, divide};
    #[pymodule_export]
    use crate::stream::ChunkStream;
    #[pymodule_export]
    use crate::values::ValueStream;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
