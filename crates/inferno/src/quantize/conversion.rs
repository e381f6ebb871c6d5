//! The conversion of the rows of one tensor.

use inferno_gguf::{GgmlType, Gguf, TensorInfo};
use inferno_model::TensorScales;
use inferno_tensor::quant::{Int8Row, Nvfp4Block};
use inferno_tensor::{DType, TensorError, quant};
use rayon::prelude::*;

use super::importance::Importance;
use crate::{Error, ImportanceMatrix, QuantizeError};

/// Number of values decoded at a time.
const CHUNK_VALUES: usize = 4 << 20;

/// The conversion of one tensor.
pub(super) struct Conversion<'a> {
    info: &'a TensorInfo,
    /// Format in the input and in the output; `None` if the bytes are copied.
    formats: Option<(DType, DType)>,
    /// Factors on the rows of the input, if they become a part of the output's rows.
    scales: Option<Vec<f32>>,
    /// The largest magnitude in each matrix of the tensor, if the output has a scale for each.
    largest: Option<Vec<f32>>,
    importance: Option<Importance>,
    cols: usize,
    rows_per_matrix: usize,
    row_bytes: usize,
    rows_per_chunk: usize,
}

/// Some rows of the output.
pub(super) struct ConvertedRows {
    pub(super) payload: Vec<u8>,
    /// The scale of each row, if they are a tensor of their own.
    pub(super) scales: Vec<u8>,
}

impl<'a> Conversion<'a> {
    /// The conversion of the tensor `info` of `gguf` between two formats, with the importance of its columns in `matrix`.
    ///
    /// **Errors**: invalid scales, a matrix of another model.
    pub(super) fn new(
        gguf: &Gguf,
        info: &'a TensorInfo,
        formats: Option<(DType, DType)>,
        matrix: Option<&ImportanceMatrix>,
    ) -> Result<Self, Error> {
        let scales = match formats.is_some_and(replaces_scales) {
            true => TensorScales::find(gguf, info)?,
            false => None,
        };
        let dim = |axis: usize| info.dims().get(axis).copied().unwrap_or(1);
        let (cols, rows_per_matrix) = (dim(0), dim(1));
        let num_matrices = info.num_elements() / (cols * rows_per_matrix);
        Ok(Self {
            info,
            formats,
            largest: formats
                .filter(|(_, to)| has_matrix_scales(*to))
                .map(|_| vec![0.0; num_matrices]),
            importance: match formats {
                Some((_, to)) => Importance::of_tensor(info, to, matrix)?,
                None => None,
            },
            scales: scales.map(|scales| scales.read(gguf)).transpose()?,
            cols,
            rows_per_matrix,
            row_bytes: info.num_bytes() / (info.num_elements() / cols),
            rows_per_chunk: (CHUNK_VALUES / cols).max(1),
        })
    }

    pub(super) fn chunk_bytes(&self) -> usize {
        self.row_bytes * self.rows_per_chunk
    }

    /// Whether all chunks must be [measured](Self::measure) before the first one is converted.
    pub(super) fn has_matrix_scales(&self) -> bool {
        self.largest.is_some()
    }

    /// Finds the largest weights in the rows of chunk `index`, for the scales of the matrices.
    ///
    /// **Errors**: [`QuantizeError::Row`].
    pub(super) fn measure(&mut self, index: usize, rows: &[u8]) -> Result<(), Error> {
        let (Some((from, _)), Some(mut largest)) = (self.formats, self.largest.take()) else {
            return Ok(());
        };
        let first_row = index * self.rows_per_chunk;
        let of_rows: Vec<f32> = rows
            .par_chunks(self.row_bytes)
            .enumerate()
            .map_init(
                || vec![0.0; self.cols],
                |values, (row, bytes)| {
                    self.decode(from, first_row + row, bytes, values)
                        .map_err(|source| self.row_error(first_row + row, source))?;
                    // Those that are not finite are an error when they are encoded.
                    let finite = values.iter().filter(|value| value.is_finite());
                    Ok(finite.fold(0.0_f32, |largest, value| largest.max(value.abs())))
                },
            )
            .collect::<Result<_, Error>>()?;
        for (row, of_row) in of_rows.into_iter().enumerate() {
            let largest = &mut largest[(first_row + row) / self.rows_per_matrix];
            *largest = largest.max(of_row);
        }
        self.largest = Some(largest);
        Ok(())
    }

    /// The scales of the matrices, as they are stored; empty if there are none.
    pub(super) fn matrix_scales(&self) -> Vec<u8> {
        let scales = self.largest.iter().flatten().map(|&it| Nvfp4Block::matrix_scale(it));
        scales.flat_map(f32::to_le_bytes).collect()
    }

