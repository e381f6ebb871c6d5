//! Loads the tensors of a description as packed weights of a backend.
//!
//! Mapped pages are released after each weight is packed: memory peaks near the size of the file, not
//! twice that.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use inferno_backend::{Backend, BackendError, WeightPart};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::quant::Int8Row;
use inferno_tensor::{DType, quant};
use rayon::prelude::*;

use crate::spec::scales::{TensorScales, matrix_dtype};
use crate::spec::tensors::{MatrixPart, MatrixSpec, VectorSpec};
use crate::spec::unused::UnusedTensors;
use crate::tensor_names::layer_tensor;
use crate::{ModelError, Requantize, SeparateExperts};

/// Progress of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Size of the tensors packed so far, in bytes.
    pub loaded_bytes: usize,
    /// Size of all tensors in the file, in bytes.
    pub total_bytes: usize,
}

/// Reads the tensors of a checkpoint and hands them to a backend.
pub(crate) struct Loader<'a, B: Backend> {
    checkpoint: &'a Gguf,
    backend: &'a B,
    requantize: Option<Requantize>,
    on_progress: &'a mut dyn FnMut(LoadProgress),
    progress: LoadProgress,
    /// The tensors of each layer.
    layers: HashMap<usize, Vec<&'a TensorInfo>>,
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
        let mut layers: HashMap<_, Vec<_>> = HashMap::new();
        for info in checkpoint.tensors() {
            if let Some((layer, _)) = layer_tensor(info.name()) {
                layers.entry(layer).or_default().push(info);
            }
        }
        let loaded = HashSet::new();
        Self { checkpoint, backend, requantize, on_progress, progress, layers, loaded }
    }

    /// Counts the tensors that were loaded with `experts`.
    pub(crate) fn after(self, experts: &SeparateExperts) -> Self {
        let names = experts.loaded.iter().filter_map(|name| self.checkpoint.tensor(name));
        let loaded = names.map(TensorInfo::name).collect();
        Self { loaded, progress: experts.progress, ..self }
    }

    /// The names of the tensors that were loaded, and the progress of the load.
    pub(crate) fn into_progress(self) -> (HashSet<String>, LoadProgress) {
        (self.loaded.into_iter().map(str::to_owned).collect(), self.progress)
    }

    /// Starts reading a layer's tensors from disk while the layer before it is packed.
    pub(crate) fn preload_layer(&self, layer: usize) {
        let tensors = self.layers.get(&layer).into_iter().flatten();
        tensors
            .filter(|info| !self.loaded.contains(info.name()))
            .for_each(|info| self.checkpoint.preload(info));
    }

    /// Completes the load; every tensor of the file must have been loaded, except those of `unused`.
    pub(crate) fn finish(self, unused: &UnusedTensors) -> Result<(), ModelError> {
        let tensors = self.checkpoint.tensors().iter().map(TensorInfo::name);
        let unknown = tensors.filter(|name| !self.loaded.contains(name) && !unused.contains(name));
        let names: Vec<String> = unknown.map(str::to_owned).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(ModelError::UnusedTensors { names }),
        }
    }

    /// Decodes vectors: norm weights, biases, frequency factors.
    pub(crate) fn values(&mut self, vector: &VectorSpec) -> Result<Vec<f32>, ModelError> {
        let cols = vector.cols();
        let mut values = vec![0.0; vector.rows * cols];
        let mut at = 0;
        for (name, len) in &vector.parts {
            let info = self.info(name);
            let part = WeightPart::matrix(
                name,
                dtype_of(info)?,
                vector.rows,
                *len,
                self.checkpoint.data(info),
            )?;
            self.checkpoint.check_payloads()?;
            for (row, values) in values.chunks_exact_mut(cols).enumerate() {
                quant::decode_row(part.dtype(), part.row(0, row), &mut values[at..at + len])
                    .map_err(|source| BackendError::WeightShape { name: name.clone(), source })?;
            }
            at += len;
            self.finished(info);
        }
        Ok(values)
    }

    /// Loads vectors as one buffer.
    pub(crate) fn vector(&mut self, vector: &VectorSpec) -> Result<B::Buffer, ModelError> {
        let values = self.values(vector)?;
        self.buffer(&values, vector.rows, vector.cols())
    }

    /// Loads vectors as one buffer, with each value multiplied by `factor`.
    pub(crate) fn scaled_vector(
        &mut self,
        vector: &VectorSpec,
        factor: f32,
    ) -> Result<B::Buffer, ModelError> {
        let values: Vec<f32> = self.values(vector)?.into_iter().map(|x| factor * x).collect();
        self.buffer(&values, vector.rows, vector.cols())
    }

    /// A row of `len` ones.
    pub(crate) fn ones(&mut self, len: usize) -> Result<B::Buffer, ModelError> {
        self.row(&vec![1.0; len])
    }

    /// A row of `values`.
    pub(crate) fn row(&mut self, values: &[f32]) -> Result<B::Buffer, ModelError> {
        self.buffer(values, 1, values.len())
    }

    /// A matrix of `values`.
    pub(crate) fn buffer(
        &self,
        values: &[f32],
        rows: usize,
        cols: usize,
    ) -> Result<B::Buffer, ModelError> {
        let mut buffer = self.backend.alloc(rows, cols)?;
        self.backend.upload(values, &mut buffer);
        Ok(buffer)
    }

    /// Loads a vector of `rows` rows, whatever the shapes of its tensors, as the columns of a buffer.
    pub(crate) fn transposed(
        &mut self,
        vector: &VectorSpec,
        rows: usize,
    ) -> Result<B::Buffer, ModelError> {
        let values = self.values(vector)?;
        let cols = values.len() / rows;
        let transposed: Vec<f32> =
            (0..cols).flat_map(|col| values.iter().skip(col).step_by(cols).copied()).collect();
        let mut buffer = self.backend.alloc(cols, rows)?;
        self.backend.upload(&transposed, &mut buffer);
        Ok(buffer)
    }

    /// Loads a vector if there is one.
    pub(crate) fn optional_vector(
        &mut self,
        vector: Option<&VectorSpec>,
    ) -> Result<Option<B::Buffer>, ModelError> {
        vector.map(|vector| self.vector(vector)).transpose()
    }

    /// Loads stacked matrices as one weight.
    pub(crate) fn matrix(&mut self, matrix: &MatrixSpec) -> Result<B::Weight, ModelError> {
        let MatrixSpec { ref parts, num_experts, cols } = *matrix;
        let mut loaded = Vec::with_capacity(parts.len());
        for part in parts {
            loaded.push(self.converted(part, self.requantize, num_experts, cols)?);
        }
        let weight = self.backend.load_weight(&loaded)?;
        drop(loaded);
        for part in parts {
            self.finished(self.info(&part.name));
            self.advance_scales(part);
        }
        Ok(weight)
    }

    /// Loads a table for lookups, which read its bytes in place unless they were converted.
    pub(crate) fn table(
        &mut self,
        table: &MatrixPart,
        cols: usize,
    ) -> Result<B::Table, ModelError> {
        let requantize = self.requantize.and_then(Requantize::for_tables);
        let part = self.converted(table, requantize, 1, cols)?;
        let loaded = self.backend.load_table(&part)?;
        match table.is_in_place(requantize, cols) {
            true => self.advance(self.info(&table.name)),
            false => self.finished(self.info(&table.name)),
        }
        self.advance_scales(table);
        Ok(loaded)
    }

    /// The rows of a part in the format of `requantize`.
    fn converted(
        &self,
        part: &MatrixPart,
        requantize: Option<Requantize>,
        num_experts: usize,
        cols: usize,
    ) -> Result<WeightPart, ModelError> {
        let loaded = match part.transposed_cols {
            Some(tensor_cols) => transposed(&self.part(part, num_experts, tensor_cols)?)?,
            None => self.part(part, num_experts, cols)?,
        };
        match requantize {
            Some(requantize) if part.is_convertible => Ok(requantize.apply(loaded)?),
            _ => Ok(loaded),
        }
    }

    /// The tensor's rows of a part, of each of its matrices.
    fn part(
        &self,
        part: &MatrixPart,
        num_experts: usize,
        cols: usize,
    ) -> Result<WeightPart, ModelError> {
        let MatrixPart { ref name, ref rows, tensor_rows, ref scales, .. } = *part;
        let info = self.info(name);
        let dtype = if part.transposed_cols.is_some() { matrix_dtype(info)? } else { part.dtype };
        let (num_rows, bytes) = (part.num_selected(), self.checkpoint.data(info));
        let firsts = (0..num_experts).map(|expert| expert * tensor_rows);
        let ranges = firsts
            .flat_map(|first| rows.iter().map(move |rows| first + rows.start..first + rows.end));
        let scales: Option<Vec<f32>> = match scales {
            Some(scales) => {
                let all = scales.read(self.checkpoint)?;
                Some(ranges.clone().flat_map(|rows| all[rows].iter().copied()).collect())
            }
            None => None,
        };
        self.checkpoint.check_payloads()?;
        let stack = |bytes| WeightPart::experts(name, dtype, num_experts, num_rows, cols, bytes);
        if let (DType::Int8, Some(scales)) = (dtype, &scales) {
            let rows: Vec<usize> = ranges.flatten().collect();
            return Ok(stack(int8_rows(&bytes, &rows, scales, cols))?);
        }
        let row_bytes = bytes.len() / (num_experts * tensor_rows).max(1);
        let bytes = match (num_experts, &rows[..]) {
            _ if num_rows == tensor_rows => bytes,
            (1, [rows]) => bytes.slice(rows.start * row_bytes..rows.end * row_bytes),
            _ => {
                let ranges = ranges.map(|rows| rows.start * row_bytes..rows.end * row_bytes);
                ranges.flat_map(|range| bytes[range].iter().copied()).collect()
            }
        };
        let loaded = stack(bytes)?;
        Ok(match scales {
            Some(scales) => loaded.with_scales(scales),
            None => loaded,
        })
    }

    /// A tensor of the description, which was read from the same file.
    fn info(&self, name: &str) -> &'a TensorInfo {
        self.checkpoint.tensor(name).expect("the description has the file's tensors")
    }

    /// Releases the mapped pages of a packed tensor.
    fn finished(&mut self, info: &'a TensorInfo) {
        self.checkpoint.release(info);
        self.advance(info);
    }

    /// Counts the scales of a part, and those that have no effect.
    fn advance_scales(&mut self, part: &MatrixPart) {
        let ignored = part.is_convertible.then(|| TensorScales::input_name_for(&part.name));
        let names = part.scales.iter().map(|scales| scales.name().to_owned()).chain(ignored);
        for info in names.filter_map(|name| self.checkpoint.tensor(&name)) {
            self.advance(info);
        }
    }

    fn advance(&mut self, info: &'a TensorInfo) {
        // Tied embeddings are loaded twice.
        if self.loaded.insert(info.name()) {
            self.progress.loaded_bytes += info.num_bytes();
            (self.on_progress)(self.progress);
        }
    }
}

