//! The tensors of a model: which ones a weight consists of, in which format and shape.
//!
//! Every tensor is looked up with the shape that the metadata implies, so a file with a missing tensor or one of
//! another shape fails here, before anything is allocated, with both shapes in the error.

use std::ops::Range;

use inferno_backend::Backend;
use inferno_gguf::{Gguf, TensorInfo};
use inferno_tensor::DType;

use super::scales::{TensorScales, matrix_dtype};
use crate::loader::{dtype_of, slowest_first};
use crate::{ModelError, Requantize};

/// Rows of one tensor, as a part of a stacked matrix.
#[derive(Debug, Clone)]
pub(crate) struct MatrixPart {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// The rows of each of the tensor's matrices that belong to the part, in order.
    pub(crate) rows: Vec<Range<usize>>,
    /// Number of rows of each of the tensor's matrices.
    pub(crate) tensor_rows: usize,
    /// Number of values of a row of the tensor, if these rows are the columns of the part. They are stored in single
    /// precision.
    pub(crate) transposed_cols: Option<usize>,
    /// The factors on the tensor's rows; always present if they are bytes.
    pub(crate) scales: Option<TensorScales>,
    /// Whether the part can be converted to bytes with scales: the name of the scales is not that of another tensor, and they
    /// are those of the part's own rows.
    pub(crate) is_convertible: bool,
}

impl MatrixPart {
    /// The format of the part, whose rows have `cols` values, after quantization.
    pub(crate) fn target(&self, requantize: Option<Requantize>, cols: usize) -> DType {
        match requantize {
            Some(requantize) if self.is_convertible => requantize.target(self.dtype, cols),
            _ => self.dtype,
        }
    }

    /// Whether a table for lookups is read in the file, not in a converted copy.
    pub(crate) fn is_in_place(&self, requantize: Option<Requantize>, cols: usize) -> bool {
        self.dtype != DType::Int8 && self.target(requantize, cols) == self.dtype
    }
}

/// Some rows of each matrix of a tensor: from every `period` rows, `len` ones from number `first` on.
///
/// Metadata determine the numbers, so their list is created only when the tensor is known to have these rows.
pub(crate) struct TensorRows<'a> {
    name: &'a str,
    /// Number of rows of each of the tensor's matrices.
    tensor_rows: usize,
    period: usize,
    first: usize,
    len: usize,
}

impl<'a> TensorRows<'a> {
    /// All of its `rows` rows.
    pub(crate) fn all(name: &'a str, rows: usize) -> Self {
        Self::range(name, rows, 0..rows)
    }

    /// Some of its `tensor_rows` rows.
    pub(crate) fn range(name: &'a str, tensor_rows: usize, rows: Range<usize>) -> Self {
        Self::periodic(name, tensor_rows, tensor_rows, rows.start, rows.len())
    }

    /// From every `period` of its rows, `len` ones from number `first` on.
    pub(crate) fn periodic(
        name: &'a str,
        tensor_rows: usize,
        period: usize,
        first: usize,
        len: usize,
    ) -> Self {
        Self { name, tensor_rows, period, first, len }
    }

    fn ranges(&self) -> Vec<Range<usize>> {
        let starts = (0..self.tensor_rows).step_by(self.period.max(1));
        starts.map(|start| start + self.first..start + self.first + self.len).collect()
    }
}

/// Matrices that are multiplied as one, stacked by rows.
#[derive(Debug, Clone)]
pub(crate) struct MatrixSpec {
    pub(crate) parts: Vec<MatrixPart>,
    /// Number of matrices in each part; 1 unless they belong to experts.
    pub(crate) num_experts: usize,
    /// Input features.
    pub(crate) cols: usize,
}

impl MatrixSpec {
    /// The format of each part after quantization, and its number of rows.
    pub(crate) fn formats(
        &self,
        requantize: Option<Requantize>,
    ) -> impl Iterator<Item = (DType, usize)> + '_ {
        let parts = self.parts.iter();
        parts.map(move |part| (part.target(requantize, self.cols), part.num_rows()))
    }

    /// Number of rows of one matrix.
    pub(crate) fn num_rows(&self) -> usize {
        self.parts.iter().map(MatrixPart::num_rows).sum()
    }

    /// Whether rows have scales that their format does not include.
    fn has_scales(&self, requantize: Option<Requantize>) -> bool {
        self.parts.iter().any(|part| {
            let is_unchanged = part.target(requantize, self.cols) == part.dtype;
            part.scales.is_some() && part.dtype != DType::Int8 && is_unchanged
        })
    }

    /// Size of `num_experts` of its matrices on `backend`, in bytes.
    pub(crate) fn num_bytes<B: Backend>(
        &self,
        backend: &B,
        num_experts: usize,
        requantize: Option<Requantize>,
    ) -> usize {
        let scale_bytes = match self.has_scales(requantize) {
            true => num_experts.saturating_mul(self.num_rows()).saturating_mul(size_of::<f32>()),
            false => 0,
        };
        self.formats(requantize)
            .map(|(dtype, rows)| backend.weight_bytes(dtype, num_experts, rows, self.cols))
            .fold(scale_bytes, usize::saturating_add)
    }
}