    /// Converts the rows of chunk `index`; `None` if the bytes are copied.
    ///
    /// **Errors**: [`QuantizeError::Row`].
    pub(super) fn convert(
        &self,
        index: usize,
        rows: &[u8],
    ) -> Result<Option<ConvertedRows>, Error> {
        let Some((from, to)) = self.formats else {
            return Ok(None);
        };
        let first_row = index * self.rows_per_chunk;
        let out_bytes =
            to.row_bytes(self.cols).map_err(|source| self.row_error(first_row, source))?;
        let mut out = vec![0; rows.len() / self.row_bytes * out_bytes];
        rows.par_chunks(self.row_bytes)
            .zip(out.par_chunks_mut(out_bytes))
            .enumerate()
            .try_for_each_init(
                || vec![0.0; self.cols],
                |values, (row, (bytes, out))| {
                    self.decode(from, first_row + row, bytes, values)
                        .and_then(|()| self.encode(to, first_row + row, values, out))
                        .map_err(|source| self.row_error(first_row + row, source))
                },
            )?;
        Ok(Some(match to {
            DType::Int8 => separate_scales(&out, out_bytes),
            _ => ConvertedRows { payload: out, scales: Vec::new() },
        }))
    }

    /// Decodes row `row` of the tensor, multiplied by its scale.
    fn decode(
        &self,
        from: DType,
        row: usize,
        bytes: &[u8],
        values: &mut [f32],
    ) -> Result<(), TensorError> {
        let scale = self.scales.as_ref().map(|scales| scales[row]);
        match (from, scale) {
            (DType::Int8, scale) => {
                Int8Row { scale: scale.unwrap_or(1.0), quants: bytes }.decode(values);
            }
            (_, scale) => {
                quant::decode_row(from, bytes, values)?;
                if let Some(scale) = scale {
                    values.iter_mut().for_each(|value| *value *= scale);
                }
            }
        }
        Ok(())
    }

    /// Encodes row `row` of the tensor. `values` are divided by the scale of their matrix.
    fn encode(
        &self,
        to: DType,
        row: usize,
        values: &mut [f32],
        out: &mut [u8],
    ) -> Result<(), TensorError> {
        quant::check_range(to, values)?;
        if let Some(largest) = &self.largest {
            let scale = Nvfp4Block::matrix_scale(largest[row / self.rows_per_matrix]);
            values.iter_mut().for_each(|value| *value /= scale);
        }
        match &self.importance {
            Some(importance) => quant::encode_row_weighted(to, values, importance.of_row(row), out),
            None => quant::encode_row(to, values, out),
        }
    }

    fn row_error(&self, row: usize, source: TensorError) -> Error {
        let tensor = self.info.name().to_owned();
        Error::Quantize(QuantizeError::Row { tensor, row, source: Box::new(source) })
    }
}

/// Returns whether a conversion between two formats removes the scales that the tensor has in the input.
pub(super) fn replaces_scales((from, to): (DType, DType)) -> bool {
    from == DType::Int8 || has_scales(to)
}

/// Returns whether a tensor in format `dtype` is stored with a tensor of its scales.
pub(super) fn has_scales(dtype: DType) -> bool {
    dtype == DType::Int8 || has_matrix_scales(dtype)
}

/// Returns whether these are one per matrix, which depend on all of its weights, instead of one per row.
pub(super) fn has_matrix_scales(dtype: DType) -> bool {
    dtype == DType::Nvfp4
}

/// Splits rows of [`DType::Int8`] into their bytes and scales, which are tensors of their own in a file.
fn separate_scales(rows: &[u8], row_bytes: usize) -> ConvertedRows {
    let num_rows = rows.len() / row_bytes;
    let mut payload = Vec::with_capacity(rows.len() - num_rows * Int8Row::SCALE_BYTES);
    let mut scales = Vec::with_capacity(num_rows * Int8Row::SCALE_BYTES);
    for row in rows.chunks_exact(row_bytes).map(Int8Row::read) {
        payload.extend_from_slice(row.quants);
        scales.extend_from_slice(&row.scale.to_le_bytes());
    }
    ConvertedRows { payload, scales }
}

/// The type of tensors in format `dtype`.
pub(super) fn ggml_type(dtype: DType) -> Option<GgmlType> {
    match dtype {
        DType::Int8 => Some(GgmlType::I8),
        other => other.ggml_id().and_then(GgmlType::from_id),
    }
}
