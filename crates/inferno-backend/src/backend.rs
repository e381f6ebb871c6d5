//! A device, and how its operations are issued.

use crate::{DeviceMemory, Pass, Requirement};

/// A device that can run language models: transformers, recurrent models and hybrids.
///
/// [`DeviceMemory`] allocates what operations read and write; a [`Pass`] issues the operations. The host reads an
/// activation only through [`download`](DeviceMemory::download), after the pass that computed it was submitted. A
/// backend keeps its scratch memory, so that a pass allocates nothing unless it is larger than those before it.
pub trait Backend: DeviceMemory + Sized {
    /// The operations in progress.
    type Pass<'a>: Pass<Self>;

    /// A human-readable description of the device and its settings: `cpu (avx2, 2 threads)`.
    fn describe(&self) -> String;

    /// Returns why the backend cannot compute what a model requires; `None` if it can. Models are checked before they are
    /// loaded.
    fn unsupported(&self, _requirement: &Requirement<'_>) -> Option<String> {
        None
    }

    /// Begins a pass. A backend runs one pass at a time: another one waits until this one is submitted or dropped.
    fn begin(&self) -> Self::Pass<'_>;
}