/// Tensors of plain numbers, concatenated row by row: norm weights, biases.
#[derive(Debug, Clone)]
pub(crate) struct VectorSpec {
    /// Name and values per row of each tensor.
    pub(crate) parts: Vec<(String, usize)>,
    /// Number of rows; 1 unless they belong to experts.
    pub(crate) rows: usize,
}

impl VectorSpec {
    /// Size of `rows` rows in single precision, in bytes.
    pub(crate) fn num_bytes(&self, rows: usize) -> usize {
        rows.saturating_mul(self.cols()).saturating_mul(size_of::<f32>())
    }

    /// Number of values of a row.
    pub(crate) fn cols(&self) -> usize {
        self.parts.iter().map(|(_, len)| len).sum()
    }
}

/// A matrix product, with or without a bias.
#[derive(Debug, Clone)]
pub(crate) struct LinearSpec {
    pub(crate) weight: MatrixSpec,
    pub(crate) bias: Option<VectorSpec>,
}

/// Whether a file must have a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its absence is an error.
    Required,
    /// It is used if it exists.
    Optional,
}

/// Looks up tensors of a file, of one layer or outside the layers.
#[derive(Clone, Copy)]
pub(crate) struct TensorFinder<'a> {
    checkpoint: &'a Gguf,
    layer: Option<usize>,
    has_scales: bool,
}

impl<'a> TensorFinder<'a> {
    /// Tensors outside the layers.
    pub(crate) fn new(checkpoint: &'a Gguf) -> Self {
        Self { checkpoint, layer: None, has_scales: true }
    }

    /// Tensors of layer `layer`.
    pub(crate) fn in_layer(self, layer: usize) -> Self {
        Self { layer: Some(layer), ..self }
    }

    /// Tensors whose scales have another meaning.
    pub(crate) fn without_scales(self) -> Self {
        Self { has_scales: false, ..self }
    }

    /// The name of a tensor in the file.
    pub(crate) fn full(&self, name: &str) -> String {
        match self.layer {
            Some(layer) => format!("blk.{layer}.{name}"),
            None => name.to_owned(),
        }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The tensor `name`, whatever its shape.
    pub(crate) fn get(&self, name: &str) -> Option<&'a TensorInfo> {
        self.checkpoint.tensor(&self.full(name))
    }

    /// The number of output features of the matrix or matrices `name`.
    pub(crate) fn rows_of(&self, name: &str) -> Option<usize> {
        self.get(name).and_then(|info| info.dims().get(1).copied())
    }

    /// Some rows of each of the `num_matrices` matrices of the tensor `NAME.weight`.
    pub(super) fn matrix_part(
        &self,
        rows: &TensorRows<'_>,
        [num_matrices, cols]: [usize; 2],
    ) -> Result<MatrixPart, ModelError> {
        let name = format!("{}.weight", rows.name);
        self.rows_of_matrices(&TensorRows { name: &name, ..*rows }, [num_matrices, cols])
    }

    /// Some rows of each of the `num_matrices` matrices of a tensor.
    fn rows_of_matrices(
        &self,
        rows: &TensorRows<'_>,
        [num_matrices, cols]: [usize; 2],
    ) -> Result<MatrixPart, ModelError> {
        let (name, tensor_rows) = (self.full(rows.name), rows.tensor_rows);
        let info = find(self.checkpoint, &name, [num_matrices, tensor_rows, cols])?;
        let (dtype, scales) = match self.has_scales {
            true => (matrix_dtype(info)?, TensorScales::find(self.checkpoint, info)?),
            false => (dtype_of(info)?, None),
        };
        let (rows, is_convertible) = (rows.ranges(), self.has_scales);
        let transposed_cols = None;
        Ok(MatrixPart { name, dtype, rows, tensor_rows, transposed_cols, scales, is_convertible })
    }

