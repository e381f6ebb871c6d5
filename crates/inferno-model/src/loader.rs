//! Loads named tensors of a file as packed weights of a backend.
//!
//! Every tensor is requested with the shape that the metadata implies, so a tensor of another shape
//! fails here with both shapes in the error, and no kernel checks again. Mapped pages are released
//! after each weight is packed: memory peaks near the size of the file, not twice that.

use std::collections::HashSet;

use bytes::Bytes;
use inferno_backend::{Backend, BackendError, WeightPart};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::{DType, quant};

use crate::{ModelError, Requantize};

/// Progress of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Size of the tensors packed so far, in bytes.
    pub loaded_bytes: usize,
    /// Size of all tensors in the file, in bytes.
    pub total_bytes: usize,
}

/// One tensor of a stacked weight: its name and its number of output rows.
pub(crate) struct PartSpec {
    pub(crate) name: String,
    pub(crate) rows: usize,
}

impl PartSpec {
    /// The tensor `suffix` of layer `layer`.
    pub(crate) fn new(layer: usize, suffix: &str, rows: usize) -> Self {
        Self { name: format!("blk.{layer}.{suffix}"), rows }
    }
}

/// Reads the tensors of a checkpoint and hands them to a backend.
pub(crate) struct Loader<'a, B: Backend> {
    checkpoint: &'a Gguf,
    backend: &'a B,
    requantize: Option<Requantize>,
    on_progress: &'a mut dyn FnMut(LoadProgress),
    progress: LoadProgress,
    /// Names of the tensors loaded so far.
    loaded: HashSet<&'a str>,
}

impl<'a, B: Backend> Loader<'a, B> {
    pub(crate) fn new(
        checkpoint: &'a Gguf,
        backend: &'a B,
        requantize: Option<Requantize>,
        on_progress: &'a mut dyn FnMut(LoadProgress),
    ) -> Self {
        let total_bytes = checkpoint.tensors().iter().map(TensorInfo::num_bytes).sum();
        let progress = LoadProgress { loaded_bytes: 0, total_bytes };
        Self { checkpoint, backend, requantize, on_progress, progress, loaded: HashSet::new() }
    }

    /// Starts reading a layer's tensors from disk while the layer before it is packed.
    pub(crate) fn preload_layer(&self, layer: usize) {
        let prefix = format!("blk.{layer}.");
        let tensors = self.checkpoint.tensors().iter();
        tensors
            .filter(|info| info.name().starts_with(&prefix))
            .for_each(|info| self.checkpoint.preload(info));
    }

    /// Completes the load; every tensor of the file must have been loaded.
    pub(crate) fn finish(self) -> Result<(), ModelError> {
        let tensors = self.checkpoint.tensors().iter().map(TensorInfo::name);
        let names: Vec<String> =
            tensors.filter(|name| !self.loaded.contains(name)).map(str::to_owned).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(ModelError::UnusedTensors { names }),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.checkpoint.tensor(name).is_some()
    }

    /// Decodes a vector of parameters: norm weights, biases, frequency factors.
    pub(crate) fn values(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let (info, part) = self.part(name, [1, 1, len])?;
        let mut values = vec![0.0; len];
        quant::decode_row(part.dtype(), part.row(0, 0), &mut values)
            .map_err(|source| BackendError::WeightShape { name: name.to_owned(), source })?;
        self.finished(info);
        Ok(values)
    }

    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<B::Buffer, ModelError> {
        let values = self.values(name, len)?;
        self.upload(&values)
    }

    /// Loads the biases of stacked `parts` as one vector; `None` if the file has none of them.
    pub(crate) fn stacked_bias(
        &mut self,
        parts: &[PartSpec],
        required: bool,
    ) -> Result<Option<B::Buffer>, ModelError> {
        if !required && !parts.iter().any(|part| self.contains(&part.name)) {
            return Ok(None);
        }
        let mut values = Vec::new();
        for part in parts {
            values.extend(self.values(&part.name, part.rows)?);
        }
        self.upload(&values).map(Some)
    }

    /// Loads matrices of `cols` input features, stacked by rows into one weight.
    pub(crate) fn matrix(
        &mut self,
        parts: &[PartSpec],
        cols: usize,
    ) -> Result<B::Weight, ModelError> {
        self.stack(parts, 1, cols)
    }