/// The matrices of a part with rows and columns exchanged, in single precision.
fn transposed(part: &WeightPart) -> Result<WeightPart, BackendError> {
    let (num_rows, cols) = (part.rows(), part.cols());
    let mut transposed = vec![0.0_f32; part.num_experts() * num_rows * cols];
    let matrices = transposed.par_chunks_mut((num_rows * cols).max(1)).enumerate();
    matrices.try_for_each_init(
        || vec![0.0; cols],
        |values, (expert, matrix)| {
            (0..num_rows).try_for_each(|row| {
                part.decode_row(expert, row, values)?;
                let column = matrix.iter_mut().skip(row).step_by(num_rows);
                column.zip(&*values).for_each(|(out, value)| *out = *value);
                Ok::<_, BackendError>(())
            })
        },
    )?;
    let bytes = transposed.iter().flat_map(|value| value.to_le_bytes()).collect();
    WeightPart::experts(part.name(), DType::F32, part.num_experts(), cols, num_rows, bytes)
}

/// Rows of a matrix of bytes with their scales, in the layout of [`DType::Int8`].
fn int8_rows(matrix: &[u8], rows: &[usize], scales: &[f32], cols: usize) -> Bytes {
    let row_bytes = Int8Row::SCALE_BYTES + cols;
    let mut bytes = vec![0; rows.len() * row_bytes];
    let sources = rows.par_iter().zip(scales);
    bytes.par_chunks_exact_mut(row_bytes).zip(sources).for_each(|(out, (&row, &scale))| {
        Int8Row { scale, quants: &matrix[row * cols..(row + 1) * cols] }.write(out);
    });
    bytes.into()
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
