//! Coarser formats by choice at load time, for files that hold floats.

use std::fmt;
use std::str::FromStr;

use inferno_backend::{BackendError, WeightPart};
use inferno_tensor::{DType, quant};
use rayon::prelude::*;

use crate::ModelError;

/// The format that float weights are turned into while they are loaded (`--requantize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requantize {
    /// One scale an output channel, 8 bits a weight.
    Int8,
    /// One scale for 32 weights, 8 bits a weight.
    Q8_0,
    /// One scale for 32 weights, 4 bits a weight.
    Q4_0,
    /// Scales and minima for 32 weights within blocks of 256, 4 bits a weight.
    Q4K,
}

impl Requantize {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::Int8, Self::Q8_0, Self::Q4_0, Self::Q4K];

    /// The tensor format.
    pub fn dtype(self) -> DType {
        match self {
            Self::Int8 => DType::Int8,
            Self::Q8_0 => DType::Q8_0,
            Self::Q4_0 => DType::Q4_0,
            Self::Q4K => DType::Q4K,
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4K => "q4_k",
        }
    }

    /// What becomes of a weight of format `from` with rows of `cols` values.
    ///
    /// Formats that are quantized already stay. Rows that do not divide into the format's blocks
    /// take shorter blocks of as many bits, or, where these do not divide either, one scale a row.
    pub fn target(self, from: DType, cols: usize) -> DType {
        let divides = |dtype: &DType| cols.is_multiple_of(dtype.block_len());
        match self {
            _ if !from.is_float() => from,
            Self::Q4K => [DType::Q4K, DType::Q4_0].into_iter().find(divides).unwrap_or(DType::Int8),
            _ => Some(self.dtype()).filter(divides).unwrap_or(DType::Int8),
        }
    }

    /// `part` in its new format.
    pub(crate) fn apply(self, part: WeightPart) -> Result<WeightPart, BackendError> {
        let target = self.target(part.dtype(), part.cols());
        if target == part.dtype() {
            return Ok(part);
        }
        let named = |source| BackendError::WeightShape { name: part.name().to_owned(), source };
        let row_bytes = target.row_bytes(part.cols()).map_err(named)?;
        let mut bytes = vec![0; part.num_experts() * part.rows() * row_bytes];
        let rows = part.bytes().par_chunks(part.row_bytes()).zip(bytes.par_chunks_mut(row_bytes));
        rows.try_for_each_init(
            || vec![0.0; part.cols()],
            |values, (row, out)| {
                quant::decode_row(part.dtype(), row, values)?;
                quant::encode_row(target, values, out)
            },
        )
        .map_err(named)?;
        let (experts, rows, cols) = (part.num_experts(), part.rows(), part.cols());
        WeightPart::experts(part.name(), target, experts, rows, cols, bytes.into())
    }
}

impl fmt::Display for Requantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Requantize {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        Self::ALL.into_iter().find(|choice| choice.name().eq_ignore_ascii_case(text)).ok_or_else(
            || ModelError::UnknownRequantize {
                found: text.to_owned(),
                known: Self::ALL.map(Self::name),
            },
        )
    }
}