    /// Like [`matrix`](Self::matrix), with one matrix per expert in each part.
    pub(crate) fn experts(
        &mut self,
        parts: &[PartSpec],
        num_experts: usize,
        cols: usize,
    ) -> Result<B::Weight, ModelError> {
        self.stack(parts, num_experts, cols)
    }

    /// Loads a table of `rows` vectors for lookups.
    pub(crate) fn table(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<B::Table, ModelError> {
        let (info, part) = self.part(name, [1, rows, cols])?;
        let table = self.backend.load_table(&part)?;
        self.advance(info);
        Ok(table)
    }

    fn stack(
        &mut self,
        parts: &[PartSpec],
        num_experts: usize,
        cols: usize,
    ) -> Result<B::Weight, ModelError> {
        let mut infos = Vec::with_capacity(parts.len());
        let mut loaded = Vec::with_capacity(parts.len());
        for part in parts {
            let (info, part) = self.part(&part.name, [num_experts, part.rows, cols])?;
            infos.push(info);
            loaded.push(match self.requantize {
                Some(requantize) => requantize.apply(part)?,
                None => part,
            });
        }
        let weight = self.backend.load_weight(&loaded)?;
        drop(loaded);
        infos.into_iter().for_each(|info| self.finished(info));
        Ok(weight)
    }

    /// The tensor `name`, whose dimensions must be `[experts, rows, cols]`.
    fn part(
        &self,
        name: &str,
        shape: [usize; 3],
    ) -> Result<(&'a TensorInfo, WeightPart), ModelError> {
        let info = find(self.checkpoint, name, shape)?;
        let bytes: Bytes = self.checkpoint.data(info);
        let [experts, rows, cols] = shape;
        let part = WeightPart::experts(name, dtype_of(info)?, experts, rows, cols, bytes)?;
        Ok((info, part))
    }

    fn upload(&self, values: &[f32]) -> Result<B::Buffer, ModelError> {
        let mut buffer = self.backend.alloc(1, values.len())?;
        self.backend.upload(values, &mut buffer);
        Ok(buffer)
    }

    /// Releases the mapped pages of a packed tensor.
    fn finished(&mut self, info: &'a TensorInfo) {
        self.checkpoint.release(info);
        self.advance(info);
    }

    fn advance(&mut self, info: &'a TensorInfo) {
        // Tied embeddings are loaded twice.
        if self.loaded.insert(info.name()) {
            self.progress.loaded_bytes += info.num_bytes();
            (self.on_progress)(self.progress);
        }
    }
}

/// Finds a tensor and checks its shape. Leading dimensions of size 1 are optional.
fn find<'a>(
    checkpoint: &'a Gguf,
    name: &str,
    shape: [usize; 3],
) -> Result<&'a TensorInfo, ModelError> {
    let expected: Vec<usize> = shape.into_iter().skip_while(|&size| size == 1).collect();
    let Some(info) = checkpoint.tensor(name) else {
        return Err(ModelError::MissingTensor { name: name.to_owned(), expected });
    };
    let found = slowest_first(info);
    match found.iter().skip_while(|&&size| size == 1).eq(&expected) {
        true => Ok(info),
        false => Err(ModelError::TensorShape { name: name.to_owned(), expected, found }),
    }
}

/// A tensor's dimensions in row-major order; files store the fastest dimension first.
pub(crate) fn slowest_first(info: &TensorInfo) -> Vec<usize> {
    info.dims().iter().rev().copied().collect()
}

/// The format of a tensor.
///
/// **Errors**: [`ModelError::UnsupportedFormat`].
pub(crate) fn dtype_of(info: &TensorInfo) -> Result<DType, ModelError> {
    DType::from_ggml_id(info.ggml_type().id()).ok_or_else(|| ModelError::UnsupportedFormat {
        name: info.name().to_owned(),
        found: info.ggml_type().name().to_owned(),
        known: DType::ALL
            .iter()
            .filter(|dtype| dtype.ggml_id().is_some())
            .map(|dtype| dtype.name())
            .collect(),
    })
}