    /// A product with rows of several tensors, without a bias.
    pub(crate) fn rows_of_tensors(
        &self,
        parts: &[TensorRows<'_>],
        cols: usize,
    ) -> Result<LinearSpec, ModelError> {
        let parts = parts.iter().map(|rows| self.matrix_part(rows, [1, cols]));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(LinearSpec { weight: MatrixSpec { parts, num_experts: 1, cols }, bias: None })
    }

    /// A product with the matrices `matrices` of the tensor `name.weight`, which has `num_matrices` of `rows` x `cols`
    /// values, stacked.
    pub(crate) fn matrices(
        &self,
        name: &str,
        [num_matrices, rows, cols]: [usize; 3],
        matrices: Range<usize>,
    ) -> Result<LinearSpec, ModelError> {
        let stack = self.matrix_part(&TensorRows::all(name, rows), [num_matrices, cols])?;
        let part = MatrixPart {
            rows: std::iter::once(matrices.start * rows..matrices.end * rows).collect(),
            tensor_rows: num_matrices * rows,
            ..stack
        };
        Ok(LinearSpec {
            weight: MatrixSpec { parts: vec![part], num_experts: 1, cols },
            bias: None,
        })
    }

    /// A product with the tensors of `parts`, each with its number of rows, or with the rows of the tensor
    /// `fused` that contains all of them, if the file has it.
    pub(crate) fn stacked(
        &self,
        parts: &[(&str, usize)],
        fused: Option<&str>,
        [num_experts, cols]: [usize; 2],
        bias: Presence,
    ) -> Result<LinearSpec, ModelError> {
        let total = parts.iter().map(|(_, rows)| rows).sum();
        let (parts, names) = match fused {
            Some(fused) => {
                let mut end = 0;
                let parts = parts.iter().map(|(_, rows)| {
                    end += rows;
                    let rows = TensorRows::range(fused, total, end - rows..end);
                    self.matrix_part(&rows, [num_experts, cols])
                });
                (parts.collect::<Result<Vec<_>, _>>()?, vec![(fused, total)])
            }
            None => {
                let tensors = parts.iter().map(|&(name, rows)| {
                    self.matrix_part(&TensorRows::all(name, rows), [num_experts, cols])
                });
                (tensors.collect::<Result<Vec<_>, _>>()?, parts.to_vec())
            }
        };
        let names: Vec<_> =
            names.into_iter().map(|(name, rows)| (format!("{name}.bias"), rows)).collect();
        let has_bias = names.iter().any(|(name, _)| self.contains(name));
        let bias = match bias == Presence::Required || has_bias {
            true => Some(self.vectors(&names, num_experts)?),
            false => None,
        };
        Ok(LinearSpec { weight: MatrixSpec { parts, num_experts, cols }, bias })
    }

    /// A product with the tensor `name`, with a bias if the file has one.
    pub(crate) fn linear(
        &self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<LinearSpec, ModelError> {
        self.stacked(&[(name, rows)], None, [1, cols], Presence::Optional)
    }

    /// Concatenated tensors, each with its number of values per row.
    fn vectors(&self, parts: &[(String, usize)], rows: usize) -> Result<VectorSpec, ModelError> {
        let parts = parts.iter().map(|(name, len)| {
            let name = self.full(name);
            dtype_of(find(self.checkpoint, &name, [1, rows, *len])?)?;
            Ok((name, *len))
        });
        Ok(VectorSpec { parts: parts.collect::<Result<_, ModelError>>()?, rows })
    }

    /// The tensor `name` of `rows` x `cols` values.
    pub(crate) fn vector(
        &self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<VectorSpec, ModelError> {
        self.vectors(&[(name.to_owned(), cols)], rows)
    }

    /// The tensor `name` of `rows` x `cols` values as one row.
    pub(crate) fn flat_vector(
        &self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<VectorSpec, ModelError> {
        self.flat_vectors(&[name], [1, rows, cols])
    }

    /// Tensors of one shape, the slowest dimension first, as one row.
    pub(crate) fn flat_vectors(
        &self,
        names: &[&str],
        shape: [usize; 3],
    ) -> Result<VectorSpec, ModelError> {
        let parts = names.iter().map(|name| {
            let name = self.full(name);
            dtype_of(find(self.checkpoint, &name, shape)?)?;
            Ok((name, shape.iter().product()))
        });
        Ok(VectorSpec { parts: parts.collect::<Result<_, ModelError>>()?, rows: 1 })
    }

    /// The tensor `name` of `len` values, if the file has it.
    pub(crate) fn optional_vector(
        &self,
        name: &str,
        len: usize,
    ) -> Result<Option<VectorSpec>, ModelError> {
        self.contains(name).then(|| self.vector(name, 1, len)).transpose()
    }

    /// The table `name` of `rows` rows for lookups.
    pub(crate) fn table(
        &self,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<MatrixPart, ModelError> {
        self.rows_of_matrices(&TensorRows::all(name, rows), [1, cols])
    }
}

/// Finds a tensor and checks its shape. Leading dimensions of size 1 are optional.
pub(super) fn find<'a>(
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
