//! From named tensors of a file to packed weights of a backend.
//!
//! Every tensor is asked for with the shape that the metadata calls for, so that a misshapen file
//! fails here with both shapes named and no kernel ever checks again. Mapped pages are given back
//! after each weight is packed: memory peaks near the size of the file, not twice that.

use std::collections::HashSet;

use bytes::Bytes;
use inferno_backend::{Backend, BackendError, WeightPart};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::{DType, quant};

use crate::{ModelError, Requantize};

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Bytes of tensors packed so far.
    pub loaded_bytes: usize,
    /// Bytes of all tensors in the file.
    pub total_bytes: usize,
}

/// One tensor of a stacked weight: its name and how many output rows it brings.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) rows: usize,
}

/// Takes tensors out of a checkpoint and hands them to a backend.
pub(crate) struct Loader<'a, B: Backend> {
    checkpoint: &'a Gguf,
    backend: &'a B,
    requantize: Option<Requantize>,
    on_progress: &'a mut dyn FnMut(LoadProgress),
    progress: LoadProgress,
    /// Names of the tensors that have found their place.
    taken: HashSet<&'a str>,
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
        Self { checkpoint, backend, requantize, on_progress, progress, taken: HashSet::new() }
    }

    /// Asks the system to read a layer's tensors ahead, while the one before it is packed.
    pub(crate) fn preload_layer(&self, layer: usize) {
        let prefix = format!("blk.{layer}.");
        let tensors = self.checkpoint.tensors().iter();
        tensors
            .filter(|info| info.name().starts_with(&prefix))
            .for_each(|info| self.checkpoint.preload(info));
    }

    /// Ends the load: every tensor must have found its place.
    pub(crate) fn finish(self) -> Result<(), ModelError> {
        let tensors = self.checkpoint.tensors().iter().map(TensorInfo::name);
        let names: Vec<String> =
            tensors.filter(|name| !self.taken.contains(name)).map(str::to_owned).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(ModelError::UnusedTensors { names }),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.checkpoint.tensor(name).is_some()
    }

    /// A vector of parameters as `f32`: norm weights, biases, frequency factors.
    pub(crate) fn values(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        let (info, part) = self.part(name, 1, 1, len, &[len])?;
        let mut values = vec![0.0; len];
        quant::decode_row(part.dtype(), part.bytes(), &mut values)
            .map_err(|source| BackendError::WeightShape { name: name.to_owned(), source })?;
        self.finished(info);
        Ok(values)
    }

    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<B::Buffer, ModelError> {
        let values = self.values(name, len)?;
        self.upload(&values)
    }

    /// The biases of stacked `parts` as one vector; `None` where the file has none of them.
    pub(crate) fn stacked_bias(
        &mut self,
        parts: &[Part],
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

    /// Matrices of `cols` input features, stacked into one weight.
    pub(crate) fn matrix(&mut self, parts: &[Part], cols: usize) -> Result<B::Weight, ModelError> {
        self.stack(parts, None, cols)
    }

    /// Likewise, with one matrix an expert in each part.
    pub(crate) fn experts(
        &mut self,
        parts: &[Part],
        num_experts: usize,
        cols: usize,
    ) -> Result<B::Weight, ModelError> {
        self.stack(parts, Some(num_experts), cols)
    }

    /// A table of `rows` vectors that are looked up, read where they lie in the file.
    pub(crate) fn table(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<B::Table, ModelError> {
        let (info, part) = self.part(name, 1, rows, cols, &[rows, cols])?;
        let table = self.backend.load_table(&part)?;
        self.advance(info);
        Ok(table)
    }

    fn stack(
        &mut self,
        parts: &[Part],
        num_experts: Option<usize>,
        cols: usize,
    ) -> Result<B::Weight, ModelError> {
        let mut infos = Vec::with_capacity(parts.len());
        let mut loaded = Vec::with_capacity(parts.len());
        for part in parts {
            let shape: Vec<usize> = num_experts.into_iter().chain([part.rows, cols]).collect();
            let (info, part) =
                self.part(&part.name, num_experts.unwrap_or(1), part.rows, cols, &shape)?;
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

    /// The tensor `name`, which must have exactly `shape` (slowest dimension first).
    fn part(
        &self,
        name: &str,
        experts: usize,
        rows: usize,
        cols: usize,
        shape: &[usize],
    ) -> Result<(&'a TensorInfo, WeightPart), ModelError> {
        let info = find(self.checkpoint, name, shape)?;
        let bytes: Bytes = self.checkpoint.data(info);
        let part = WeightPart::experts(name, dtype_of(info)?, experts, rows, cols, bytes)?;
        Ok((info, part))
    }

    fn upload(&self, values: &[f32]) -> Result<B::Buffer, ModelError> {
        let mut buffer = self.backend.alloc(1, values.len())?;
        self.backend.upload(values, &mut buffer);
        Ok(buffer)
    }

    /// Gives the pages of a packed tensor back to the system.
    fn finished(&mut self, info: &'a TensorInfo) {
        self.checkpoint.release(info);
        self.advance(info);
    }

    fn advance(&mut self, info: &'a TensorInfo) {
        // Tied embeddings are used twice.
        if self.taken.insert(info.name()) {
            self.progress.loaded_bytes += info.num_bytes();
            (self.on_progress)(self.progress);
        }
    }
}

/// Finds a tensor and checks its shape, given slowest dimension first.
fn find<'a>(
    checkpoint: &'a Gguf,
    name: &str,
    expected: &[usize],
) -> Result<&'a TensorInfo, ModelError> {
    let info = checkpoint.tensor(name).ok_or_else(|| ModelError::MissingTensor {
        name: name.to_owned(),
        expected: expected.to_vec(),
    })?;
    // Files give the fastest dimension first, and may or may not pad with ones.
    let found = info.dims().iter().rev().skip_while(|&&dim| dim == 1);
    let wanted = expected.iter().copied().skip_while(|&dim| dim == 1);
    if !found.copied().eq(wanted) {
        return Err(ModelError::TensorShape {
            name: name.to_owned(),
            expected: expected.to_vec(),
            found: info.dims().iter().rev().copied().collect(),
        });
    }
    Ok(info)
}

/// The format of a tensor, if it can be computed.
pub(crate) fn dtype_of(info: &TensorInfo) -> Result<DType, ModelError> {
    DType::from_ggml_id(info.ggml_type().id()).ok_or_else(|| ModelError::UncomputableFormat {
        name: info.name().to_owned(),
        found: info.ggml_type().name().to_owned(),
        known: DType::ALL
            .iter()
            .filter(|dtype| dtype.ggml_id().is_some())
            .map(|dtype| dtype.name())
            .collect(),
    })
}
